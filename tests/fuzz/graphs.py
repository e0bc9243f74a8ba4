"""Changes of a tree that mostly leave a valid model: what gets through the checks meets the rules."""
from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tests.build import OPTIONS
from tflfuse.ir import BUILTIN_OF_NAME, DTYPE, NAME_OF_TYPE, Array

from . import values
from .tree import Node, as_array, fields, new

MOST_BYTES = 2048
"""Of the data that a change makes."""
DIMS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 100, 127, 255, 256, 1000, 10_000, 32_768, 65_535, 65_536, 2 ** 20, 2 ** 31 - 1)
ZERO_POINTS = (0, 0, 5, -128, 127, -129, 128, 255, 2 ** 31, -2 ** 63, 2 ** 63 - 1)
PLANS = (-1, -1, 0, 4, 16, 64, 1 << 20, 2 ** 31 - 1, -2, 3)
KNOWN = sorted({*OPTIONS, "PAD", "PADV2", "TRANSPOSE", "QUANTIZE", "DEQUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1",
                "PRELU",
                "RELU_0_TO_1", "HARD_SWISH", "LOGISTIC", "TANH", "ELU", "MAXIMUM", "MINIMUM", "EXPAND_DIMS", "FILL",
                "BROADCAST_TO", "TILE", "SLICE", "NEG", "ABS", "RANGE", "ZEROS_LIKE", "FLOOR_DIV", "FLOOR_MOD", "RSQRT",
                "SQRT", "SQUARE", "EXP", "WHILE", "IF", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "CUSTOM"})


class Graph:
    """The first subgraph of a tree, or another one."""

    def __init__(self, rng: Random, root: Node) -> None:
        self.rng, self.root = rng, root
        self.buffers = root.list_of("buffers")
        graphs = root.list_of("subgraphs")
        self.node = rng.choice(graphs) if graphs else new("SubGraph")
        self.tensors = self.node.list_of("tensors")
        self.operators = self.node.list_of("operators")

    def a_tensor(self) -> Node | None:
        return self.rng.choice(self.tensors) if self.tensors else None

    def an_operator(self) -> Node | None:
        return self.rng.choice(self.operators) if self.operators else None

    def a_quantization(self) -> Node | None:
        found = [q for t in self.tensors if (q := t.values["quantization"]) is not None]
        return self.rng.choice(found) if found else None

    def data_of(self, tensor: Node) -> Array | None:
        """The bytes of a constant; None where it is none."""
        number = tensor.values["buffer"]
        found = self.buffers[number].values["data"] if number < len(self.buffers) else None
        return found if found is not None and len(found) else None

    def new_buffer(self, data: Array) -> int:
        self.buffers.append(new("Buffer", data=data))
        return len(self.buffers) - 1

    def resized(self, tensor: Node, shape: list[int], kind: int) -> None:
        """Give a tensor another shape or type, and a constant as many bytes as that takes."""
        old = self.data_of(tensor)
        if old is not None:
            size = 1
            for d in shape:
                size *= max(d, 0)
            size *= DTYPE[kind].itemsize if kind in DTYPE else 1
            if size > MOST_BYTES:
                return
            tensor.values["buffer"] = self.new_buffer(np.resize(old, size))
        tensor.values.update(shape=as_array(shape, np.int32), type=kind)

    def code(self, name: str) -> int:
        """The number of an operator code, a new one where there is none."""
        codes = self.root.list_of("operator_codes")
        custom = b"TFLFUSE_CHAIN_1" if name == "CUSTOM" else None
        builtin = BUILTIN_OF_NAME[name]
        codes.append(new("OperatorCode", builtin_code=builtin, deprecated_builtin_code=min(builtin, 127),
                         custom_code=custom, version=self.rng.choice((1, 2, 3, 5))))
        return len(codes) - 1


def shape_of(tensor: Node) -> list[int]:
    shape = tensor.values["shape"]
    return [] if shape is None else [int(d) for d in shape]


def numbers_of(owner: Node, name: str) -> list[int]:
    """The tensors' numbers in a vector, none where there is none."""
    numbers = owner.values[name]
    return [] if numbers is None else [int(n) for n in numbers]


def change_shape(rng: Random, root: Node) -> None:
    """One tensor."""
    graph = Graph(rng, root)
    tensor = graph.a_tensor()
    if tensor is None:
        return
    shape = shape_of(tensor)
    way = rng.randrange(4)
    if way == 0 and shape:
        shape[rng.randrange(len(shape))] = rng.choice(DIMS)
    elif way == 1:
        shape.insert(rng.randrange(len(shape) + 1), rng.choice((1, 1, 2)))
    elif way == 2 and shape:
        del shape[rng.randrange(len(shape))]
    else:
        rng.shuffle(shape)
    graph.resized(tensor, shape, tensor.values["type"])


def scale_dimension(rng: Random, root: Node) -> None:
    """A size becomes another one wherever it stands, so that the model stays consistent."""
    graph = Graph(rng, root)
    sizes = sorted({d for t in graph.tensors for d in shape_of(t)})
    if not sizes:
        return
    old, new_size = rng.choice(sizes), rng.choice(DIMS)
    at = rng.choice((None, None, 0, 1, 2, 3))
    for tensor in graph.tensors:
        shape = [new_size if d == old and at in (None, i) else d for i, d in enumerate(shape_of(tensor))]
        if shape != shape_of(tensor):
            graph.resized(tensor, shape, tensor.values["type"])


def change_type(rng: Random, root: Node) -> None:
    """One tensor's type, or one type everywhere."""
    graph = Graph(rng, root)
    tensor = graph.a_tensor()
    if tensor is None:
        return
    old, kind = tensor.values["type"], rng.choice((0, 0, 9, 9, 9, 7, 2, 4, 3, 6, 1, 5, 17, *NAME_OF_TYPE, 100))
    for t in graph.tensors if rng.random() < 0.3 else [tensor]:
        if t.values["type"] == old:
            graph.resized(t, shape_of(t), kind)


def open_dimension(rng: Random, root: Node) -> None:
    graph = Graph(rng, root)
    for tensor in graph.tensors if rng.random() < 0.5 else [t for t in [graph.a_tensor()] if t]:
        shape = shape_of(tensor)
        if shape and graph.data_of(tensor) is None:
            at = 0 if rng.random() < 0.6 else rng.randrange(len(shape))
            signature = [-1 if i == at else d for i, d in enumerate(shape)]
            tensor.values["shape_signature"] = as_array(signature, np.int32)
            if rng.random() < 0.15:
                tensor.values["shape"] = as_array(signature, np.int32)


def change_quantization(rng: Random, root: Node) -> None:
    graph = Graph(rng, root)
    q = graph.a_quantization()
    if q is None:
        return
    scale, zero = q.values["scale"], q.values["zero_point"]
    way = rng.randrange(6)
    if way <= 1 and scale is not None and len(scale):
        scale = np.array(scale)
        at = rng.randrange(len(scale))
        scale[slice(None) if rng.random() < 0.5 else at] = values.real(rng, float(scale[at]))
        q.values["scale"] = scale
    elif way == 2 and zero is not None and len(zero):
        zero = np.array(zero)
        zero[rng.randrange(len(zero))] = rng.choice(ZERO_POINTS)
        q.values["zero_point"] = zero
    elif way == 3:
        q.values["quantized_dimension"] = rng.choice((0, 1, 2, 3, 4, -1, 2 ** 31 - 1, -2 ** 31))
    elif way == 4:
        other = graph.a_quantization()
        assert other is not None
        q.values.update(other.copy().values)
    else:
        name = rng.choice(("scale", "zero_point", "min", "max"))
        q.values[name] = values.elements(rng, q.values[name], np.dtype("<i8" if name == "zero_point" else "<f4"))


def change_data(rng: Random, root: Node) -> None:
    """A constant's numbers."""
    graph = Graph(rng, root)
    constants = [t for t in graph.tensors if graph.data_of(t) is not None]
    if not constants:
        return
    tensor = rng.choice(constants)
    old = graph.data_of(tensor)
    assert old is not None
    changed = values.data(rng, old, DTYPE.get(tensor.values["type"]))
    if rng.random() < 0.5:
        tensor.values["buffer"] = graph.new_buffer(changed)
    else:
        graph.buffers[tensor.values["buffer"]].values["data"] = changed


def share_buffer(rng: Random, root: Node) -> None:
    """Two tensors on one buffer, with shapes that fit it."""
    graph = Graph(rng, root)
    one, two = graph.a_tensor(), graph.a_tensor()
    if one is None or two is None:
        return
    two.values["buffer"] = one.values["buffer"]
    if rng.random() < 0.7:
        two.values.update(shape=one.values["shape"], type=one.values["type"])


def change_options(rng: Random, root: Node) -> None:
    operator = Graph(rng, root).an_operator()
    options = None if operator is None else operator.values["builtin_options"]
    if options is None:
        return
    known = fields(options)
    if known:
        field = rng.choice(known)
        old = options.values.get(field.name, field.default)
        if field.kind == "scalar":
            options.values[field.name] = values.scalar(rng, field, field.default if old is None else old)
        elif field.kind == "vector":
            assert field.dtype is not None
            options.values[field.name] = values.elements(rng, old, field.dtype)


def change_operator(rng: Random, root: Node) -> None:
    """The same operands for another kind of operator."""
    graph = Graph(rng, root)
    operator = graph.an_operator()
    if operator is None:
        return
    name = rng.choice(KNOWN)
    operator.values["opcode_index"] = graph.code(name)
    if rng.random() < 0.8:
        operator.values["builtin_options"] = new(OPTIONS[name]) if name in OPTIONS else None
        operator.values["builtin_options_type"] = 0


def rewire(rng: Random, root: Node) -> None:
    """An operand, a result, an input or an output of the graph becomes another tensor."""
    graph = Graph(rng, root)
    owner: Any = graph.an_operator() if rng.random() < 0.8 else graph.node
    if owner is None:
        return
    name = "inputs" if rng.random() < 0.8 else "outputs"
    numbers = numbers_of(owner, name)
    number = rng.randrange(-1, len(graph.tensors) + 1) if rng.random() < 0.1 else rng.randrange(-1, len(graph.tensors))
    way = rng.randrange(4)
    if way == 0 or not numbers:
        numbers.insert(rng.randrange(len(numbers) + 1), number)
    elif way == 1:
        del numbers[rng.randrange(len(numbers))]
    else:
        numbers[rng.randrange(len(numbers))] = number
    owner.values[name] = as_array(numbers, np.int32)


def insert_operator(rng: Random, root: Node) -> None:
    """An operator on a value that is there, often with a constant; who read the value now may read the result."""
    graph = Graph(rng, root)
    at = rng.randrange(len(graph.operators) + 1)
    ready = [n for o in graph.operators[:at] for n in numbers_of(o, "outputs")] + numbers_of(graph.node, "inputs")
    ready += [i for i, t in enumerate(graph.tensors) if graph.data_of(t) is not None]
    ready = [n for n in ready if 0 <= n < len(graph.tensors)]
    if not ready:
        return
    source = rng.choice(ready)
    out = graph.tensors[source].copy()
    out.values.update(buffer=0, is_variable=False, sparsity=None)
    graph.tensors.append(out)
    made = len(graph.tensors) - 1
    name = rng.choice(KNOWN)
    operands = [source]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        operands.append(rng.choice(ready) if rng.random() < 0.4 else constant(rng, graph, graph.tensors[source]))
    operator = new("Operator", opcode_index=graph.code(name), inputs=as_array(operands, np.int32),
                   outputs=as_array([made], np.int32), builtin_options=new(OPTIONS[name]) if name in OPTIONS else None)
    for later in graph.operators[at:]:
        if later.values["inputs"] is not None:
            later.values["inputs"] = as_array([made if n == source else n for n in later.values["inputs"]], np.int32)
    graph.operators.insert(at, operator)
    if rng.random() < 0.3:
        graph.node.values["outputs"] = as_array([*numbers_of(graph.node, "outputs"), made], np.int32)


def constant(rng: Random, graph: Graph, like: Node) -> int:
    """The number of a new constant: a few of another tensor's numbers, or int32 ones such as shapes, axes, paddings."""
    tensor = like.copy()
    if rng.random() < 0.5:
        shape = shape_of(like)
        numbers = rng.choice((shape, shape[::-1], [0] * len(shape), list(range(len(shape))), [0, 0] * len(shape),
                              [rng.choice(DIMS) for _ in range(rng.randrange(5))], [1, 2], [-1], [2 ** 31 - 1] * 4))
        dims = [len(numbers) // 2, 2] if len(numbers) == 2 * len(shape) and numbers else [len(numbers)]
        tensor.values.update(shape=as_array(dims, np.int32), type=2, quantization=None, shape_signature=None,
                             buffer=graph.new_buffer(as_array(numbers, np.int32).view(np.uint8)))
    else:
        channels = shape_of(like)[-1:]
        if channels and not 0 <= channels[0] <= 256:
            channels = [1]
        size = (channels or [1])[0] * (DTYPE[like.values["type"]].itemsize if like.values["type"] in DTYPE else 1)
        data = np.frombuffer(rng.randbytes(size), np.uint8) if rng.random() < 0.7 else np.zeros(size, np.uint8)
        tensor.values.update(shape=as_array(channels, np.int32), buffer=graph.new_buffer(data), shape_signature=None)
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def delete_operator(rng: Random, root: Node) -> None:
    """Its readers read its first operand."""
    graph = Graph(rng, root)
    if not graph.operators:
        return
    gone = graph.operators.pop(rng.randrange(len(graph.operators)))
    inputs, outputs = gone.values["inputs"], gone.values["outputs"]
    if inputs is None or outputs is None or not len(inputs) or not len(outputs):
        return
    for owner, name in ((o, "inputs") for o in graph.operators):
        if owner.values[name] is not None:
            owner.values[name] = np.where(owner.values[name] == outputs[0], inputs[0], owner.values[name])
    if graph.node.values["outputs"] is not None:
        graph.node.values["outputs"] = np.where(graph.node.values["outputs"] == outputs[0], inputs[0],
                                                graph.node.values["outputs"])


CHANGES = ((change_shape, 3), (scale_dimension, 4), (change_type, 3), (open_dimension, 2), (change_quantization, 6),
           (change_data, 4), (share_buffer, 1), (change_options, 6), (change_operator, 3), (rewire, 3),
           (insert_operator, 6), (delete_operator, 2))
"""With how often each is taken."""
