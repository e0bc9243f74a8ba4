"""Memory plans of random graphs; scripts/prove checks more of them."""
from __future__ import annotations

import pytest

from .checks import check_graph

GRAPHS, PARTS = 200, 8


@pytest.mark.parametrize("part", range(PARTS))
def test_plans_of_random_graphs(part: int) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    for seed in range(part, GRAPHS, PARTS):
        check_graph(seed)
