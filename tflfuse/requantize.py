"""Integer weights and biases for given real ones, within what TFLM's kernels can hold, and the error that they make.

Errors are mean squares over an assumed input: every element independent and uniform over its integer range. Real inputs
are narrower, which favours neither side: the error of a weight and the rounding of an inner tensor are both relative to
the range that the quantization was made for.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tflite import TensorType

from .clamps import limits
from .errors import Refused
from .ir import Array, Operator, Tensor
from .linear import Linear

TINY = float(np.finfo(np.float32).tiny)
MOST = float(np.finfo(np.float32).max)
SMALLEST_MULTIPLIER = 2.0 ** -31
"""Below 2^-32 TFLM's QuantizeMultiplier makes it zero, bias and all; the scale is raised to stay clear of that."""

POINTS = np.linspace(-3, 3, 1501)
DENSITY = np.exp(-POINTS ** 2 / 2).astype(np.float32).astype(np.float64)[:, None]
"""A sum of many inputs is close to normal: where to look at it, in standard deviations, and how much each counts.

Rounded to float32, because the last bits of an exponential differ from one machine to the next."""

WORSE = "the result would be further from the real-valued function than the original"
WORSE_ONE_SCALE = "re-quantizing the weights to one scale would bring the result further from the real-valued function"


@dataclass(frozen=True)
class Kernel:
    """What TFLM computes sums of integers with.

    low, high: the ends of input and output integers. limit: the sum's magnitude stays below it. wide: 64-bit sums,
    scaled by a multiplier of 16 bits (common.cc: MultiplyByQuantizedMultiplier for int64): up to 2^-15 off, a whole
    step at the ends of an int16 output. That alone can make a folded operator worse or better than the original.
    """

    low: int
    high: int
    limit: float
    wide: bool

    @staticmethod
    def of(operator: Linear) -> Kernel:
        wide = operator.bias_type == TensorType.INT64
        return Kernel(*limits(operator.x), 2.0 ** (47 if wide else 31), wide)

    def effective(self, multiplier: Array) -> Array:
        """The real factors that the kernel's fixed-point multipliers stand for."""
        fraction, exponent = np.frexp(multiplier)
        full = np.rint(fraction * 2.0 ** 31)
        reduced = np.where(full < 0x7FFF0000, np.floor((full + 2 ** 15) / 2 ** 16), 0x7FFF) * 2.0 ** 16
        factors: Array = np.ldexp(reduced if self.wide else full, exponent - 31)
        return factors


@dataclass(frozen=True)
class Inputs:
    """mean and variance of one input's real value; reach: the largest |q - zero point|; scale of its integers."""

    mean: float
    variance: float
    reach: int
    scale: float

    @staticmethod
    def of(x: Tensor, kernel: Kernel) -> Inputs:
        scale, zero = x.scale, x.zero_point
        count = kernel.high - kernel.low + 1
        mean = scale * ((kernel.low + kernel.high) / 2 - zero)
        reach = max(kernel.high - zero, zero - kernel.low)
        return Inputs(mean, scale ** 2 * (count ** 2 - 1) / 12, reach, scale)


@dataclass(frozen=True)
class Fitted:
    """integers: float64 [channels, weights]; scales, bias: float64 [channels]; the numbers are whole and in range.

    offset, variance: mean and variance [channels] of the error that rounding weights and bias makes in the sum, real.
    """

    integers: Array
    scales: Array
    bias: Array
    offset: Array
    variance: Array


MOST_CHANNELS = 8192


def fit(weights: Array, bias: Array, candidates: Sequence[Array], inputs: Inputs, out_scale: float, kernel: Kernel,
        one_scale: bool) -> Fitted:
    """Integers for real weights [channels, weights] and bias [channels].

    candidates: scales [channels] to try, the best for each channel (for all, with one_scale) is taken. Each is raised
    where it must be, so that the bias takes no more than half of the accumulator, and scale and multiplier are normal.
    Refused where an accumulator could overflow even so.
    """
    floor = np.maximum(max(TINY, TINY / inputs.scale, SMALLEST_MULTIPLIER * out_scale / inputs.scale),
                       np.abs(bias) / (inputs.scale * kernel.limit / 2))
    best: Fitted | None = None
    for candidate in candidates:
        scales = np.maximum(candidate, floor)
        scales = np.full_like(scales, scales.max()) if one_scale else scales
        if not np.all(scales <= MOST):
            continue
        found = rounded(weights, bias, scales.astype(np.float32).astype(np.float64), inputs)
        best = found if best is None else better(best, found, one_scale)
    if best is None:
        raise Refused("a weight's scale would be infinite")
    check_range(best, inputs, out_scale, kernel)
    return best


def rounded(weights: Array, bias: Array, scales: Array, inputs: Inputs) -> Fitted:
    integers = np.clip(np.rint(weights / scales[:, None]), -128, 127)
    units = inputs.scale * scales
    whole = np.rint(bias / units)
    wrong = integers * scales[:, None] - weights
    offset = wrong.sum(1) * inputs.mean + whole * units - bias
    return Fitted(integers, scales, whole, offset, (wrong ** 2).sum(1) * inputs.variance)


def better(a: Fitted, b: Fitted, one_scale: bool) -> Fitted:
    """The one with the smaller error, for each channel."""
    errors = a.offset ** 2 + a.variance, b.offset ** 2 + b.variance
    if one_scale:
        return b if errors[1].sum() < errors[0].sum() else a
    take = errors[1] < errors[0]
    return Fitted(np.where(take[:, None], b.integers, a.integers), np.where(take, b.scales, a.scales),
                  np.where(take, b.bias, a.bias), np.where(take, b.offset, a.offset),
                  np.where(take, b.variance, a.variance))


def rescaled(operator: Linear, fitted: Fitted) -> bool:
    """The weights had to be rounded anew because all channels share a scale."""
    return operator.one_scale and not np.array_equal(np.abs(fitted.integers), np.abs(operator.integers()))


def check_range(fitted: Fitted, inputs: Inputs, out_scale: float, kernel: Kernel) -> None:
    """Refuse sums that the kernel could not add up or scale: x * (1 << shift) must not wrap in 32 bits."""
    largest = np.abs(fitted.bias) + np.abs(fitted.integers).sum(1) * inputs.reach
    if np.any(largest >= kernel.limit):
        raise Refused("the accumulator could overflow")
    multiplier = inputs.scale * fitted.scales / out_scale
    shift = np.frexp(multiplier * (1 + 2.0 ** -31))[1]
    if np.any(shift > (7 if kernel.wide else 30)) or np.any(np.ldexp(largest, np.maximum(shift, 0)) >= 2.0 ** 31) \
            and not kernel.wide or np.any(largest * multiplier >= 2.0 ** 31):
        raise Refused("the output's scale is too small for the kernel's multiplier")


def accumulators(integers: Array, bias: Array, inputs: Inputs, sign: Array | float = 1.0) -> Array:
    """Whole sums [points, channels] at POINTS of their distribution; sign -1 runs through them downwards.

    Refused for more than MOST_CHANNELS: an array of all points would take more memory than a rewrite should.
    """
    if len(integers) > MOST_CHANNELS:
        raise Refused(f"the rounding of more than {MOST_CHANNELS:,} output channels is not estimated")
    mean = integers.sum(1) * inputs.mean / inputs.scale + bias
    deviation = np.sqrt((integers ** 2).sum(1) * inputs.variance) / inputs.scale
    sums: Array = np.rint(mean + POINTS[:, None] * sign * deviation)
    return sums


def output_error(sums: Array, units: Array, out_scale: float, kernel: Kernel) -> Array:
    """What rounding to the output's integers adds to sums * units, real [points, channels]."""
    error: Array = np.rint(sums * kernel.effective(units / out_scale)) * out_scale - sums * units
    return error


def mean_square(errors: Array, counted: Array | bool = True) -> Array:
    """[channels] over the points that count."""
    weight = DENSITY * counted
    mean: Array = (errors ** 2 * weight).sum(0) / np.maximum(weight.sum(0), TINY)
    return mean


def fits(values: Array, tensor: Tensor) -> Array:
    """bool of the values' shape: where real values are within a tensor's range."""
    least, most = limits(tensor)
    whole = np.rint(values / tensor.scale) + tensor.zero_point
    return np.asarray((whole >= least) & (whole <= most))


def require_no_further(before: Array, after: Array, one_scale: bool, at: Operator) -> None:
    """Refuse a mean-square error that grows over all channels, or to more than twice in one of them.

    A thousandth of either, or of an output step, is allowed: rounding scales to float32 and choosing points make that.
    one_scale: the weights were rounded anew to one scale, which is then the reason.
    """
    allowed = before * (1 + 1e-3) + (at.outputs[0].scale * 1e-3) ** 2
    if np.mean(after) > np.mean(allowed) or np.any(after > 2 * allowed):
        raise Refused(WORSE_ONE_SCALE if one_scale else WORSE, at)
