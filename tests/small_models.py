"""Models of a few operators that the tests of the command share."""
from __future__ import annotations

import numpy as np

from tests.build import Build, random_int8


def activation_model() -> bytes:
    """CONV_2D -> RELU -> CONV_2D: an exact fold, then a run for a custom operator."""
    rng = np.random.default_rng(3)
    b = Build()
    x = b.input((1, 12, 12, 4), scale=0.5, zero_point=-3)
    w = b.constant(random_int8(rng, (32, 3, 3, 4)), scale=[0.01] * 32)
    y = b.conv(x, w, b.constant(np.arange(32, dtype=np.int32), scale=[0.005] * 32), scale=0.1, zero_point=4)
    y = b.op("RELU", [y], y.shape, scale=0.1, zero_point=4)
    return b.bytes(b.conv(y, b.constant(random_int8(rng, (8, 1, 1, 32)), scale=[0.01] * 8), scale=0.3, zero_point=1))


def batch_norm_model() -> bytes:
    """CONV_2D -> MUL -> ADD: one re-quantizing fold."""
    rng = np.random.default_rng(4)
    b = Build()
    x = b.input((1, 6, 6, 4), scale=0.05, zero_point=-3)
    w = b.constant(random_int8(rng, (8, 3, 3, 4)), scale=[0.01] * 8)
    y = b.conv(x, w, scale=0.15, zero_point=4)
    y = b.op("MUL", [y, b.constant(random_int8(rng, (8,)), scale=0.01)], y.shape, scale=0.15, zero_point=3)
    return b.bytes(b.op("ADD", [y, b.constant(random_int8(rng, (8,)), scale=0.05)], y.shape, scale=0.18))


def long_model(blocks: int) -> bytes:
    """CONV_2D -> DEPTHWISE_CONV_2D -> SIN -> RELU, many times over: SIN is in no chain."""
    rng = np.random.default_rng(5)
    b = Build()
    y = b.input((1, 16, 16, 4), scale=0.05)
    for _ in range(blocks):
        w = b.constant(random_int8(rng, (8, 1, 1, 4)), scale=[0.01] * 8)
        y = b.conv(y, w, scale=0.15)
        y = b.op("RELU", [y], y.shape, scale=0.15)
        y = b.conv(y, b.constant(random_int8(rng, (4, 1, 1, 8)), scale=[0.01] * 4), scale=0.15)
        y = b.op("SIN", [y], y.shape, scale=0.05)
    return b.bytes(y)
