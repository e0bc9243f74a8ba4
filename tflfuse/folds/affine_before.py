"""CONV(x * gain + offset, w, b) -> CONV(x, w', b')."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tflite import Padding

from ..affine import STEPS, Step, composed, read_steps, require_finite, require_no_clamp, require_scale
from ..clamps import limits
from ..ir import Array, Tensor
from ..linear import Linear, linear
from ..pattern import Match, Replacement, chain, fold, op, replace_by, require, var
from ..requantize import (Fitted, Inputs, Kernel, accumulators, fit, fits, mean_square, output_error,
                          require_no_further, rescaled)

OTHER_CHANNELS = "the constant's channels are not the weights' input channels"

w, b = var("w"), var("b", optional=True)
inner = chain(var("x"), *STEPS, name="steps")
direct = (op.CONV_2D | op.DEPTHWISE_CONV_2D | op.FULLY_CONNECTED)(inner, w, b, name="conv")
transposed = op.TRANSPOSE_CONV(var("shape"), w, inner, b, name="conv")


@fold(direct, transposed)
def affine_before(m: Match) -> Replacement:
    """Fold constant multiplications and additions into the operator behind them.

    w' = w * gain per input channel, b' = b + sum(w * offset). Padding is real zero before and after, so an offset is
    legal only where no padding is added. A gain per input channel of a CONV_2D, FULLY_CONNECTED or TRANSPOSE_CONV
    changes quantized weights by different factors within one scale: they are rounded anew, and that error, carried to
    the output by inputs over the whole range of x, must be no larger than the rounding of the inner tensors that goes.
    """
    conv, x = linear(m.conv), m.x
    require(bool(x.shape), "the constant is not per input channel", at=x)
    require(x.shape[-1] <= conv.weights.size, OTHER_CHANNELS, at=m.conv)
    steps = read_steps(m.steps, x.shape[-1], "input")
    require_no_clamps(x, steps)
    gain, offset = composed(steps)
    require_border(conv, offset)
    gains, offsets = (over_weights(conv, values) for values in (gain, offset))
    weights, bias = conv.real_weights(), conv.real_bias()
    require_finite(weights, bias)
    weights, bias = weights * gains, bias + (weights * offsets).sum(1)
    require_finite(weights, bias)
    if conv.is_float:
        return replace_by(conv.rebuilt(x, conv.out, m.conv.activation, weights, bias), exact=False)
    fitted = requantized(conv, x, weights, bias, gains)
    check_error(conv, x, steps, fitted)
    new = conv.rebuilt(x, conv.out, m.conv.activation, fitted.integers, fitted.bias, fitted.scales)
    return replace_by(new, exact=False)


def require_no_clamps(x: Tensor, steps: Sequence[Step]) -> None:
    """Refuse inner values that are clamped, given what the integers of x can stand for."""
    ends = np.zeros((2, 1))  # floats have no range that could clip
    if x.dtype.kind != "f":
        require_scale(x)
        ends = (np.array(limits(x))[:, None] - x.zero_point) * x.scale
    for step in steps:
        ends = ends * step.gain + step.offset
        require_no_clamp(step.out, step.operator, float(ends.min()), float(ends.max()))


def over_weights(conv: Linear, values: Array) -> Array:
    """A number per channel of x (or the same number for all) for each weight: [channels, weights per channel]."""
    if np.all(values == values[0]):
        return np.full((conv.channels, conv.weights.size // conv.channels), values[0])
    taken, depth = conv.x.shape[-1], conv.weights.shape[-1]
    if conv.operator.name == "DEPTHWISE_CONV_2D":
        fit = depth % taken == 0
    else:
        fit = taken == depth or conv.operator.name == "CONV_2D" and taken % depth == 0  # grouped
    require(fit, OTHER_CHANNELS, at=conv.operator)
    return conv.per_input(values)


def require_border(conv: Linear, offset: Array) -> None:
    """Refuse an offset where some outputs see a border of zeros, which the offset would not have reached."""
    if not np.any(offset) or conv.operator.name == "FULLY_CONNECTED":
        return
    require(conv.operator.name != "TRANSPOSE_CONV",
            "the constant shifts the input, and each output of a TRANSPOSE_CONV sees another part of the weights",
            at=conv.operator)
    require(not pads(conv), "the constant shifts the input, and the padding's zeros would not be shifted",
            at=conv.operator)


def pads(conv: Linear) -> bool:
    """Whether a CONV_2D or DEPTHWISE_CONV_2D adds a border (kernels/padding.h: ComputePaddingWithOffset)."""
    if conv.operator.option("padding", Padding.SAME) == Padding.VALID:
        return False
    signature = conv.x.shape_signature or conv.x.shape
    for axis, side in ((1, "h"), (2, "w")):
        size, window = conv.x.shape[axis], conv.weights.shape[axis]
        stride = conv.operator.option(f"stride_{side}", 1)
        extent = (window - 1) * conv.operator.option(f"dilation_{side}_factor", 1) + 1
        if signature[axis] < 0 or stride < 1 or (-(-size // stride) - 1) * stride + extent > size:
            return True
    return False


def requantized(conv: Linear, x: Tensor, weights: Array, bias: Array, gains: Array) -> Fitted:
    kernel = Kernel.of(conv)
    scales = conv.scales()
    most, least = scales * np.abs(gains).max(1), scales * np.abs(gains).min(1)
    tries = [most, least, most * 128 / 127, np.abs(weights).max(1) / 127]
    candidates = [np.where((t > 0) & np.any(weights, axis=1), t, scales) for t in tries]
    return fit(weights, bias, candidates, Inputs.of(x, kernel), conv.out.scale, kernel, conv.one_scale)


def check_error(conv: Linear, x: Tensor, steps: Sequence[Step], fitted: Fitted) -> None:
    """Compare with the rounding of the inner tensors, carried through the weights to the output."""
    kernel = Kernel.of(conv)
    inputs, outer = Inputs.of(x, kernel), Inputs.of(conv.x, kernel)
    mean, variance = inner_error(x, steps, kernel)
    weights = conv.real_weights()
    shift = (weights * over_weights(conv, mean)).sum(1)
    spread = (weights ** 2 * over_weights(conv, variance)).sum(1)
    units = outer.scale * conv.scales()
    # The original's sums are taken where the values are, not where the inner tensor's range would allow them to be.
    sums = accumulators(fitted.integers, fitted.bias, inputs)
    new_units = inputs.scale * fitted.scales
    exact = sums * new_units
    old = output_error(np.rint(exact / units), units, conv.out.scale, kernel) + shift
    new = output_error(sums, new_units, conv.out.scale, kernel) + fitted.offset
    inside = fits(exact, conv.out)
    before, after = mean_square(old, inside) + spread, mean_square(new, inside) + fitted.variance
    require_no_further(before, after, rescaled(conv, fitted), conv.operator)


def inner_error(x: Tensor, steps: Sequence[Step], kernel: Kernel) -> tuple[Array, Array]:
    """Mean and variance [channels], real, of the error that the inner tensors' rounding makes, where none saturates."""
    count = min(kernel.high - kernel.low + 1, 1024)
    whole = np.rint(np.linspace(kernel.low, kernel.high, count))[:, None]
    exact = value = (whole - x.zero_point) * x.scale
    inside: Array = np.ones_like(value, bool)
    for step in steps:
        exact = exact * step.gain + step.offset
        value = np.rint((value * step.gain + step.offset) / step.out.scale) * step.out.scale
        inside = inside & fits(value, step.out)
    known = np.maximum(inside.sum(0), 1)
    error = (value - exact) * inside
    mean = error.sum(0) / known
    return mean, (error ** 2).sum(0) / known - mean ** 2
