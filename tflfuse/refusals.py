"""What was not done, by what it would be worth: the bytes that the operators which stay because of it move."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .errors import Refused
from .ir import Operator, shown
from .plan import Refusal
from .traffic import flow_of_one

MOST_PLACES = 3


@dataclass(frozen=True)
class Stake:
    """Refusals with one reason. operators: that stay because of it, in the order of the refusals. moved: the bytes of
    tensors that they read and write in one inference."""

    reason: str
    refusals: tuple[Refusal, ...]
    operators: tuple[Operator, ...]
    moved: int

    def __str__(self) -> str:
        """ "MEAN #59, #60: the mean is not taken over rows and columns" """
        return f"{named(self.operators) or self.refusals[0].label}: {self.reason}"


def stakes(refusals: Iterable[Refusal]) -> list[Stake]:
    """By reason, the one first that keeps most bytes moving, then most operators. What was declined because something
    else is better is not among them: nothing is lost there."""
    by_reason: dict[str, list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        if not refusal.by_choice:
            by_reason[refusal.reason].append(refusal)
    found = []
    for reason, several in by_reason.items():
        operators = tuple(dict.fromkeys(o for r in several for o in r.operators))
        found.append(Stake(reason, tuple(several), operators, sum(map(moved_by, operators))))
    return sorted(found, key=lambda s: (-s.moved, -len(s.operators)))


def moved_by(operator: Operator) -> int:
    """Bytes of tensors; 0 where their sizes are not known."""
    try:
        return flow_of_one(operator).tensors
    except Refused:
        return 0


def named(operators: Iterable[Operator]) -> str:
    """ "CONV_2D #1, #4, MEAN #7 and 3 more" """
    words: list[str] = []
    kind = ""
    all_of_them = list(operators)
    for operator in all_of_them[:MOST_PLACES if len(all_of_them) > MOST_PLACES + 1 else None]:
        name = shown(operator.name.encode())
        words.append(operator.place if name == kind and operator.place else f"{name} {operator.place}".strip())
        kind = name
    more = len(all_of_them) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")
