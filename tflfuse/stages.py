"""From a run of operators to the chain of stages that computes the same bits.

    run = run_of([conv, relu, add])            # operators in execution order; the last one's output is the run's
    fused = fused_operator(run.chain, run.inputs, run.output)

An operator becomes a stage, or part of one:

| operator | becomes |
|---|---|
| CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, pools, MEAN over the plane | a stage |
| ADD of two values; ADD, SUB with a constant per channel | ADD |
| MUL with a constant per channel | MUL |
| elementwise operators; ADD, SUB, MUL with one number, or of functions of one value (SiLU) | a table, composed |
| RESHAPE, SQUEEZE, EXPAND_DIMS | nothing: the bytes stay |
| PAD, PADV2 with the zero point | padding of the convolutions that read it, for other readers a stage |
| SLICE, STRIDED_SLICE of every element in a range | a stage |
| CONCATENATION | PADs of its operands, put together by ADDs |
| TRANSPOSE of an outside tensor from NCHW to NHWC | a stage |

Whoever picks the run answers for this: no tensor inside of it is read outside of it, is a graph output or a variable
(see `Run.inner`); between its operators nothing stands that would have to run in the middle.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from . import tables
from .chain import Chain, Link, Stage, Table, Value
from .errors import Refused
from .ir import Array, Operator, Tensor
from .pattern import require
from .planes import check_int8, image_of, plane_of, value_of
from .stages_conv import conv_stage, dense_stage, depthwise_stage
from .stages_move import joined_stages, pad_stage, padding_of, pads_of, slice_stage
from .stages_plane import (channel_product_stage, channel_sum_stage, mean_stage, pool_stage, sum_stage,
                           transpose_stage)
from .stages_table import OF_ONE, OF_TWO, check_options, joined, step_of
from .tables import CONSTANT, Program
from .windows import Pads

T = TypeVar("T")
RENAMES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
PADS = frozenset({"PAD", "PADV2"})
SLICES = frozenset({"SLICE", "STRIDED_SLICE"})
IMAGES = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"})
KINDS = frozenset({*IMAGES, *OF_ONE, *OF_TWO, *RENAMES, *PADS, *SLICES, "FULLY_CONNECTED", "MEAN", "TRANSPOSE",
                   "CONCATENATION"})
"""The names of the operators that a chain may hold; all others are refused."""


@dataclass(frozen=True)
class Run:
    """operators: as given. inputs: the outside tensors in the chain's order. output: the last operator's."""

    operators: tuple[Operator, ...]
    chain: Chain
    inputs: tuple[Tensor, ...]
    output: Tensor

    @property
    def inner(self) -> tuple[Tensor, ...]:
        """The tensors that cease to exist: nothing outside of the run may read them."""
        return tuple(t for o in self.operators for t in o.outputs if t is not self.output)


def run_of(operators: Sequence[Operator]) -> Run:
    """The chain of one run; Refused with what stands in its way. For many runs of one model use one `Stages`."""
    return Stages().run(operators)


def stage_of(operator: Operator) -> Run:
    """The run of one operator. Operators that are no stage by themselves (RESHAPE, PAD) are refused here."""
    return run_of([operator])


class Stages:
    """Runs of the operators of one model; what an operator alone determines is worked out once.

    The operators and their tensors must not change meanwhile.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Stage | Refused] = {}
        self._tables: dict[tuple[Program, float, int], Array | Refused] = {}

    def run(self, operators: Sequence[Operator]) -> Run:
        """Refused where an operator is none that a chain holds, or the operators do not fit together."""
        build = _Build(self)
        for operator in operators:
            build.add_or_tell(operator)
        return build.run(tuple(operators))

    def growing(self, operators: Sequence[Operator]) -> Iterator[Run | Refused]:
        """`run` of the first operator, the first two, and so on, in one pass.

        Ends behind the first operator that stands in the way of all longer runs too. A refusal before that is one of
        this length only: after a PAD that a convolution may yet follow, for example.
        """
        build = _Build(self)
        for count, operator in enumerate(operators, 1):
            try:
                build.add_or_tell(operator)
            except Refused as refused:
                yield refused
                return
            try:
                yield build.run(tuple(operators[:count]))
            except Refused as refused:
                yield refused

    def stage(self, operator: Operator, key: tuple[object, ...], make: Callable[[], Stage]) -> Stage:
        """What `make` returns or refuses, remembered for an operator and what else it depends on."""
        full = (operator, *key)
        if full not in self._made:
            try:
                self._made[full] = make()
            except Refused as refused:
                self._made[full] = refused
        return _or_raise(self._made[full])

    def table(self, program: Program, source: Value) -> Array:
        """tables.table, remembered."""
        key = (program, source.scale, source.zero_point)
        if key not in self._tables:
            try:
                self._tables[key] = tables.table(*key)
            except Refused as refused:
                self._tables[key] = refused
        return _or_raise(self._tables[key])


def _or_raise(result: T | Refused) -> T:
    if isinstance(result, Refused):
        raise Refused(result.reason, result.at)
    return result


@dataclass(frozen=True, eq=False)
class _Node:
    """A value on its way into a chain. stage: None for an outside tensor. root: what a table is a function of."""

    value: Value
    stage: Stage | None = None
    reads: tuple[_Node, ...] = ()
    program: Program = ()

    @property
    def root(self) -> _Node:
        return self.reads[0] if self.program else self


@dataclass
class _Build:
    """The run so far. same: a tensor that holds another's bytes. padded: the PAD that makes a tensor; it becomes a
    stage when somebody else than a convolution reads it."""

    stages: Stages
    nodes: dict[Tensor, _Node] = field(default_factory=dict)
    same: dict[Tensor, Tensor] = field(default_factory=dict)
    padded: dict[Tensor, Operator] = field(default_factory=dict)

    def add_or_tell(self, operator: Operator) -> None:
        """`add`; a refusal names the operator where it names no place itself."""
        try:
            self.add(operator)
        except Refused as refused:
            raise Refused(refused.reason, operator if refused.at is None else refused.at) from None

    def add(self, operator: Operator) -> None:
        name = operator.name
        require(name in KINDS, f"{name} is not computed by a chain")
        require(len(operator.outputs) == 1, "the operator has not one output")
        first = operator.input(0)
        if first is None:
            raise Refused("the operator has no input")
        if name in RENAMES:
            self.rename(operator, first)
        elif name in PADS:
            padding_of(operator, first)
            self.padded[operator.outputs[0]] = operator
        elif name == "CONCATENATION":
            self.join(operator)
        elif name in OF_TWO:
            self.of_two(operator)
        elif name in OF_ONE:
            self.of_one(operator, first)
        else:
            self.of_plane(operator, first)

    def run(self, operators: tuple[Operator, ...]) -> Run:
        """What the last operator's output is made of."""
        require(bool(operators), "the run is empty")
        output = operators[-1].outputs[0]
        held = self.bytes_of(output)
        last = self.node(held) if held in self.padded else self.nodes.get(held)
        if last is None or last.stage is None:
            raise Refused("nothing is left to compute: its output has its input's bytes", operators[-1], by_choice=True)
        needed: dict[_Node, None] = {}
        self.reach(last, needed)
        tensors = {node: tensor for tensor, node in self.nodes.items() if node.stage is None}
        outside = [node for node in self.nodes.values() if node.stage is None and node in needed]
        inner = [node for node in self.nodes.values() if node.stage is not None and node in needed]
        number = {node: k for k, node in enumerate([*outside, *inner])}
        links = tuple(Link(node.stage, tuple(number[r] for r in node.reads)) for node in inner
                      if node.stage is not None)
        return Run(operators, Chain(tuple(node.value for node in outside), links),
                   tuple(tensors[node] for node in outside), output)

    def reach(self, node: _Node, needed: dict[_Node, None]) -> None:
        stack = [node]
        while stack:
            top = stack.pop()
            if top not in needed:
                needed[top] = None
                stack += top.reads

    def bytes_of(self, tensor: Tensor) -> Tensor:
        """The tensor whose bytes this one holds."""
        while tensor in self.same:
            tensor = self.same[tensor]
        return tensor

    def node(self, tensor: Tensor) -> _Node:
        """The value that a tensor holds; a tensor from outside gets the shape in which it is first read."""
        held = self.bytes_of(tensor)
        if held not in self.nodes and held in self.padded:
            operator = self.padded[held]
            source = operator.inputs[0]
            assert source is not None
            moved = padding_of(operator, source)
            self.put(operator, self.stages.stage(operator, (), lambda: pad_stage(operator, moved)),
                     self.of_shape(source, plane_of(source)))
        elif held not in self.nodes:
            self.nodes[held] = _Node(value_of(tensor, plane_of(tensor)))
        return self.nodes[held]

    def of_shape(self, tensor: Tensor, plane: tuple[int, int, int]) -> _Node:
        node = self.node(tensor)
        require(node.value.plane == plane, "its input is computed in rows of another shape", at=tensor)
        return node

    def put(self, operator: Operator, stage: Stage, *reads: _Node) -> None:
        self.nodes[operator.outputs[0]] = _Node(stage.out, stage, reads)

    def rename(self, operator: Operator, source: Tensor) -> None:
        out = operator.outputs[0]
        require(source.type == out.type and source.size == out.size, "its output has other bytes than its input")
        check_int8(source)
        require(source.quantization is not None and source.quantization.same_as(out.quantization),
                "its output is quantized otherwise than its input")
        self.same[out] = source

    def join(self, operator: Operator) -> None:
        tensors = [t for t in operator.inputs if t is not None]
        require(len(tensors) > 1 and len(tensors) == len(operator.inputs), "it joins nothing")
        pads, add = joined_stages(operator, tensors)
        out = operator.outputs[0]
        parts = [_Node(pad.out, pad, (self.of_shape(tensor, plane_of(tensor)),))
                 for tensor, pad in zip(tensors, pads, strict=True)]
        whole = parts[0]
        self.nodes[out.like()] = whole
        for part in parts[1:]:
            self.nodes[out.like()] = part
            whole = _Node(add.out, add, (whole, part))
            self.nodes[out if part is parts[-1] else out.like()] = whole

    def inside(self, tensor: Tensor) -> tuple[Tensor, Pads]:
        """What a convolution reads of a tensor: where a PAD made it, that PAD's input and what lies around it."""
        source = self.padded[tensor].inputs[0] if tensor in self.padded else None
        pads = None if source is None else pads_of(padding_of(self.padded[tensor], source), plane_of(source))
        return (tensor, Pads()) if source is None or pads is None else (source, pads)

    def of_plane(self, operator: Operator, tensor: Tensor) -> None:
        name = operator.name
        tensor, pads = self.inside(tensor) if "CONV" in name else (tensor, Pads())
        if name in IMAGES:
            source = self.of_shape(tensor, image_of(tensor))
        elif name == "FULLY_CONNECTED":
            source = self.node(tensor)
            require(source.value.channels == plane_of(tensor)[2] or source.value.size == plane_of(tensor)[2],
                    "its input is computed in rows of another shape", at=tensor)
        else:
            source = self.of_shape(tensor, plane_of(tensor))
        value = source.value
        if name == "TRANSPOSE":
            outside = source.stage is None and len(tensor.shape) == 4
            require(outside, "it does not transpose an image from outside the run")
        make: dict[str, Callable[[], Stage]] = {
            "CONV_2D": lambda: conv_stage(operator, value, pads),
            "DEPTHWISE_CONV_2D": lambda: depthwise_stage(operator, value, pads),
            "FULLY_CONNECTED": lambda: dense_stage(operator, value),
            "MEAN": lambda: mean_stage(operator, value, tensor.shape),
            "TRANSPOSE": lambda: transpose_stage(operator, value.plane),
            **dict.fromkeys(SLICES, lambda: slice_stage(operator, value, tensor))}
        stage = self.stages.stage(operator, (value, pads), make.get(name, lambda: pool_stage(operator, value)))
        if name in IMAGES:
            require(operator.outputs[0].shape == (1, *stage.out.plane), "the output's shape is not the one computed",
                    at=operator)
        self.put(operator, stage, source)

    def of_one(self, operator: Operator, tensor: Tensor) -> None:
        check_options(operator)
        operands = (0, CONSTANT) if operator.name == "PRELU" else (0,)
        require(len(operator.inputs) == len(operands), "it has another number of operands")
        source = self.node(tensor)
        self.put_table(operator, source.root, source.program, (len(source.program), *operands[1:]))

    def of_two(self, operator: Operator) -> None:
        a, b = (operator.input(k) for k in (0, 1))
        if a is None or b is None or len(operator.inputs) != 2:
            raise Refused("it has not two operands")
        if not a.is_constant and not b.is_constant:
            self.of_two_values(operator, a, b)
            return
        tensor, constant = (b, a) if a.is_constant else (a, b)
        require(not tensor.is_constant, "both of its operands are constant")
        source = self.node(tensor)
        require(operator.outputs[0].size == source.value.size, "its constant makes the output larger", at=constant)
        if constant.size == 1:
            last = len(source.program)
            operands = (CONSTANT, last) if a is constant else (last, CONSTANT)
            self.put_table(operator, source.root, source.program, operands)
            return
        require(tensor.shape[-1] == source.value.channels, "its input is computed in rows of another shape", at=tensor)
        make = channel_product_stage if operator.name == "MUL" else channel_sum_stage
        stage = self.stages.stage(operator, (source.value,), lambda: make(operator, source.value, constant))
        self.put(operator, stage, source)

    def of_two_values(self, operator: Operator, a: Tensor, b: Tensor) -> None:
        require(prod(a.shape) == prod(b.shape) == operator.outputs[0].size, "its operands have different shapes")
        require(plane_of(a) == plane_of(b), "its operands have different shapes")
        left, right = self.node(a), self.node(b)
        if left.root is right.root:
            program, *operands = joined(left.program, right.program)
            self.put_table(operator, left.root, program, tuple(operands))
            return
        stage = self.stages.stage(operator, (left.value, right.value),
                                  lambda: sum_stage(operator, left.value, right.value))
        self.put(operator, stage, left, right)

    def put_table(self, operator: Operator, root: _Node, program: Program, operands: tuple[int, ...]) -> None:
        """The function that `program` and this operator compute of the root."""
        whole = (*program, step_of(operator, operands))
        table = self.stages.table(whole, root.value)
        out = value_of(operator.outputs[0], root.value.plane)
        self.nodes[operator.outputs[0]] = _Node(out, Table(out, table, whole), (root,), whole)
