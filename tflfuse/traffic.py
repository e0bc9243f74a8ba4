"""SRAM bytes that one inference reads and writes, counted from shapes and schedule.

The model is a simple one: each operator reads each of its operands once and writes each of its outputs once, whatever
its kernel does. Constants are in flash and do not count. A fused operator's stages do the same, only that what passes
from stage to stage goes through rings of a few rows: that is SRAM too, and counted apart. Rows that a window reads
again, im2col buffers, accumulators and the stack do not count.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from .chain import Link, Value
from .errors import BadModel, Refused
from .ir import DTYPE, Model, Operator, Tensor
from .layout import laid_out
from .lifetimes import lifetimes
from .packing import CUSTOM, chain_of
from .plan import Step


@dataclass(frozen=True)
class Flow:
    """Bytes. read, written: of whole tensors; ring_read, ring_written: of rows inside of fused operators."""

    read: int = 0
    written: int = 0
    ring_read: int = 0
    ring_written: int = 0

    @property
    def tensors(self) -> int:
        return self.read + self.written

    @property
    def rings(self) -> int:
        return self.ring_read + self.ring_written

    @property
    def total(self) -> int:
        return self.tensors + self.rings

    def __add__(self, other: Flow) -> Flow:
        return Flow(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int]:
        """With the sums."""
        return {**vars(self), "tensors": self.tensors, "rings": self.rings, "total": self.total}


@dataclass(frozen=True)
class Group:
    """A fused operator. label: its own. step: what made it, None where the file had it already. before: what the
    operators move that it stands for."""

    label: str
    after: Flow
    step: Step | None = field(default=None, repr=False)

    @property
    def operators(self) -> int | None:
        """How many it stands for."""
        return None if self.step is None else len(self.step.before)

    @property
    def before(self) -> Flow | None:
        return None if self.step is None else flow_of(self.step.before)

    def as_dict(self) -> dict[str, Any]:
        return {"operator": self.label, "operators": self.operators, "before": self.before and self.before.as_dict(),
                "after": self.after.as_dict()}


@dataclass(frozen=True)
class Traffic:
    """before, after: of all operators that run, a loop's once. groups: the fused ones, in the order of execution."""

    before: Flow
    after: Flow
    groups: tuple[Group, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"before": self.before.as_dict(), "after": self.after.as_dict(),
                "groups": [group.as_dict() for group in self.groups]}


def flow_of_model(model: Model) -> Flow | None:
    """Of all operators that one run reaches; None where a size is not known, or a fused operator cannot be read."""
    try:
        return flow_of(lifetimes(model).scopes)
    except (BadModel, Refused):
        return None


def flow_of(operators: Iterable[Operator]) -> Flow:
    """What these operators move together."""
    return sum((flow_of_one(operator) for operator in operators), Flow())


def flow_of_one(operator: Operator) -> Flow:
    if operator.name == CUSTOM:
        chain = chain_of(operator)
        return flow_of_chain(chain.inputs, laid_out(chain).links)
    read = sum(sram_bytes(t) for t in operator.inputs if t is not None)
    return Flow(read, sum(sram_bytes(t) for t in operator.outputs))


def flow_of_chain(inputs: Sequence[Value], links: Sequence[Link]) -> Flow:
    """links: with the copies of outside tensors into rings, see `layout`."""
    count = len(inputs)
    values = (*inputs, *(link.stage.out for link in links))
    reads = [v for link in links for v in link.reads]
    return Flow(sum(values[v].size for v in reads if v < count), values[-1].size,
                sum(values[v].size for v in reads if v >= count), sum(v.size for v in values[count:-1]))


def sram_bytes(tensor: Tensor) -> int:
    """0 for a constant, which lies in flash, and for a type without a size, as a variable's handle."""
    return 0 if tensor.is_constant or tensor.type not in DTYPE else tensor.nbytes


def traffic_of(before: Flow | None, model: Model, steps: Sequence[Step]) -> Traffic | None:
    """before: of the original; model: what the steps made of it. None where one of them is not known."""
    after = flow_of_model(model)
    return None if before is None or after is None else Traffic(before, after, tuple(groups_of(model.operators, steps)))


def groups_of(operators: Iterable[Operator], steps: Sequence[Step]) -> Iterator[Group]:
    """The fused ones among a model's operators. steps: those that were taken, with the operators themselves."""
    made = {o: step for step in steps if step.replacement is not None for o in step.replacement.operators}
    for operator in (o for o in operators if o.name == CUSTOM):
        yield Group(operator.label, flow_of_one(operator), made.get(operator))
