"""Sizes at the edges of blocks and planes."""
from __future__ import annotations

import numpy as np

CHANNELS = (*range(1, 18), 31, 32, 33)
"""Around the blocks of 4 and 16 in the kernels, and of 32 in others."""


def random_plane(rng: np.random.Generator, most: int = 9) -> tuple[int, int]:
    """1x1, 1xN, Nx1 and NxM, each as often."""
    n, m = int(rng.integers(2, most)), int(rng.integers(2, most))
    return ((1, 1), (1, n), (n, 1), (n, m))[int(rng.integers(4))]


def random_pads(rng: np.random.Generator, plane: tuple[int, int], spans: tuple[int, int]) -> tuple[int, int, int, int]:
    """Up to a span on each side, and what is needed for the plane to hold one window."""
    pads: list[int] = []
    for size, span in zip(plane, spans, strict=True):
        before = int(rng.integers(0, span + 1)) if rng.integers(2) else 0
        lacking = max(0, span - size - before)
        pads += [before, lacking + (int(rng.integers(0, span + 1)) if rng.integers(2) else 0)]
    return pads[0], pads[1], pads[2], pads[3]
