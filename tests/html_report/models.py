"""Models to tell about."""
from __future__ import annotations

import numpy as np

from tests.build import Build, random_int8
from tflfuse.ir import Tensor

HOSTILE = "<script>document.title='taken'</script>\"'>&amp;<img src=x onerror=alert(1)>"


def blocks(count: int, size: int = 8) -> bytes:
    """So many times conv, depthwise, conv, ADD: four operators each."""
    rng = np.random.default_rng(5)
    b = Build()
    x = b.input((1, size, size, 4), scale=0.1)
    for _ in range(count):
        y = b.conv(x, b.constant(random_int8(rng, (8, 1, 1, 4)), scale=[0.01] * 8), bias(b, 8, 0.001), scale=0.1)
        weights = b.constant(random_int8(rng, (1, 3, 3, 8)), scale=[0.02] * 8, axis=3)
        y = b.depthwise(y, weights, bias(b, 8, 0.002), scale=0.1)
        y = b.conv(y, b.constant(random_int8(rng, (4, 1, 1, 8)), scale=[0.01] * 4), bias(b, 4, 0.001), scale=0.1)
        x = b.op("ADD", [y, x], x.shape, scale=0.1)
    return b.bytes(x)


def bias(b: Build, channels: int, scale: float) -> Tensor:
    return b.constant(np.arange(channels, dtype=np.int32), scale=[scale] * channels)


def varied() -> bytes:
    """A fold that re-quantizes, a run that is fused, and a mean over channels, which is refused."""
    rng = np.random.default_rng(4)
    b = Build()
    x = b.input((1, 6, 6, 4), scale=0.05, zero_point=-3)
    y = b.conv(x, b.constant(random_int8(rng, (8, 3, 3, 4)), scale=[0.01] * 8), scale=0.15, zero_point=4)
    y = b.op("MUL", [y, b.constant(random_int8(rng, (8,)), scale=0.01)], y.shape, scale=0.15, zero_point=3)
    y = b.op("ADD", [y, b.constant(random_int8(rng, (8,)), scale=0.05)], y.shape, scale=0.18)
    y = b.conv(y, b.constant(random_int8(rng, (16, 3, 3, 8)), scale=[0.01] * 16), scale=0.3, zero_point=1)
    return b.bytes(b.op("MEAN", [y, b.constant(np.array([3], np.int32))], (1, 6, 6), scale=0.2))


def hostile() -> bytes:
    """A conv and a SPACE_TO_DEPTH whose tensors, and a custom operator, have names that are markup."""
    b = Build()
    name = HOSTILE.encode()
    x = b.input((1, 8, 8, 4), scale=0.1, name=name)
    y = b.conv(x, b.constant(random_int8(np.random.default_rng(1), (8, 1, 1, 4)), scale=[0.01] * 8), scale=0.1)
    y.name = b"y" + name
    y = b.op("L2_NORMALIZATION", [y], y.shape, scale=0.1)
    y.name = b"z" + name
    y = b.op(f"CUSTOM:{HOSTILE}", [y], y.shape, scale=0.1)
    return b.bytes(y)
