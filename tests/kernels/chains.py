"""Random chains of several stages."""
from __future__ import annotations

import numpy as np

from .planes import random_pads
from .twin import Geometry, Point, Twin

CHANNELS = (1, 2, 3, 4, 5, 8, 9, 16, 17)
ACTIVATIONS = ("NONE", "RELU", "RELU6")


def random_chain(rng: np.random.Generator, stages: int, height: int | None = None) -> Twin:
    """As many stages, each reading the one before; additions read an earlier value of the same shape too.

    A mean or a global pool, of one pixel, is only drawn for one of the last three.
    """
    twin = Twin(rng)
    plane = height or int(rng.integers(1, 14)), int(rng.integers(1, 14))
    channels = int(rng.choice(CHANNELS))
    point = twin.input(*plane, channels)
    if rng.integers(3) == 0:
        point = twin.add(point, twin.input(*plane, channels))
    while len(twin.links) < stages:
        point = next_stage(twin, point, last=stages - len(twin.links) <= 3)
    return twin


def next_stage(twin: Twin, x: Point, last: bool) -> Point:
    rng, v = twin.rng, x.value
    activation = str(rng.choice(ACTIVATIONS))
    partners = [p for p in twin.points if p.value.plane == v.plane and p is not x and balanced(p, x)]
    kinds = ["conv", "conv", "depthwise", "depthwise", "pointwise", "pointwise", "pool", "table", "constant"]
    kinds += ["multiply", "surround", "slice"]
    kinds += ["add"] * (6 if partners else 0) + ["mean", "global"] * last
    kind = str(rng.choice(kinds))
    if kind in ("conv", "depthwise", "pointwise"):
        return convolution(twin, x, kind, activation)
    if kind == "pool":
        kernel = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        stride = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        return twin.pool(x, str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])), kernel, stride, "SAME", activation)
    if kind == "table":
        return twin.requantize(x)
    if kind == "constant":
        return twin.add_constant(x, twin.random_int8(int(rng.choice([1, v.channels]))), activation)
    if kind == "multiply":
        return twin.multiply(x, twin.random_int8(v.channels), activation)
    if kind == "surround":
        return twin.random_surround(x)
    if kind == "slice":
        return twin.random_slice(x)
    if kind == "add":
        return twin.add(x, partners[int(rng.integers(len(partners)))], activation)
    return twin.mean(x) if kind == "mean" else twin.global_average(x, activation)


def balanced(a: Point, b: Point) -> bool:
    """Whether ADD can scale the two: TFLM's own checks refuse what is too far apart."""
    return 1e-3 < a.value.scale / b.value.scale < 1e3


def convolution(twin: Twin, x: Point, kind: str, activation: str) -> Point:
    rng, v = twin.rng, x.value
    kernel = (1, 1) if kind == "pointwise" else (int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    stride = (1, 1) if kind == "pointwise" or rng.integers(2) else (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    dilation = (1, 1) if rng.integers(4) else (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
    spans = (kernel[0] - 1) * dilation[0] + 1, (kernel[1] - 1) * dilation[1] + 1
    pads = (0, 0, 0, 0) if kind == "pointwise" else random_pads(rng, (v.height, v.width), spans)
    multiplier = int(rng.integers(1, 4)) if rng.integers(3) == 0 and v.channels < 17 else 1
    out = v.channels * multiplier if kind == "depthwise" else int(rng.choice([v.channels, rng.choice(CHANNELS)]))
    g = Geometry(v.height, v.width, v.channels, out, kernel, stride, dilation, pads)
    return twin.convolution(x, g, "DEPTHWISE_CONV_2D" if kind == "depthwise" else "CONV_2D", activation,
                            spread=float(rng.choice([0.5, 1.0])))
