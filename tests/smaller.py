"""A failing model made small, operator by operator, and the lines of Python that build it."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tflfuse import flatbuffer
from tflfuse.errors import TflfuseError
from tflfuse.ir import Array, Model, Operator, Tensor
from tflfuse.part import extract
from tflfuse.schema_tables import spec

from .build import OPTIONS


def smallest(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """A model that still fails, but no longer does without any one of its operators."""
    shorter = next((s for s in shorter_ones(data) if fails(s)), None)
    return data if shorter is None else smallest(shorter, fails)


def shorter_ones(data: bytes) -> Iterator[bytes]:
    """The model without one operator, the last one first: what read its results reads inputs of the model instead."""
    for left_out in reversed(range(len(flatbuffer.read(data).subgraphs[0].operators))):
        graph = flatbuffer.read(data).subgraphs[0]
        operators = [o for number, o in enumerate(graph.operators) if number != left_out]
        computed = {t for o in operators for t in o.outputs}
        read = dict.fromkeys(t for o in operators for t in o.inputs if t is not None and not t.is_constant)
        inputs = [t for t in dict.fromkeys([*graph.inputs, *read]) if t in read and t not in computed]
        made = dict.fromkeys([*graph.outputs, *(t for o in operators for t in o.outputs)])
        outputs = [t for t in made if t in computed and (t not in read or t in graph.outputs)]
        if operators and inputs and outputs:
            try:
                yield flatbuffer.write(extract(operators, inputs, outputs))
            except TflfuseError:
                continue


def snippet(model: Model) -> str:
    """Python that builds the main subgraph by tests/build.py, as `model`; `data` are its bytes."""
    graph = model.subgraphs[0]
    lines = ["import numpy as np", "from tests.build import Build", "from tflfuse import flatbuffer", "b = Build()"]
    names: dict[Tensor, str] = {}
    for tensor in graph.tensors:
        names[tensor] = f"t{len(names)}"
        lines.append(f"{names[tensor]} = {built(tensor, tensor in graph.inputs)}")
    lines.append("b.inputs[:] = " + listed(graph.inputs, names))
    lines += [added(operator, names) for operator in graph.operators]
    outputs = ", ".join(names[t] for t in graph.outputs)
    return "\n".join([*lines, f"model = b.model({outputs})", "data = flatbuffer.write(model)"])


def built(tensor: Tensor, is_input: bool) -> str:
    q, more = tensor.quantization, ""
    if q is not None and q.scale is not None:
        scales, zeros = numbers(q.scale), numbers(q.zeros)
        more += f", scale={scales}, zero_point={zeros}"
        more += f", axis={q.quantized_dimension}" if tensor.is_constant and q.quantized_dimension else ""
    if tensor.shape_signature is not None:
        more += f", shape_signature={tensor.shape_signature}"
    if tensor.is_constant:
        return f"b.constant(np.array({tensor.array().tolist()}, np.{tensor.dtype}).reshape({tensor.shape}){more})"
    return f"b.{'input' if is_input else 'tensor'}({tensor.shape}, np.{tensor.dtype}{more})"


def numbers(array: Array) -> str:
    return str(array.tolist()[0] if len(array) == 1 else array.tolist())


def added(operator: Operator, names: dict[Tensor, str]) -> str:
    arguments = [repr(operator.name), listed(operator.inputs, names), listed(operator.outputs, names),
                 str(operator.code.version)]
    if operator.options is not None and operator.name in OPTIONS:
        defaults = spec(operator.options.kind).defaults
        arguments += [f"{name}={plain(value)}" for name, value in operator.options.values.items()
                      if isinstance(value, np.ndarray) or value != defaults[name]]
    return f"b.add({', '.join(arguments)})"


def listed(tensors: Any, names: dict[Tensor, str]) -> str:
    return "[" + ", ".join("None" if t is None else names[t] for t in tensors) + "]"


def plain(value: Any) -> str:
    return f"np.array({value.tolist()}, np.{value.dtype})" if isinstance(value, np.ndarray) else repr(value)
