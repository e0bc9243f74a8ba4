"""Chains of many stages against the operators they replace: rows through rings, residuals, strides, odd sizes."""
from __future__ import annotations

import numpy as np
import pytest

from .chains import random_chain

pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize("stages", range(2, 13))
def test_random_chains(stages: int) -> None:
    for seed in range(91):  # 1,001 chains in all
        random_chain(np.random.default_rng([stages, seed]), stages).pair().check(np.random.default_rng(seed))


def test_long_chains() -> None:
    """Far more stages than rows."""
    for stages in (40, 80):
        twin = random_chain(np.random.default_rng(stages), stages, height=5)
        twin.pair().check(np.random.default_rng(0))
