"""The energy estimate against sums by hand."""
from __future__ import annotations

import pytest

from tflfuse.energy import estimates, per_byte
from tflfuse.traffic import Flow


@pytest.mark.parametrize("size, picojoules", [
    (8 << 10, 10 / 8), (32 << 10, 20 / 8), (1 << 20, 100 / 8), (1, 10 / 8), (5 << 20, 100 / 8)])
def test_published_figures_are_taken_as_they_are(size: int, picojoules: float) -> None:
    assert per_byte(size) == pytest.approx(picojoules, rel=1e-12)


def test_between_them_a_larger_memory_costs_more_and_the_middle_is_the_geometric_one() -> None:
    assert per_byte(16 << 10) == pytest.approx((10 * 20) ** 0.5 / 8)
    costs = [per_byte(size << 10) for size in range(8, 1025)]
    assert costs == sorted(costs)


def test_all_bytes_count_once() -> None:
    before, after = Flow(read=600_000, written=400_000), Flow(100_000, 100_000, 300_000, 300_000)
    same, near = estimates(before, after, (), ((400_000, 8 << 10), (200_000, 32 << 10)))
    assert [same.before, same.after] == pytest.approx([2.5, 2.0])
    assert near.before == pytest.approx(12.5)
    assert near.after == pytest.approx(0.2 * 12.5 + 0.4 * 1.25 + 0.2 * 2.5)
