"""What was done and why the rest was not: from a Plan to text and JSON."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import details, summary
from .plan import Plan
from .wrapping import one_line

if TYPE_CHECKING:
    from .memory_report import Memory
    from .proof import Proof
    from .traffic import Traffic


@dataclass(frozen=True)
class Report:
    """plan: steps and refusals. operators_*: how many of each name. bytes_*: file sizes. proof: None until verified.

    memory: where everything lies in the arena, traffic: what moves through it, None where the sizes of tensors are not
    known. unchanged: why nothing was done, where that is no matter of rules.
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
    unchanged: str = ""

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

    @property
    def why_unchanged(self) -> str:
        """Half a sentence, for a report in which nothing was done."""
        return self.unchanged or f"no rule applies to {kinds(self.operators_before)}"

    def text(self, everything: bool = False) -> str:
        """For the terminal, on one screen. everything: each step and each refusal on a line of its own.

        Names from the file end no line, and control no terminal.
        """
        return "\n".join(map(one_line, details.lines(self) if everything else summary.lines(self)))


def kinds(operators: Counter[str], most: int = 6) -> str:
    """ "its CONV_2D, RELU and 3 other kinds of operator" """
    names: Iterable[str] = [name for name, _ in operators.most_common(most)]
    rest = len(operators) - most
    more = f" and {rest} other kind{'s' if rest > 1 else ''} of operator" if rest > 0 else ""
    return "its " + ", ".join(names) + more
