"""What was done and why the rest was not: from a Plan to text and JSON."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .plan import Plan, Refusal

if TYPE_CHECKING:
    from .memory_report import Memory
    from .proof import Proof
    from .traffic import Traffic

BRIEF_REASONS = 8


@dataclass(frozen=True)
class Report:
    """plan: steps and refusals. operators_*: how many of each name. bytes_*: file sizes. proof: None until verified.

    memory: where everything lies in the arena, traffic: what moves through it, None where the sizes of tensors are not
    known.
    """

    plan: Plan
    operators_before: Counter[str]
    operators_after: Counter[str]
    bytes_before: int
    bytes_after: int
    notes: tuple[str, ...] = ()
    memory: Memory | None = None
    proof: Proof | None = None
    traffic: Traffic | None = None

    @property
    def changed(self) -> bool:
        return bool(self.plan.steps) or self.memory is not None and self.memory.written

    def as_dict(self) -> dict[str, Any]:
        """Everything, for --json."""
        proof = self.proof.as_dict() if self.proof else None
        return {
            "operators": {"before": self.operators_before.total(), "after": self.operators_after.total(),
                          "kinds_before": dict(self.operators_before), "kinds_after": dict(self.operators_after)},
            "bytes": {"before": self.bytes_before, "after": self.bytes_after},
            "arena": proof and proof["arena"],
            "exact": self.plan.exact,
            "steps": [s.as_dict() for s in self.plan.steps],
            "refusals": [r.as_dict() for r in self.plan.refusals],
            "memory": self.memory and self.memory.as_dict(),
            "traffic": self.traffic and self.traffic.as_dict(),
            "notes": list(self.notes),
            "verification": proof,
        }

    def text(self, everything: bool = False) -> str:
        """For the terminal. everything: each step and each refusal on a line of its own."""
        steps = self.each_step() if everything else self.steps_by_rule()
        lines = [*self.gains(), *steps, *self.reasons(everything), *(f"note: {n}" for n in self.notes)]
        lines += self.proof.lines() if self.proof else []
        return "\n".join([*lines, *(self.memory.lines(everything) if self.memory else [])])

    def gains(self) -> Iterator[str]:
        yield f"operators  {self.operators_before.total():>9,} -> {self.operators_after.total():,}"
        yield f"file       {self.bytes_before:>9,} -> {self.bytes_after:,} bytes"
        if not self.changed:
            yield "unchanged: " + ("every match was refused" if self.plan.refusals else
                                   f"no rule matches {kinds(self.operators_before)}")

    def steps_by_rule(self) -> Iterator[str]:
        rules = Counter((s.rule, s.summary, s.exact) for s in self.plan.steps)
        for (rule, summary, exact), count in rules.items():
            yield f"{count:>4} x {rule}{'' if exact else ' (re-quantizing)'}: {summary}"

    def each_step(self) -> Iterator[str]:
        for s in self.plan.steps:
            note = f" ({s.note})" if s.note else ""
            yield f"{s.rule}: {s.label}{'' if s.exact else ' (re-quantizing)'}: {s.summary}{note}"

    def reasons(self, everything: bool) -> Iterator[str]:
        """Each reason with a place; equal reasons together unless everything is wanted."""
        if everything:
            yield from (f"left: {r.rule} at {r.label}: {r.reason}{where(r)}" for r in self.plan.refusals)
            return
        groups: dict[tuple[str, str], list[Refusal]] = defaultdict(list)
        for r in self.plan.refusals:
            groups[r.rule, r.reason].append(r)
        for (rule, reason), several in list(groups.items())[:BRIEF_REASONS]:
            yield f"left {len(several)} x {rule}: {reason} (first at {several[0].label})"
        if len(groups) > BRIEF_REASONS:
            yield f"{len(groups) - BRIEF_REASONS} more reasons: --explain"


def where(refusal: Refusal) -> str:
    return f" ({refusal.at})" if refusal.at and refusal.at != refusal.label else ""


def kinds(operators: Counter[str], most: int = 6) -> str:
    """ "its CONV_2D, RELU and 3 other kinds of operator" """
    names: Iterable[str] = [name for name, _ in operators.most_common(most)]
    rest = len(operators) - most
    return "its " + ", ".join(names) + (f" and {rest} other kinds of operator" if rest > 0 else "")
