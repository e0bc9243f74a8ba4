"""Everything that there is to say about a result: each step, each refusal, each place in the arena on its line."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import summary
from .plan import Plan, Refusal

if TYPE_CHECKING:
    from .report import Report


def lines(report: Report) -> Iterator[str]:
    yield from summary.figures(report)
    yield from report.proof.lines() if report.proof else summary.outputs(report)
    yield from steps(report.plan)
    yield from (f"left: {r.rule} at {r.label}: {r.reason}{where(r)}" for r in report.plan.refusals)
    yield from (f"note: {note}" for note in report.notes)
    if report.memory:
        yield from report.memory.lines()


def steps(plan: Plan) -> Iterator[str]:
    for s in plan.steps:
        note = f" ({s.note})" if s.note else ""
        yield f"{s.rule}: {s.label}{'' if s.exact else ' (re-quantizing)'}: {s.summary}{note}"


def where(refusal: Refusal) -> str:
    return f" ({refusal.at})" if refusal.at and refusal.at != refusal.label else ""
