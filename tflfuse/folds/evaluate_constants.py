"""OPERATOR(constant, ...) -> constant."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..evaluate import evaluate
from ..ir import Tensor
from ..pattern import Match, Pattern, Producers, Replacement, constant, fold, require
from ..plan import EFFECTS
from ..sameness import require_static

ROOM = 1024
"""Bytes by which a result may be larger than its operands: SRAM is dearer than flash, but not without end."""


@dataclass(frozen=True)
class OnConstants(Pattern):
    """The only output of any operator that has operands, all of them constant, and no effect but that output."""

    name: str

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        producer = None if value is None else producers.get(value)
        if producer is None or len(producer.outputs) != 1 or producer.name in EFFECTS:
            return
        bound = so_far.bind(self.name, producer)
        if bound is not None and producer.inputs and all(t is not None and t.is_constant for t in producer.inputs):
            yield bound.reached(producer)


@fold(OnConstants("root"))
def evaluate_constants(m: Match) -> Replacement:
    """Compute what depends on constants alone."""
    out = m.root.outputs[0]
    require(m.root.name != "DEQUANTIZE", "the dequantized constant would make the file larger", at=m.root)
    require_static(out)
    given = sum(len(b) for b in {t.buffer for t in m.root.inputs if t is not None})
    require(out.size * out.dtype.itemsize <= given + ROOM, "the result would make the file larger", at=out)
    return constant(evaluate(m.root))
