"""A model's operators as the report shows them: fused ones with their stages, the others as they are."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .chain import Add, Convolution, Depthwise, Link, Multiply, Pool, Slice, Table, Window
from .chain import Pad as PadStage
from .ir import Model, Operator, Tensor, shown
from .layout import Copy, Layout, Place, laid_out
from .packing import CUSTOM, KIND_OF, chain_of
from .traffic import Flow, Group, flow_of_one


@dataclass(frozen=True)
class StageRow:
    """One stage. reads: "x", "stage 3". shape: (height, width, channels) of what it makes, which is `size` bytes.

    ring: rows that are kept of it, 0 for the output; ring_bytes: what they take. weights: bytes in flash.
    """

    number: int
    kind: str
    detail: str
    reads: tuple[str, ...]
    shape: tuple[int, ...]
    size: int
    ring: int
    ring_bytes: int
    weights: int


@dataclass(frozen=True)
class Block:
    """One operator of the result. stages: of a fused one. inner: bytes of the tensors that do not exist any more;
    largest: of the largest; scratch: bytes that it takes for their rows instead. weights: bytes in flash.

    group: what it was made of, where that is known.
    """

    number: int
    name: str
    label: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    flow: Flow
    weights: int
    stages: tuple[StageRow, ...] = ()
    inner: int = 0
    largest: int = 0
    scratch: int = 0
    group: Group | None = None

    @property
    def counted(self) -> int:
        """Stages that compute, without the copies into rings."""
        return sum(s.kind != "COPY" for s in self.stages)


def blocks_of(model: Model, groups: Sequence[Group]) -> Iterator[Block]:
    """groups: of the model's fused operators in order, none where they are not known."""
    known = iter(groups)
    for number, operator in enumerate(model.operators):
        if operator.name == CUSTOM:
            yield fused(number, operator, next(known, None))
        else:
            name = shown(operator.name.removeprefix("CUSTOM:").encode())
            constants = sum(len(t.buffer) for t in operator.inputs if t is not None and t.is_constant)
            yield Block(number, name, operator.label, names(operator.inputs),
                        operator.outputs[0].shape if operator.outputs else (), flow_of_one(operator), constants)


def fused(number: int, operator: Operator, group: Group | None) -> Block:
    chain = chain_of(operator)
    layout = laid_out(chain)
    inputs = names(operator.inputs[:-1])
    stages = tuple(rows(layout, inputs))
    inner = [s.size for s in stages[:-1] if s.kind != "COPY"]
    return Block(number, CUSTOM.removeprefix("CUSTOM:"), operator.label, inputs, operator.outputs[0].shape,
                 flow_of_one(operator), sum(s.weights for s in stages), stages, sum(inner), max(inner, default=0),
                 layout.scratch_bytes, group)


def names(tensors: Sequence[Tensor | None]) -> tuple[str, ...]:
    return tuple(t.label for t in tensors if t is not None and not t.is_constant)


def rows(layout: Layout, inputs: Sequence[str]) -> Iterator[StageRow]:
    """The stages in order; copies of outside tensors into rings come first."""
    count = len(inputs)
    for number, link in enumerate(layout.links):
        place = layout.places[count + number]
        reads = tuple(inputs[v] if v < count else f"stage {v - count + 1}" for v in link.reads)
        yield StageRow(number + 1, KIND_OF[type(link.stage)].name, detail(link, layout.places), reads,
                       place.value.plane, place.value.size, place.rows, place.ring_bytes, weights(link))


def weights(link: Link) -> int:
    """Bytes of weights, biases, multipliers and tables."""
    stage = link.stage
    if isinstance(stage, Convolution):
        return sum(a.nbytes for a in (stage.weights, stage.bias, stage.multipliers, stage.shifts))
    if isinstance(stage, Table):
        return stage.table.nbytes
    constant = stage.constant if isinstance(stage, Add | Multiply) else None
    return 0 if constant is None else constant.nbytes


def detail(link: Link, places: Sequence[Place]) -> str:
    """What there is to say of it beside its kind."""
    stage, source = link.stage, places[link.reads[0]].value
    if isinstance(stage, Convolution | Pool):
        multiple = stage.out.channels // source.channels if isinstance(stage, Depthwise) else 1
        return window(stage.window) + (f", {multiple} channels for one" if multiple > 1 else "")
    if isinstance(stage, Copy):
        return "into rows with columns beside them"
    if isinstance(stage, Table):
        return ", ".join(step.name for step in stage.program)
    if isinstance(stage, PadStage | Slice):
        return f"{stage.top} rows, {stage.left} columns, {stage.front} channels in front"
    return "of a constant" if isinstance(stage, Add) and stage.constant is not None else ""


def window(w: Window) -> str:
    """ "3×3, stride 2" """
    def pair(name: str, a: int, b: int) -> str:
        return "" if a == b == 1 else f", {name} {a}" if a == b else f", {name} {a}×{b}"

    return (f"{w.kernel_h}×{w.kernel_w}" + pair("stride", w.stride_h, w.stride_w)
            + pair("dilation", w.dilation_h, w.dilation_w))
