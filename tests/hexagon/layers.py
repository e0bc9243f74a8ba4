"""Convolutions at the edges of the vector kernels' blocks, and layers as networks have them."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.kernels.pair import Pair
from tests.kernels.planes import random_pads
from tests.kernels.test_sanitized import vector
from tests.kernels.twin import Geometry, Twin

CONV, DEPTHWISE = "CONV_2D", "DEPTHWISE_CONV_2D"
WIDTHS = (1, 2, 3, 4, 5, 15, 16, 17, 31, 33)
"""Around the windows that share loads, and those whose sums are kept together."""
CHANNELS = (1, 3, 4, 8, 31, 32, 33, 43, 63, 64, 65, 96, 127, 128, 129, 144, 160, 255, 257)
"""Around words, the lanes of a vector and its bytes, and what divides neither."""
SPREADS = (1.0, 1.0, 1.0, 1e-7, 1e-4, 0.02, 50.0, 1e6)
"""Mostly ordinary multipliers; left shifts, shifts to nothing."""


def layer(rng: np.random.Generator, g: Geometry, kind: str, spread: float = 1.0) -> Pair:
    twin = Twin(rng)
    twin.convolution(twin.input(g.height, g.width, g.channels), g, kind, spread=spread)
    return twin.pair()


def random_layer(rng: np.random.Generator, kind: str, channels: int, kernel: tuple[int, int]) -> Pair:
    plane = int(rng.integers(1, 4)), int(rng.choice(WIDTHS))
    out = int(rng.choice(CHANNELS)) if kind == CONV else channels * int(rng.choice([1, 1, 1, 1, 2, 3]))
    stride = (1, 1) if rng.integers(2) else (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
    dilation = (1, 1) if rng.integers(3) else (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
    spans = (kernel[0] - 1) * dilation[0] + 1, (kernel[1] - 1) * dilation[1] + 1
    pads = random_pads(rng, plane, spans)
    return layer(rng, Geometry(*plane, channels, out, kernel, stride, dilation, pads), kind, float(rng.choice(SPREADS)))


def edges(rng: np.random.Generator, channel_counts: Sequence[int] = CHANNELS) -> list[bytes]:
    """Each channel count with a kernel of one tap, with a few, with more than are laid out beforehand."""
    pairs = [random_layer(rng, kind, channels, kernel)
             for kind in (CONV, DEPTHWISE) for channels in channel_counts
             for kernel in ((1, 1), (3, 3), (1, int(rng.integers(2, 6))), (6, 6) if channels < 70 else (2, 2))]
    return [vector(pair, rng) for pair in pairs]


def of_networks(rng: np.random.Generator, kind: str) -> list[bytes]:
    """1x1 or 3x3 depthwise layers of a MobileNet with small planes."""
    sizes = ((48, 8, 16), (24, 32, 32), (12, 64, 64), (6, 128, 128), (3, 256, 256)) if kind == CONV else (
        (48, 8, 8), (24, 24, 24), (12, 64, 64), (6, 144, 144), (3, 256, 256))
    kernel, pads = ((1, 1), (0, 0, 0, 0)) if kind == CONV else ((3, 3), (1, 1, 1, 1))
    return [vector(layer(rng, Geometry(n, n, channels, out, kernel, pads=pads), kind), rng)
            for n, channels, out in sizes]
