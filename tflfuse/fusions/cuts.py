"""Where to cut a sequence of operators into runs: the smallest arena first, then the fewest bytes moved.

A piece covers the operators from begin to end at a price. A cut is a row of pieces without gaps. Its arena is the
largest peak of its pieces and the sum of what they keep; dynamic programming over the pieces finds the smallest one
exactly, with one pass for each peak that may be worth it.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True)
class Piece:
    """operators[begin:end] done one way.

    peak: bytes of the arena's head while they run. kept: bytes of its tail, for as long as the interpreter lives.
    moved: bytes read and written outside of the piece. run: what the caller makes of it.
    """

    begin: int
    end: int
    peak: int
    kept: int
    moved: int
    run: Any = None


def best_cut(count: int, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of the best cut of operators 0..count; there must be one.

    Ties go to fewer pieces, then to the order given, so that the result depends on nothing but the pieces.
    """
    ordered = sorted(pieces, key=lambda p: (p.end, p.begin))
    least = smallest_peak(count, ordered)
    best = within(count, ordered, least)
    spare = sum(p.kept for p in best) - sum(p.kept for p in within(count, ordered, inf))
    for limit in sorted({p.peak for p in pieces if least < p.peak <= least + spare}):
        best = min(best, within(count, ordered, limit), key=worth)
    return best


def worth(cut: Sequence[Piece]) -> tuple[int, int, int]:
    """Smaller is better: the arena, the bytes moved, the number of pieces."""
    return max((p.peak for p in cut), default=0) + sum(p.kept for p in cut), sum(p.moved for p in cut), len(cut)


def smallest_peak(count: int, ordered: Sequence[Piece]) -> float:
    """The largest peak of the cut for which that is smallest."""
    best: list[float] = [0.0] + [inf] * count
    for p in ordered:
        best[p.end] = min(best[p.end], max(best[p.begin], p.peak))
    return best[count]


def within(count: int, ordered: Sequence[Piece], limit: float) -> list[Piece]:
    """The cut that keeps, then moves, the fewest bytes, of pieces whose peak is not above the limit."""
    best: list[tuple[float, float, float]] = [(0, 0, 0)] + [(inf, inf, inf)] * count
    last: list[Piece | None] = [None] * (count + 1)
    for p in ordered:
        kept, moved, number = best[p.begin]
        total = kept + p.kept, moved + p.moved, number + 1
        if p.peak <= limit and total < best[p.end]:
            best[p.end], last[p.end] = total, p
    cut: list[Piece] = []
    piece = last[count]
    while piece is not None:
        cut.append(piece)
        piece = last[piece.begin]
    return cut[::-1]
