"""More steps by which random models grow: what chains compute beside what folds look for."""
from __future__ import annotations

import numpy as np

from tflfuse.ir import Tensor

from .build import ACTIVATION, PADDING
from .random_models import FLOAT, INT8, Grown


def table_function(g: Grown, x: Tensor) -> bool:
    """PRELU with one slope, ABS, ELU; x * sigmoid(x), as converters write SiLU."""
    if x.dtype != INT8 or len(x.shape) > 4:
        return False
    name = g.pick("PRELU", "ABS", "ELU", "SILU", "SILU")
    if name == "SILU":
        gate = g.put(g.b.op("LOGISTIC", [x], x.shape, np.int8, 1 / 256, -128), 0.5)
        g.op("MUL", g.pick([x, gate], [gate, x]), x.shape, x, g.spread[x])
        return True
    slope: list[Tensor | None] = []
    if name == "PRELU":
        if len(x.shape) < 2:
            return False
        slope = [g.b.constant(np.full((1,) * (len(x.shape) - 1), g.whole(-128, 127), np.int8), 0.01 * g.near(), 3)]
    g.op(name, [x, *slope], x.shape, x, g.spread[x])
    return True


def global_pool(g: Grown, x: Tensor) -> bool:
    """AVERAGE_POOL_2D with one window, the whole plane."""
    if len(x.shape) != 4:
        return False
    n, h, w, c = x.shape
    g.op("AVERAGE_POOL_2D", [x], (n, 1, 1, c), x, None, padding=PADDING["VALID"], stride_h=g.pick(1, h),
         stride_w=g.pick(1, w), filter_height=h, filter_width=w, fused_activation_function=ACTIVATION[g.activation()])
    return True


def from_channels_first(g: Grown, x: Tensor) -> bool:
    """A graph input [1, C, H, W] that a TRANSPOSE makes [1, H, W, C]."""
    if x.dtype != INT8 or len(x.shape) != 4 or g.open:
        return False
    n, h, w, c = x.shape
    first = g.b.input((n, c, h, w), x.dtype, x.scale, x.zero_point)
    g.op("TRANSPOSE", [first, g.numbers([0, 2, 3, 1])], x.shape, x, None)
    return True


def there_and_back(g: Grown, x: Tensor) -> bool:
    """A real number, bounded by what computes it, to an integer that can hold it and back."""
    if x.dtype != FLOAT:
        return False
    name, most = g.pick(("RELU6", 6.0), ("LOGISTIC", 1.0), ("RELU", 3.0))
    bounded = g.op(name, [x], x.shape, x, g.spread[x])
    rounded = g.b.op("QUANTIZE", [bounded], x.shape, np.int8, most / 255 * g.pick(1.001, 1.1, 0.5), -128)
    g.put(g.b.op("DEQUANTIZE", [rounded], x.shape, np.float32), g.spread[bounded])
    return True


def unused_tensor(g: Grown, x: Tensor) -> bool:
    """Something that nobody reads."""
    g.b.constant(g.rng.integers(-128, 128, 5).astype(np.int8))
    return True


def inside(g: Grown, x: Tensor) -> bool:
    """A PAD, with or without channels, and the SLICE that takes a part of it."""
    if len(x.shape) != 4 or x.dtype == FLOAT:
        return False
    around = np.zeros((4, 2), np.int32)
    around[1:] = g.rng.integers(0, 3, (3, 2))
    shape = tuple(int(d) for d in np.array(x.shape) + around.sum(1))
    if int(np.prod(shape)) > 400:
        return False
    padded = g.op("PAD", [x, g.b.constant(around)], shape, x, None)
    begin = [0, *(g.whole(0, d - 1) for d in shape[1:])]
    sizes = [shape[0], *(g.whole(1, d - b) for d, b in zip(shape[1:], begin[1:]))]
    g.op("SLICE", [padded, g.numbers(begin), g.numbers(sizes)], tuple(sizes), x, None)
    return True
