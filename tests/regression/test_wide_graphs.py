"""Hundreds of operators side by side, each of which may run next: once a search of minutes for their best order."""
from __future__ import annotations

import pytest

from tests.build import Build
from tflfuse import order
from tflfuse.plan import View


def test_the_search_for_an_order_ends_by_what_it_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Build()
    x = b.input((1, 16))
    model = b.model(*(b.op("RELU", [x], x.shape) for _ in range(300)))
    tried = 0
    following = order._next

    def counted(*given: object) -> list[tuple[int, int, int]]:
        nonlocal tried
        found = following(*given)  # type: ignore[arg-type]
        tried += len(found)
        return found

    monkeypatch.setattr(order, "_next", counted)
    assert order.least_order(View.of(model, 0)) is None
    assert 1000 < tried < 2 * order.MOST_TRIED
