"""Where to cut a sequence of operators into runs: the smallest arena, or the cheapest cut that a budget allows.

A piece covers the operators from begin to end at a price. A cut is a row of pieces without gaps. What it needs at least
is the largest peak of its pieces, the sum of what they keep, and what some of them share. Dynamic programming over the
pieces, once for each peak that may be worth it, gives the cuts with the smallest sums; they are placed in memory one
after the other until no other cut can be better than the best that was found.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any


@dataclass(frozen=True)
class Piece:
    """operators[begin:end] done one way.

    peak: bytes of the arena's head while they run, at least. kept: bytes of its tail, for as long as the interpreter
    lives. moved: bytes of tensors read and written. weights: bytes of weights read, counted again for each row.
    flash: what the file's growth is worth in bytes of the arena. shared: bytes of the tail that all pieces that say so
    keep together, once. run: what the caller makes of it.
    """

    begin: int
    end: int
    peak: int
    kept: int
    moved: int
    weights: int = 0
    run: Any = None
    flash: int = 0
    shared: int = 0


@dataclass(frozen=True)
class Cut:
    """pieces: in order. arena: bytes of head and tail as far as the pieces determine them. considered: cuts placed."""

    pieces: tuple[Piece, ...]
    arena: int
    considered: int


Head = Callable[[Sequence[Piece]], int]
"""Bytes of the arena's head that a cut needs when its tensors are placed."""


def best_cut(count: int, pieces: Sequence[Piece], head: Head, budget: int | None = None) -> Cut:
    """The best cut of operators 0..count; there must be one.

    Without a budget: the smallest arena with the price of flash, then the fewest bytes moved, then the fewest weights
    read. With one: of the cuts whose arena is not above it the one that moves fewest bytes, then reads fewest weights;
    the smallest arena, whatever the flash, where there is none. Ties go to fewer pieces, then to the order given.
    """
    ordered = sorted(pieces, key=lambda p: (p.end, p.begin))
    smallest = smallest_arena(count, ordered, head)
    if budget is None:
        return smallest
    if smallest.arena > budget:
        ordered = without_flash(ordered)
        smallest = smallest_arena(count, ordered, head)
    return smallest if smallest.arena > budget else fewest_moved(count, ordered, head, budget, smallest)


def smallest_arena(count: int, ordered: Sequence[Piece], head: Head) -> Cut:
    """For each limit of the peak the cut that keeps least, as long as a larger limit may still be worth it; and the one
    of pieces that share nothing, which the others may undercut by less than what they share."""
    fewest = sum(p.kept + p.flash for p in within(count, ordered, inf))
    best: tuple[int, tuple[int, int], int] | None = None
    found: list[Piece] = []
    candidate: list[Piece] = []
    considered = 0
    least = smallest_peak(count, ordered)
    for limit in sorted({p.peak for p in ordered if p.peak >= least}):
        if best is not None and limit + fewest > best[0]:
            break
        before, candidate = candidate, within(count, ordered, limit)
        if candidate == before or best is not None and peak(candidate) + priced(candidate) > best[0]:
            continue
        considered += 1
        worth = head(candidate) + priced(candidate), work(candidate), len(candidate)
        if best is None or worth < best:
            best, found = worth, candidate
    plain = unshared(count, ordered)
    if best is not None and plain and plain != found and peak(plain) + priced(plain) <= best[0]:
        considered += 1
        worth = head(plain) + priced(plain), work(plain), len(plain)
        if worth < best:
            best, found = worth, plain
    return Cut(tuple(found), 0 if best is None else best[0] - priced(found) + kept(found), considered)


def fewest_moved(count: int, ordered: Sequence[Piece], head: Head, budget: int, fits: Cut) -> Cut:
    """The cut that moves fewest bytes within the budget; fits: one that keeps to it."""
    best, considered = fits, fits.considered
    plain = unshared(count, ordered)
    if plain and work(plain) < work(best.pieces):
        considered += 1
        arena = head(plain) + kept(plain)
        best = Cut(tuple(plain), arena, considered) if arena <= budget else best
    room = budget - sum(p.kept for p in within(count, without_flash(ordered), inf))
    for limit in sorted({p.peak for p in ordered if p.peak <= room}, reverse=True):
        if least_work(count, ordered, limit) >= work(best.pieces):
            break
        for candidate in trade_offs(count, ordered, limit, budget - limit):
            if work(candidate) >= work(best.pieces):
                break
            considered += 1
            arena = head(candidate) + kept(candidate)
            if arena <= budget:
                best = Cut(tuple(candidate), arena, considered)
                break
    return Cut(best.pieces, best.arena, considered)


def peak(cut: Sequence[Piece]) -> int:
    return max((p.peak for p in cut), default=0)


def kept(cut: Sequence[Piece]) -> int:
    return sum(p.kept for p in cut) + max((p.shared for p in cut), default=0)


def priced(cut: Sequence[Piece]) -> int:
    """The same with the price of flash."""
    return kept(cut) + sum(p.flash for p in cut)


def without_flash(pieces: Sequence[Piece]) -> list[Piece]:
    return [replace(p, flash=0) for p in pieces]


def work(cut: Sequence[Piece]) -> tuple[int, int]:
    """Bytes of tensors moved, and of weights read."""
    return sum(p.moved for p in cut), sum(p.weights for p in cut)


def smallest_peak(count: int, ordered: Sequence[Piece]) -> float:
    """The largest peak of the cut for which that is smallest."""
    best: list[float] = [0.0] + [inf] * count
    for p in ordered:
        best[p.end] = min(best[p.end], max(best[p.begin], p.peak))
    return best[count]


def within(count: int, ordered: Sequence[Piece], limit: float) -> list[Piece]:
    """The cut that keeps, with the price of flash, then moves the fewest bytes; no piece's peak is above the limit."""
    best: list[tuple[float, float, float, float]] = [(0, 0, 0, 0)] + [(inf, inf, inf, inf)] * count
    last: list[Piece | None] = [None] * (count + 1)
    for p in ordered:
        if p.peak <= limit:
            held, moved, weights, number = best[p.begin]
            total = held + p.kept + p.flash, moved + p.moved, weights + p.weights, number + 1
            if total < best[p.end]:
                best[p.end], last[p.end] = total, p
    cut: list[Piece] = []
    piece = last[count]
    while piece is not None:
        cut.append(piece)
        piece = last[piece.begin]
    return cut[::-1]


def unshared(count: int, ordered: Sequence[Piece]) -> list[Piece]:
    """The cut that keeps fewest bytes and shares none; empty where there is none."""
    return within(count, [p for p in ordered if not p.shared], inf)


def least_work(count: int, ordered: Sequence[Piece], limit: float) -> tuple[float, float]:
    """What a cut of pieces whose peak is not above the limit moves and reads at least."""
    best: list[tuple[float, float]] = [(0, 0)] + [(inf, inf)] * count
    for p in ordered:
        if p.peak <= limit:
            moved, weights = best[p.begin]
            best[p.end] = min(best[p.end], (moved + p.moved, weights + p.weights))
    return best[count]


Label = tuple[tuple[int, int], int, "Label | None", "Piece | None"]
"""Bytes moved and weights read, bytes kept, and how one got there."""


def trade_offs(count: int, ordered: Sequence[Piece], limit: float, room: int) -> Iterator[list[Piece]]:
    """The cuts of which none moves and keeps less than another, fewest bytes moved first. room: bytes to be kept."""
    labels: list[list[Label]] = [[] for _ in range(count + 1)]
    labels[0].append(((0, 0), 0, None, None))
    for end in range(1, count + 1):
        arrived: list[Label] = []
        for p in ordered:
            if p.end == end and p.peak <= limit:
                arrived += [((label[0][0] + p.moved, label[0][1] + p.weights), label[1] + p.kept, label, p)
                            for label in labels[p.begin] if label[1] + p.kept <= room]
        least: float = inf
        for label in sorted(arrived, key=lambda found: found[:2]):
            if label[1] < least:
                least = label[1]
                labels[end].append(label)
    for label in labels[count]:
        cut: list[Piece] = []
        at: Label | None = label
        while at is not None and at[3] is not None:
            cut.append(at[3])
            at = at[2]
        yield cut[::-1]
