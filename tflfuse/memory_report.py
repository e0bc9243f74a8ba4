"""The memory plan for people and for --json: where everything lies, and what stands in the way of a smaller arena."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .arena import Needs
from .memory import MemoryPlan, Place

HOW = {"written": "written to the file", "interpreter": "left to the interpreter, whose own plan is as small",
       "file": "the file's own, kept"}
MOST_NAMED = 4


@dataclass(frozen=True)
class Memory:
    """plan: of the result. before, after: what the model needs; None where its tensors' sizes are not known."""

    plan: MemoryPlan
    after: Needs
    before: Needs | None = None

    @property
    def written(self) -> bool:
        return self.plan.origin == "written"

    def as_dict(self) -> dict[str, Any]:
        return {"plan": HOW[self.plan.origin], "head": self.plan.head, "head_by_interpreter": self.plan.greedy,
                "bound": self.plan.bound, "placements_tried": self.plan.tried,
                "before": self.before and self.before.as_dict(), "after": self.after.as_dict(),
                "buffers": [buffer_dict(p) for p in self.plan.places], "at_the_peak": self.in_the_way()}

    def lines(self) -> Iterator[str]:
        """The plan and every place, in the order in which they are taken."""
        yield (f"memory plan, {HOW[self.plan.origin]}: tensors and rows take {self.plan.head:,} bytes of the arena; "
               f"by TFLM's own plan they would take {self.plan.greedy:,}; step 1 is the first operator that runs")
        yield from (f"at {p.offset:>9,}: {p.size:>9,} bytes, from step {p.first} to {p.last}: {name_of(p)}"
                    for p in sorted(self.plan.places, key=lambda p: (p.first, p.offset)))

    def in_the_way(self) -> dict[str, Any]:
        """The operator at which the arena is fullest, and what it must hold then, the largest first."""
        scopes = sorted({p.first for p in self.plan.places})
        if not scopes:
            return {"operator": None, "buffers": []}
        at = max(scopes, key=lambda s: (max(p.offset + p.size for p in self.plan.at(s)),
                                        sum(p.size for p in self.plan.at(s))))
        held = sorted(self.plan.at(at), key=lambda p: -p.size)
        operator = next((o for o, scope in self.plan.scopes.items() if scope == at), None)
        return {"operator": operator.label if operator else None, "buffers": [buffer_dict(p) for p in held]}

    def obstacle(self) -> str:
        """The same as half a sentence."""
        found = self.in_the_way()
        held = [f"{b['name']} ({b['size']:,})" for b in found["buffers"][:MOST_NAMED]]
        more = len(found["buffers"]) - MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        overlap = sum(b["size"] for b in found["buffers"]) > max((b["offset"] + b["size"] for b in found["buffers"]),
                                                                 default=0)
        shared = ", some lying over others" if overlap else ""
        return f"{found['operator']} needs {', '.join(held)}{rest} at once{shared}"


def buffer_dict(place: Place) -> dict[str, Any]:
    return {"name": name_of(place), "offset": place.offset, "size": place.size, "first": place.first,
            "last": place.last, "scratch": place.tensor is None}


def name_of(place: Place) -> str:
    if place.tensor is not None:
        return place.tensor.label
    return f"scratch memory of {place.operator.label}" if place.operator is not None else "scratch memory"
