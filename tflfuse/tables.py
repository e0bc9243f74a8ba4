"""The int8 functions of one number as tables of 256 entries, and the operators that they come from.

A program is a tuple of Elementwise steps on one int8 input: value 0 is the input, value k the output of step k. Its
last value is the table. RELU: `(Elementwise("RELU", (0,), scale, zero_point),)`; SiLU is LOGISTIC then MUL of both.
Each operator computes what its TFLM kernel computes; RELU_N1_TO_1 and RELU_0_TO_1, which TFLM lacks, what LiteRT's
do.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import fixed_point
from .errors import Refused
from .ir import Array
from .numerics import (INT8_MAX, INT8_MIN, activation_range, add_parameters, multiply_by_quantized_multiplier,
                       quantize_multiplier, quantize_one, quantized, requantized, rounded, rounding_divide_by_pot,
                       scaled_addend, sub_parameters)

CONSTANT = -1
"""The operand number of a step's constant."""


@dataclass(frozen=True)
class Scalar:
    """A quantized number: real = scale * (q - zero_point)."""

    q: int
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Elementwise:
    """One builtin operator of a program.

    operands: numbers of earlier values, or CONSTANT. scale, zero_point: of its output. activation: an
    ActivationFunctionType. alpha: LEAKY_RELU's.
    """

    name: str
    operands: tuple[int, ...]
    scale: float
    zero_point: int
    constant: Scalar | None = None
    activation: int = 0
    alpha: float = 0.0


@dataclass(frozen=True)
class Operand:
    """q: int64 [256] or one number, with its quantization."""

    q: Array
    scale: float
    zero_point: int

    @property
    def steps(self) -> Array:
        return self.q - self.zero_point


Program = tuple[Elementwise, ...]


def table(program: Program, scale: float, zero_point: int) -> Array:
    """int8 [256], index x + 128: the program on every int8 input of that scale and zero point.

    Refused where TFLM would refuse one of its operators or end the process.
    """
    values = [Operand(np.arange(INT8_MIN, INT8_MAX + 1), scale, zero_point)]
    for step in program:
        if step.name not in FUNCTIONS:
            raise Refused(f"TFLM has no int8 {step.name} of one number")
        operands = [_constant(step) if o == CONSTANT else values[o] for o in step.operands]
        with np.errstate(over="ignore", invalid="ignore"):
            result = np.broadcast_to(FUNCTIONS[step.name](step, *operands), (256,))
        if not np.isfinite(result).all():
            raise Refused(f"the scales are too far apart for TFLM's {step.name}")
        values.append(Operand(result.astype(np.int64), step.scale, step.zero_point))
    return values[-1].q.astype(np.int8)


def _constant(step: Elementwise) -> Operand:
    if step.constant is None:
        raise Refused(f"{step.name} has no constant operand")
    return Operand(np.array(step.constant.q, np.int64), step.constant.scale, step.constant.zero_point)


def _saturated(x: Array) -> Array:
    return np.asarray(np.clip(x, INT8_MIN, INT8_MAX))


def _float_ratio(a: float, b: float) -> float:
    """a / b rounded to float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(a) / np.float32(b))


def _quantize(step: Elementwise, x: Operand) -> Array:
    return requantized(x.steps, *quantize_one(x.scale / step.scale), step.zero_point)


def _clamped(low: float, high: float | None) -> Callable[[Elementwise, Operand], Array]:
    """Requantize, then clamp at ends given as real numbers in the output's steps."""
    def relu(step: Elementwise, x: Operand) -> Array:
        least = max(INT8_MIN, quantized(low, step.scale, step.zero_point))
        most = INT8_MAX if high is None else min(INT8_MAX, quantized(high, step.scale, step.zero_point))
        return requantized(x.steps, *quantize_one(_float_ratio(x.scale, step.scale)), step.zero_point, least, most)
    return relu


def _relu6(step: Elementwise, x: Operand) -> Array:
    """TFLM clamps the integers as they are, whatever the output's scale."""
    six = min(INT8_MAX, max(INT8_MIN, quantized(6.0, x.scale, x.zero_point)))
    return np.where(x.q > six, six, np.maximum(x.q, x.zero_point))


def _leaky_relu(step: Elementwise, x: Operand) -> Array:
    with np.errstate(over="ignore"):
        falling = float(np.float32(x.scale) * np.float32(step.alpha) / np.float32(step.scale))
    multiplier, shift = quantize_one(falling)
    identity = multiply_by_quantized_multiplier(x.steps, *quantize_one(_float_ratio(x.scale, step.scale)))
    sloped = multiply_by_quantized_multiplier(x.steps, abs(multiplier), shift) * (-1 if multiplier < 0 else 1)
    return _saturated(np.where(x.steps >= 0, identity, sloped) + step.zero_point)


def _prelu(step: Elementwise, x: Operand, slope: Operand) -> Array:
    rising = multiply_by_quantized_multiplier(x.steps, *quantize_one(x.scale / step.scale))
    falling = multiply_by_quantized_multiplier(x.steps * slope.steps, *quantize_one(x.scale * slope.scale / step.scale))
    return _saturated(np.where(x.steps >= 0, rising, falling) + step.zero_point)


def _abs(step: Elementwise, x: Operand) -> Array:
    size = np.abs(x.steps)
    if x.scale != step.scale:
        size = multiply_by_quantized_multiplier(size, *quantize_one(_float_ratio(x.scale, step.scale)))
    return _saturated(size + step.zero_point)


def _to_fixed_point(x: Operand) -> tuple[Array, Array, Array]:
    """The input with 4 integer bits, and where it lies below and above what that can hold."""
    fraction, shift = np.frexp(x.scale * float(1 << 27))
    multiplier = int(rounded(fraction * float(1 << 31)))
    if shift < 0:
        raise Refused("the input's scale is too small for TFLM's LOGISTIC and TANH")
    radius = int(15 * (1 << 27) // (1 << int(shift)))
    low, high = x.steps <= -radius, x.steps >= radius
    inside = np.where(low | high, 0, x.steps)
    fixed = multiply_by_quantized_multiplier(inside, multiplier, min(int(shift), 31))
    return fixed, low, high


def _logistic(step: Elementwise, x: Operand) -> Array:
    if step.zero_point != INT8_MIN:
        raise Refused("TFLM's LOGISTIC wants an output zero point of -128")
    fixed, low, high = _to_fixed_point(x)
    inside = _saturated(rounding_divide_by_pot(fixed_point.logistic(fixed), 23) - 128)
    return np.where(low, INT8_MIN, np.where(high, INT8_MAX, inside))


def _tanh(step: Elementwise, x: Operand) -> Array:
    fixed, low, high = _to_fixed_point(x)
    inside = _saturated(rounding_divide_by_pot(fixed_point.tanh(fixed), 24))
    return np.where(low, INT8_MIN, np.where(high, INT8_MAX, inside))


def _hard_swish(step: Elementwise, x: Operand) -> Array:
    """x * relu6(x + 3) / 6 in 16 bits: `relu` is (relu6(x + 3) - 3) / 3 with 15 fraction bits until it is halved."""
    fine = np.float32(1 / 128) * np.float32(x.scale)
    out_multiplier, out_exponent = quantize_one(_float_ratio(float(fine), step.scale))
    multiplier, exponent = quantize_one(_float_ratio(float(fine), float(np.float32(3.0) / np.float32(32768.0))))
    if out_exponent > 0 or min(out_exponent, exponent) < -15:  # more than 16-bit numbers can be shifted
        raise Refused("the scales are too far apart for TFLM's HARD_SWISH")
    steps = x.steps << 7
    steps = (steps + (1 << 15)) % (1 << 16) - (1 << 15)
    scaled = _high_mul_16(steps, _upper_half(out_multiplier))
    relu = _saturated_16(steps << (exponent - 1)) if exponent > 0 else steps
    relu = _high_mul_16(relu, _upper_half(multiplier))
    if exponent > 0:
        relu = _saturated_16(relu << 1)
    if exponent < 0:
        relu = rounding_divide_by_pot(relu, -exponent)
    relu = (relu + (1 << 15)) >> 1
    product = relu * scaled
    truncated = np.where(product >= 0, product >> 15, -(-product >> 15))
    return _saturated(rounding_divide_by_pot(truncated, -out_exponent) + step.zero_point)


def _upper_half(multiplier: int) -> int:
    """DownScaleInt32ToInt16Multiplier: 31 fraction bits to 15."""
    return min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1)


def _high_mul_16(a: Array, b: int) -> Array:
    """gemmlowp's SaturatingRoundingDoublingHighMul of int16; b is not negative."""
    nudged = a * b + np.where(a * b >= 0, 1 << 14, 1 - (1 << 14))
    return np.where(nudged >= 0, nudged >> 15, -(-nudged >> 15))


def _saturated_16(x: Array) -> Array:
    return np.asarray(np.clip(x, -(1 << 15), (1 << 15) - 1))


def _elu(step: Elementwise, x: Operand) -> Array:
    """In float32; exp is rounded from float64, as a good expf is but for rare last bits that rounding to int8 hides."""
    real = np.float32(x.scale) * x.steps.astype(np.float32)
    curved = np.exp(np.minimum(real, 0).astype(np.float64)).astype(np.float32) - np.float32(1)
    scaled = rounded(np.where(real < 0, curved, real) * (np.float32(1) / np.float32(step.scale)))
    return _saturated((scaled + np.float32(step.zero_point)).astype(np.float64))


def _sum(sign: int) -> Callable[[Elementwise, Operand, Operand], Array]:
    def add(step: Elementwise, a: Operand, b: Operand) -> Array:
        p = (add_parameters if sign > 0 else sub_parameters)(a.scale, b.scale, step.scale)
        total = (scaled_addend(a.steps, p.input_multiplier, p.input_shift)
                 + sign * scaled_addend(b.steps, p.other_multiplier, p.other_shift))
        ends = activation_range(step.activation, step.scale, step.zero_point)
        return requantized(total, p.multiplier, p.shift, step.zero_point, *ends)
    return add


def _mul(step: Elementwise, a: Operand, b: Operand) -> Array:
    ends = activation_range(step.activation, step.scale, step.zero_point)
    return requantized(a.steps * b.steps, *quantize_multiplier(a.scale * b.scale / step.scale), step.zero_point, *ends)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "QUANTIZE": _quantize, "RELU": _clamped(0.0, None), "RELU6": _relu6, "RELU_N1_TO_1": _clamped(-1.0, 1.0),
    "RELU_0_TO_1": _clamped(0.0, 1.0), "LEAKY_RELU": _leaky_relu, "PRELU": _prelu, "LOGISTIC": _logistic,
    "TANH": _tanh, "HARD_SWISH": _hard_swish, "ABS": _abs, "ELU": _elu, "ADD": _sum(1), "SUB": _sum(-1), "MUL": _mul}
"""By operator name: (step, operands...) -> the output integers."""
