"""Layers at the edges of what the kernels for the DSP instructions do together."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.kernels.pair import Pair
from tests.kernels.planes import random_pads
from tests.kernels.twin import Geometry, Twin

CONV, DEPTHWISE = "CONV_2D", "DEPTHWISE_CONV_2D"
ELEMENTS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 20, 44, 47, 48, 49, 52, 60, 100, 127, 140, 144, 145, 148, 192, 196, 300,
            600)
"""Around the four elements in a word and the sixteen of a turn; the 48 that are widened, or gathered with more windows,
and the 144 that are zipped, whole; pieces of those that are longer."""
OUTPUTS = (1, 4, 7, 8, 9, 12, 15, 16, 17, 23, 24, 32, 40)
"""Around the eight channels computed together and the sixteen whose sums are kept; others overlap them."""
WIDTHS = (1, 2, 3, 4, 5, 8, 39, 40, 41, 80, 81, 83)
"""Pairs of windows, and strips of depthwise sums."""
CHANNELS = (1, 3, 4, 5, 8, 15, 16, 17, 33)
"""Around the lanes of 32 bits and of 8 in a vector, for what goes channel by channel."""
LARGE = (73, 70)
"""A plane of more pixels than can be divided by with a product of 32 bits."""
SPREADS = (1.0, 1.0, 1.0, 1.0, 1e-7, 1e-4, 0.02, 50.0, 1e6, 1e9)
"""Mostly ordinary multipliers; left shifts, shifts to nothing."""
ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6")


def layer(rng: np.random.Generator, kind: str, g: Geometry) -> Pair:
    twin = Twin(rng)
    x = twin.input(g.height, g.width, g.channels)
    twin.convolution(x, g, kind, str(rng.choice(ACTIVATIONS)), spread=float(rng.choice(SPREADS)))
    return twin.pair()


def convolution(rng: np.random.Generator, elements: int, out: int, width: int) -> Pair:
    """A window of so many elements, in one run or in several."""
    kernels = [k for k in ((1, 1), (1, 1), (2, 2), (3, 1), (1, 4), (5, 1), (2, 5), (7, 1))
               if elements % (k[0] * k[1]) == 0]
    kernel = kernels[int(rng.integers(len(kernels)))]
    stride, dilation = (int(rng.integers(1, 3)), int(rng.integers(1, 3))), (1, int(rng.choice([1, 1, 2])))
    plane = kernel[0] + int(rng.integers(0, 2)), (width - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1
    pads = (1, 1, 1, 0) if kernel[0] > 1 and rng.integers(2) else (0, 0, 0, 0)
    return layer(rng, CONV, Geometry(*plane, elements // (kernel[0] * kernel[1]), out, kernel, stride, dilation, pads))


def depthwise(rng: np.random.Generator, channels: int, width: int, kernel: tuple[int, int]) -> Pair:
    stride = int(rng.integers(1, 4)) if rng.integers(4) == 0 else int(rng.integers(1, 3))
    dilation = int(rng.choice([1, 1, 1, 2]))
    plane = int(rng.integers(1, 5)), (width - 1) * stride + 1
    spans = (kernel[0] - 1) * dilation + 1, (kernel[1] - 1) * dilation + 1
    pads = (1, 1, 1, 1) if max(spans) <= 3 else random_pads(rng, plane, spans)
    out = channels * int(rng.choice([1, 1, 1, 2, 8]))
    return layer(rng, DEPTHWISE, Geometry(*plane, channels, out, kernel, (stride, stride), (dilation, dilation), pads))


def addition(rng: np.random.Generator, n: int, one_scale: bool) -> Pair:
    """one_scale: of both operands, which are the same then."""
    twin = Twin(rng)
    x = twin.input(1, 1, n)
    twin.add(x, x if one_scale else twin.input(1, 1, n))
    return twin.pair()


def pool(rng: np.random.Generator, channels: int, kernel: tuple[int, int], kind: str) -> Pair:
    twin = Twin(rng)
    x = twin.input(kernel[0] + int(rng.integers(0, 2)), kernel[1] + int(rng.integers(0, 4)), channels)
    padding, stride = str(rng.choice(["SAME", "VALID"])), (1, int(rng.integers(1, 3)))
    twin.pool(x, kind, kernel, stride, padding, str(rng.choice(ACTIVATIONS)))
    return twin.pair()


def mean(rng: np.random.Generator, channels: int, plane: tuple[int, int]) -> Iterator[Pair]:
    """Rounded to the nearest; scaled, to the left too."""
    twin = Twin(rng)
    twin.global_average(twin.input(*plane, channels), str(rng.choice(ACTIVATIONS)))
    yield twin.pair()
    twin = Twin(rng)
    twin.mean(twin.input(*plane, channels), float(rng.choice([1.0, 0.02, 50.0])))
    yield twin.pair()


def constants(rng: np.random.Generator, channels: int) -> Iterator[Pair]:
    """A product and a sum of a row and one constant pixel."""
    twin = Twin(rng)
    twin.multiply(twin.input(2, 3, channels), twin.random_int8(channels), str(rng.choice(ACTIVATIONS)))
    yield twin.pair()
    twin = Twin(rng)
    twin.add_constant(twin.input(2, 3, channels), twin.random_int8(channels), str(rng.choice(ACTIVATIONS)))
    yield twin.pair()


def edges(rng: np.random.Generator) -> list[Pair]:
    pairs = [convolution(rng, elements, out, int(rng.choice(WIDTHS[:6]))) for elements in ELEMENTS for out in OUTPUTS]
    pairs += [depthwise(rng, int(rng.choice([1, 2, 3, 4, 5, 8, 9])), width, kernel)
              for width in WIDTHS for kernel in ((3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (1, 4), (3, 2), (2, 3))]
    pairs += [addition(rng, n, k == 0) for n in (1, 2, 3, 4, 5, 64, 65) for k in range(4)]
    for channels in CHANNELS:
        pairs += [pool(rng, channels, kernel, kind)
                  for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D") for kernel in ((1, 1), (2, 2), (3, 2), (1, 7))]
        pairs += [*mean(rng, channels, (3, 5)), *mean(rng, channels, (1, 1)), *constants(rng, channels)]
    return [*pairs, *mean(rng, 5, LARGE)]
