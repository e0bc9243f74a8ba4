"""The search over cuts against all cuts."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tflfuse.fusions.cuts import Piece, best_cut, kept, peak, smallest_peak, trade_offs, work

Rng = np.random.Generator


def random_pieces(rng: Rng, count: int) -> list[Piece]:
    """Single operators, and half of the longer runs, which share something."""
    spans = [(i, j) for i in range(count) for j in range(i + 1, count + 1) if j == i + 1 or rng.random() < 0.5]
    shared = int(rng.integers(0, 60))
    pieces = [Piece(i, j, *(int(n) for n in rng.integers(0, [60, 30, 50, 9]))) for i, j in spans]
    return [replace(p, shared=shared) if p.end > p.begin + 1 else p for p in pieces]


def cuts(pieces: Sequence[Piece], count: int, begin: int = 0) -> Iterator[list[Piece]]:
    if begin == count:
        yield []
    for piece in pieces:
        if piece.begin == begin:
            yield from ([piece, *rest] for rest in cuts(pieces, count, piece.end))


def arena(cut: Sequence[Piece]) -> int:
    return peak(cut) + kept(cut)


@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_arena(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    pieces = random_pieces(rng, count)
    found = best_cut(count, pieces, peak)
    assert found.arena == arena(found.pieces) == min(map(arena, cuts(pieces, count)))
    ordered = sorted(pieces, key=lambda p: (p.end, p.begin))
    assert smallest_peak(count, ordered) == min(map(peak, cuts(pieces, count)))


@pytest.mark.parametrize("seed", range(40))
def test_the_least_work_within_a_budget(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    pieces = random_pieces(rng, count)
    least = min(map(arena, cuts(pieces, count)))
    for budget in (least, least + 10, least + 60, 10 ** 6):
        found = best_cut(count, pieces, peak, budget)
        assert found.arena == arena(found.pieces) <= budget
        assert work(found.pieces) == min(work(c) for c in cuts(pieces, count) if arena(c) <= budget)
    assert best_cut(count, pieces, peak, least - 1).arena == least


def test_a_cut_that_cannot_be_placed_is_not_taken() -> None:
    """The lower bound of the first is smaller, but in memory it takes more."""
    pieces = [Piece(0, 2, 50, 10, 0), Piece(0, 1, 60, 2, 0), Piece(1, 2, 60, 2, 0)]
    found = best_cut(2, pieces, lambda cut: 90 if len(cut) == 1 else 56)
    assert found.arena == 60 and len(found.pieces) == 2 and found.considered == 2


@pytest.mark.parametrize("seed", range(20))
def test_flash_has_its_price(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    pieces = [replace(p, flash=int(rng.integers(0, 40))) for p in random_pieces(rng, count)]
    found = best_cut(count, pieces, peak)
    assert found.arena == arena(found.pieces)
    priced = [arena(c) + sum(p.flash for p in c) for c in cuts(pieces, count)]
    assert found.arena + sum(p.flash for p in found.pieces) == min(priced)
    least = min(map(arena, cuts(pieces, count)))
    assert best_cut(count, pieces, peak, least).arena == least, "a budget that can be kept is kept, whatever the flash"


def test_of_two_that_need_as_much_the_one_that_moves_less_is_taken() -> None:
    """The one with the larger peak is looked at after the other."""
    one, other = Piece(0, 1, 50, 50, 20), Piece(0, 1, 60, 40, 10)
    assert best_cut(1, [one, other], peak).pieces == (other,)


def test_a_budget_that_is_just_met_is_met() -> None:
    """Flash counts for nothing within a budget, and the file may grow for fewer bytes moved."""
    one, other = Piece(0, 1, 100, 0, 10), Piece(0, 1, 100, 0, 5, flash=10)
    assert best_cut(1, [one, other], peak).pieces == (one,)
    assert best_cut(1, [one, other], peak, budget=100).pieces == (other,)


def test_trade_offs_are_no_worse_than_each_other() -> None:
    pieces = [Piece(0, 1, 0, 5, 1), Piece(0, 1, 0, 5, 2), Piece(0, 1, 0, 4, 3), Piece(0, 1, 0, 4, 3, 1)]
    assert list(trade_offs(1, pieces, 0, 5)) == [[pieces[0]], [pieces[2]]]
    assert list(trade_offs(1, pieces, 0, 4)) == [[pieces[2]]]
