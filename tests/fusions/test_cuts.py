"""The search over cuts against all cuts."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tflfuse.fusions.cuts import Cut, Piece, best_cut, kept, least_work, peak, smallest_peak, trade_offs, work

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
    for limit in {peak(c) for c in cuts(pieces, count)}:
        ordered = sorted((p for p in pieces if p.peak <= limit), key=lambda p: (p.end, p.begin))
        assert least_work(count, ordered, limit) == min(work(c) for c in cuts(ordered, count))


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


ONE, SHARING = Piece(0, 1, 50, 10, 10, 10), Piece(0, 1, 50, 10, 10, 10, shared=5)
LOWER, ALONE, BOTH = replace(ONE, peak=49, kept=11), replace(ONE, kept=15), replace(ONE, end=2)


@pytest.mark.parametrize("pieces, best", [
    ([ONE, replace(ONE, run="again")], ONE), ([replace(ONE, moved=11), ONE], ONE),
    ([replace(ONE, weights=11), ONE], ONE),
    ([Piece(0, 1, 50, 5, 5, 5), Piece(1, 2, 50, 5, 5, 5), BOTH], BOTH),
    ([LOWER, ONE], LOWER), ([replace(LOWER, moved=11), ONE], ONE),
    ([SHARING, ALONE], SHARING), ([replace(SHARING, moved=11), ALONE], ALONE)])
def test_of_cuts_that_need_as_much_one_is_taken(pieces: list[Piece], best: Piece) -> None:
    """The one that moves less, then reads less, has fewer pieces, a smaller peak, or is given first."""
    assert best_cut(best.end, pieces, peak).pieces == (best,)


def test_a_cut_that_cannot_be_better_is_not_placed() -> None:
    """One that was placed before, and one whose bound is above the best."""
    assert best_cut(1, [SHARING, replace(SHARING, peak=55)], lambda cut: 90) == Cut((SHARING,), 105, 1)
    assert best_cut(1, [replace(SHARING, shared=20), Piece(0, 1, 60, 9, 0, shared=20)], peak).considered == 1
    assert best_cut(1, [SHARING, replace(ONE, kept=11)], peak) == Cut((replace(ONE, kept=11),), 61, 2)
    assert best_cut(0, [], peak) == Cut((), 0, 0)
    assert (peak([]), kept([]), work([Piece(0, 1, 5, 6, 7)])) == (0, 0, (7, 0))


def test_within_a_budget_what_moves_less_is_placed_where_it_may_fit() -> None:
    """What keeps too much is not, and what moves as much as the smallest does not take its place."""
    large, small, least = replace(ONE, peak=60), ONE, Piece(0, 1, 60, 1000, 1)
    assert best_cut(1, [large, small, least], peak, 100) == Cut((small,), 60, 1)
    assert best_cut(1, [SHARING, large], peak, 100) == Cut((SHARING,), 65, 1)
    less = replace(large, kept=11, moved=9)
    tight, wide = (best_cut(1, [less, small], peak, budget) for budget in (70, 71))
    assert (tight.pieces, wide) == ((small,), Cut((less,), 71, tight.considered + 1))


def test_what_shares_nothing_may_fit_where_what_keeps_less_does_not() -> None:
    """Both move as much, and 30 bytes are kept with what they share, or 15."""
    shared, alone, small = (Piece(0, 1, 50, 10, 5, shared=20), Piece(0, 1, 50, 15, 5),
                            Piece(0, 1, 20, 5, 10, shared=5))
    found = [best_cut(1, [shared, alone, small], peak, budget) for budget in (64, 65)]
    assert [(cut.pieces, cut.arena) for cut in found] == [((small,), 30), ((alone,), 65)]


def test_a_budget_that_is_just_met_is_met() -> None:
    """Flash counts for nothing within a budget, and the file may grow for fewer bytes moved."""
    one, other = Piece(0, 1, 100, 0, 10), Piece(0, 1, 100, 0, 5, flash=10)
    assert best_cut(1, [one, other], peak).pieces == (one,)
    assert best_cut(1, [one, other], peak, budget=100).pieces == (other,)


def test_trade_offs_are_no_worse_than_each_other() -> None:
    pieces = [Piece(0, 1, 0, 5, 1), Piece(0, 1, 0, 5, 2), Piece(0, 1, 0, 4, 3), Piece(0, 1, 0, 4, 3, 1)]
    assert list(trade_offs(1, pieces, 0, 5)) == [[pieces[0]], [pieces[2]]]
    assert list(trade_offs(1, pieces, 0, 4)) == [[pieces[2]]]
    one, two = [Piece(0, 1, 0, 1, 3), Piece(1, 3, 0, 1, 1)], [Piece(0, 2, 0, 1, 1), Piece(2, 3, 0, 1, 3)]
    assert list(trade_offs(3, [one[0], two[0], one[1], two[1]], 0, 2)) == [one], "the first of two that are as good"


def test_flash_that_keeps_little_leaves_room_for_a_large_peak() -> None:
    one, other = Piece(0, 1, 10, 20, 10), Piece(0, 1, 90, 0, 1, flash=100)
    assert best_cut(1, [one, other], peak, budget=95).pieces == (other,)
    three = (Piece(0, 1, 100, 0, 0), Piece(1, 2, 10, 0, 0), Piece(2, 3, 10, 0, 0))
    assert best_cut(3, [Piece(0, 3, 10, 1, 50), *three], peak, budget=100).pieces == three
