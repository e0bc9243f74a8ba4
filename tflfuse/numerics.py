"""The integer arithmetic of TFLM's int8 kernels, bit for bit, in numpy.

The formulas are those of tensorflow/lite/kernels/internal: quantization_util.cc (QuantizeMultiplier), common.cc
(MultiplyByQuantizedMultiplier, double rounding) and gemmlowp's fixedpoint.h; of kernels/kernel_util.cc (activation
ranges, the multiplier of FULLY_CONNECTED); and of micro/kernels/{add,sub,reduce}_common.cc. A scale is a float32:
where TFLM divides floats the quotient is rounded to float32, where it divides doubles it is not.

Arrays of integers are int64 that hold int32 values.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tflite import ActivationFunctionType as Activation

from .errors import Refused
from .ir import NAME_OF_ACTIVATION, Array

INT8_MIN, INT8_MAX = -128, 127
INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
MOST_LEFT = 30
"""The largest left shift: 1 << 31 is no int32 any more."""
ADD_LEFT_SHIFT = 20


def wrapped(x: Array) -> Array:
    """int64 to the int32 with the same low 32 bits, as C's arithmetic on most machines."""
    return (x.astype(np.int64) + (1 << 31)) % (1 << 32) - (1 << 31)


def rounded(x: Any) -> Any:
    """To the nearest whole number, halves away from zero, as C's round(); keeps the float type."""
    x = np.asarray(x)
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)


def quantize_multiplier(real: Any) -> tuple[Array, Array]:
    """QuantizeMultiplier: real ~ multiplier * 2 ** (shift - 31); real: float64, any shape.

    multiplier: int32 in [2 ** 30, 2 ** 31), or 0 where real is 0 or below about 2 ** -32 (its shift is 0 then); for a
    negative real, minus that. shift: int32, positive to the left. Refused where the shift is above 30.
    """
    if not np.all(np.isfinite(real)):
        raise Refused("a scale is not finite")
    fraction, exponent = np.frexp(np.asarray(real, np.float64))
    fixed, shift = rounded(fraction * float(1 << 31)).astype(np.int64), exponent.astype(np.int64)
    full = fixed == 1 << 31
    fixed, shift = np.where(full, fixed // 2, fixed), np.where(full, shift + 1, shift)
    tiny = shift < -31
    fixed, shift = np.where(tiny, 0, fixed), np.where(tiny, 0, shift)
    if np.any(shift > MOST_LEFT):
        raise Refused("the scales are too far apart for 32-bit arithmetic")
    return fixed.astype(np.int32), shift.astype(np.int32)


def quantize_one(real: float) -> tuple[int, int]:
    """quantize_multiplier of one number."""
    multiplier, shift = quantize_multiplier(real)
    return int(multiplier), int(shift)


def saturating_rounding_doubling_high_mul(a: Any, b: Any) -> Array:
    """gemmlowp: (a * b * 2) >> 32 to the nearest, int32 by int32."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.where(nudged >= 0, nudged >> 31, -(-nudged >> 31))
    return np.where((a == INT32_MIN) & (b == INT32_MIN), INT32_MAX, high)


def rounding_divide_by_pot(x: Any, exponent: Any) -> Array:
    """gemmlowp: x / 2 ** exponent to the nearest, halves away from zero; 0 <= exponent <= 31."""
    x, exponent = np.asarray(x, np.int64), np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    return np.asarray((x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0)))


def multiply_by_quantized_multiplier(x: Any, multiplier: Any, shift: Any) -> Array:
    """MultiplyByQuantizedMultiplier, double rounding; all three int32, broadcast; -31 <= shift <= 30."""
    x, shift = np.asarray(x, np.int64), np.asarray(shift, np.int64)
    shifted = wrapped(x << np.maximum(shift, 0))
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, multiplier), np.maximum(-shift, 0))


def requantized(x: Any, multiplier: Any, shift: Any, zero_point: int, low: int = INT8_MIN,
                high: int = INT8_MAX) -> Array:
    """int8: accumulators scaled, the zero point added, clamped: the end of every int8 kernel."""
    scaled = multiply_by_quantized_multiplier(x, multiplier, shift) + zero_point
    return np.asarray(np.clip(scaled, low, high).astype(np.int8))


def activation_range(activation: int, scale: float, zero_point: int) -> tuple[int, int]:
    """CalculateActivationRangeQuantized for int8: the ends to which an operator's own activation clamps.

    Refused for an activation that TFLM's int8 kernels do not compute, or whose ends leave 32 bits.
    """
    ends: dict[int, tuple[float | None, float | None]] = {
        Activation.NONE: (None, None), Activation.RELU: (0.0, None), Activation.RELU6: (0.0, 6.0),
        Activation.RELU_N1_TO_1: (-1.0, 1.0)}
    if activation not in ends:
        raise Refused(f"TFLM's int8 kernels have no activation {NAME_OF_ACTIVATION.get(activation, activation)}")
    low, high = ends[activation]
    return (INT8_MIN if low is None else max(INT8_MIN, quantized(low, scale, zero_point)),
            INT8_MAX if high is None else min(INT8_MAX, quantized(high, scale, zero_point)))


def quantized(number: float, scale: float, zero_point: int) -> int:
    """zero_point + round(number / scale); refused where the steps leave 32 bits."""
    steps = steps_of(number, scale)
    if steps is None:
        raise Refused("the activation's ends do not fit 32 bits in steps of the scale")
    return steps + zero_point


def steps_of(number: float, scale: float) -> int | None:
    """round(number / scale), divided in float32, halves away from zero; None where that leaves 32 bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = float(rounded(np.float32(number) / np.float32(scale)))
    return int(steps) if INT32_MIN <= steps <= INT32_MAX else None


def convolution_multipliers(input_scale: float, weight_scales: Any, output_scale: float) -> tuple[Array, Array]:
    """Multipliers and shifts of CONV_2D, DEPTHWISE_CONV_2D and a FULLY_CONNECTED with scales per channel."""
    return quantize_multiplier(input_scale * np.asarray(weight_scales, np.float64) / output_scale)


def dense_multiplier(input_scale: float, weight_scale: float, output_scale: float) -> tuple[int, int]:
    """Of a FULLY_CONNECTED with one weight scale: the product of the scales is rounded to float32."""
    with np.errstate(over="ignore"):  # what is not finite then is refused
        product = float(np.float32(input_scale) * np.float32(weight_scale))
    return quantize_one(product / output_scale)


@dataclass(frozen=True)
class AddParameters:
    """What ADD multiplies its two operands, each shifted left by 20, and their sum with."""

    input_multiplier: int
    input_shift: int
    other_multiplier: int
    other_shift: int
    multiplier: int
    shift: int


def add_parameters(scale: float, other: float, output: float) -> AddParameters:
    """ADD's; in double. Refused where TFLM's own checks end the process."""
    twice = 2 * max(scale, other)
    return _smaller_than_one(scale / twice, other / twice, twice / ((1 << ADD_LEFT_SHIFT) * output))


def sub_parameters(scale: float, other: float, output: float) -> AddParameters:
    """SUB's; as ADD's, but every quotient is rounded to float32."""
    a, b, out = np.float32(scale), np.float32(other), np.float32(output)
    with np.errstate(all="ignore"):  # what is not finite then is refused
        twice = np.float32(2) * max(a, b)
        ratios = a / twice, b / twice, twice / (np.float32(1 << ADD_LEFT_SHIFT) * out)
    return _smaller_than_one(*map(float, ratios))


def _smaller_than_one(a: float, b: float, out: float) -> AddParameters:
    quantized_reals = []
    for real in (a, b, out):
        if not 0 < real < 1 or quantize_one(real)[1] > 0:
            raise Refused("the scales are too far apart for TFLM's ADD and SUB")
        quantized_reals.append(quantize_one(real))
    (am, ashift), (bm, bshift), (m, shift) = quantized_reals
    return AddParameters(am, ashift, bm, bshift, m, shift)


def scaled_addend(steps: Any, multiplier: int, shift: int) -> Array:
    """int32: an operand of ADD, as steps from its zero point, on the scale on which both are added."""
    return multiply_by_quantized_multiplier(np.asarray(steps, np.int64) << ADD_LEFT_SHIFT, multiplier, shift)


def mean_multiplier(scale: float, output: float, count: int) -> tuple[int, int]:
    """QuantizedMeanOrSum's multiplier and shift for a mean of `count` values; the multiplier may be below 2 ** 30."""
    multiplier, shift = quantize_one(scale / output)
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more
