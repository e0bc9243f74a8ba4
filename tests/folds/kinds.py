"""One operator of each kind that computes sums or products, in each kind of numbers."""
from __future__ import annotations

import numpy as np

from tflfuse.ir import Array, Tensor

from ..build import PADDING, Build

FLOAT, PER_CHANNEL, PER_TENSOR, INT16 = "float32", "int8 per channel", "int8 per tensor", "int16x8"
NUMBERS = (FLOAT, PER_CHANNEL, PER_TENSOR, INT16)
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
ELEMENTWISE = ("ADD", "SUB", "MUL")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
AXIS = {"DEPTHWISE_CONV_2D": 3}
FILTER = {"CONV_2D": (4, 3, 3, 3), "DEPTHWISE_CONV_2D": (1, 3, 3, 6), "FULLY_CONNECTED": (4, 12),
          "TRANSPOSE_CONV": (4, 3, 3, 3)}
INPUT_SCALE = 1 / 32
INPUT_SCALE_16 = 1 / 8192
Quantized = tuple[float, int]


def computed(b: Build, kind: str, numbers: str, out: Quantized | None = None, activation: str = "NONE") -> Tensor:
    """The result of an operator on new inputs of some [-4, 4], about as wide as that itself.

    out: scale and zero point of the result; by default 1/32 and -5, in int16x8 1/8192 and 0.
    """
    out = out or ((INPUT_SCALE_16, 0) if numbers == INT16 else (INPUT_SCALE, -5))
    scale, zero = (None, 0) if numbers == FLOAT else out
    if kind in WEIGHTED:
        return weighted(b, kind, numbers, scale, zero, activation)
    x = input_of(b, (1, 6, 6, 3), numbers, -7)
    if kind in POOLS:
        # a pool's scale is its input's: TFLM copies integers
        x.quantization = b.tensor((1,), scale=scale, zero_point=zero).quantization if scale else None
        return b.pool(kind, x, 2, scale=scale, zero_point=zero, activation=activation)
    other = input_of(b, (1, 6, 6, 3), numbers, 9)
    return b.op(kind, [x, other], x.shape, scale=scale, zero_point=zero, activation=activation)


def input_of(b: Build, shape: tuple[int, ...], numbers: str, zero_point: int) -> Tensor:
    if numbers == FLOAT:
        return b.input(shape)
    if numbers == INT16:
        return b.input(shape, np.int16, INPUT_SCALE_16)
    return b.input(shape, scale=INPUT_SCALE, zero_point=zero_point)


def weighted(b: Build, kind: str, numbers: str, scale: float | None, zero: int, activation: str) -> Tensor:
    shape = FILTER[kind]
    x = input_of(b, (1, 12) if kind == "FULLY_CONNECTED" else (1, 6, 6, 3), numbers, -7)
    w, bias = weights_of(b, kind, numbers, None if x.quantization is None else x.scale)
    if kind == "FULLY_CONNECTED":
        return b.dense(x, w, bias, scale=scale, zero_point=zero, activation=activation)
    if kind == "TRANSPOSE_CONV":
        size = b.constant(np.array([1, 12, 12, shape[0]], np.int32))
        return b.op(kind, [size, w, x, bias], (1, 12, 12, shape[0]), x.dtype, scale, zero, activation=activation,
                    padding=PADDING["SAME"], stride_h=2, stride_w=2)
    return b.conv(x, w, bias, kind=kind, scale=scale, zero_point=zero, activation=activation)


def weights_of(b: Build, kind: str, numbers: str, input_scale: float | None) -> tuple[Tensor, Tensor]:
    """Filter and bias, so that sums over the window stay about as large as the input."""
    rng = np.random.default_rng(len(kind))
    shape, axis = FILTER[kind], AXIS.get(kind, 0)
    channels, window = shape[axis], int(np.prod(shape)) // shape[axis]
    if input_scale is None:
        return b.constant(rng.normal(0, window ** -0.5, shape).astype(np.float32)), b.constant(
            rng.normal(0, 1, channels).astype(np.float32))
    integers: Array = rng.integers(-127, 128, shape).astype(np.int8)
    count = 1 if numbers == PER_TENSOR or kind == "FULLY_CONNECTED" and numbers == INT16 else channels
    scale = (rng.uniform(0.7, 1.0, count) / 73 / window ** 0.5).astype(np.float32)
    w = b.constant(integers, scale if count > 1 else float(scale[0]), axis=axis)
    sums = np.float32(input_scale) * scale
    bias = np.round(rng.normal(0, 1, channels) / sums).astype(np.int64 if numbers == INT16 else np.int32)
    return w, b.constant(bias, sums if count > 1 else float(sums[0]))
