"""MUL, ADD, SUB, DIV by constants over CONV(x, w, b) -> CONV(x, w', b')."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..affine import STEPS, Step, composed, read_steps, require_finite, require_no_clamp, require_scale
from ..ir import Array, Operator, Tensor
from ..linear import Linear, linear
from ..pattern import Match, Replacement, chain, fold, op, replace_by, var
from ..requantize import (Fitted, Inputs, Kernel, accumulators, fit, fits, mean_square, output_error,
                          require_no_further, rescaled)

x, w, b = var("x"), var("w"), var("b", optional=True)
direct = (op.CONV_2D | op.DEPTHWISE_CONV_2D | op.FULLY_CONNECTED)(x, w, b, name="conv")
transposed = op.TRANSPOSE_CONV(var("shape"), w, x, b, name="conv")


@fold(chain(direct, *STEPS, name="steps"), chain(transposed, *STEPS, name="steps"))
def affine_after(m: Match) -> Replacement:
    """Fold constant multiplications and additions into the operator before them.

    With y = conv * gain + offset per output channel: w' = w * gain, b' = b * gain + offset, in float64, rounded once.
    Quantized weights keep their integers, the gain goes into the channel's scale and its sign into the integers;
    a FULLY_CONNECTED with one scale gets one scale again. The inner tensors' ranges are taken to hold the values
    that occur (see require_no_clamp); their rounding is gone, and the estimate of what remains must not be larger.
    """
    conv = linear(m.conv)
    steps = read_steps(m.steps, conv.channels, "output")
    for producer in (m.conv, *(s.operator for s in steps[:-1])):
        require_no_clamp(producer.outputs[0], producer)
    gain, offset = composed(steps)
    weights, bias = conv.real_weights(), conv.real_bias()
    require_finite(weights, bias)
    weights, bias = weights * gain[:, None], bias * gain + offset
    require_finite(weights, bias)
    last = steps[-1].operator
    if conv.is_float:
        return replace_by(conv.rebuilt(conv.x, last.outputs[0], last.activation, weights, bias), exact=False)
    require_scale(last.outputs[0])
    fitted = requantized(conv, weights, bias, gain, last.outputs[0])
    check_error(conv, steps, fitted, gain, offset, last)
    new = conv.rebuilt(conv.x, last.outputs[0], last.activation, fitted.integers, fitted.bias, fitted.scales)
    return replace_by(new, exact=False)


def requantized(conv: Linear, weights: Array, bias: Array, gain: Array, out: Tensor) -> Fitted:
    kernel = Kernel.of(conv)
    scales = conv.scales()
    kept = np.abs(gain) * scales
    kept = np.where((kept > 0) & np.any(weights, axis=1), kept, scales)
    flipped = kept * 128 / 127  # 128, from -128 under a negative gain, does not fit
    widest = np.maximum(np.abs(weights).max(1), 0) / 127
    candidates = [kept, flipped, np.where(widest > 0, widest, scales)] if conv.one_scale else [kept, flipped]
    return fit(weights, bias, candidates, Inputs.of(conv.x, kernel), out.scale, kernel, conv.one_scale)


def check_error(conv: Linear, steps: Sequence[Step], fitted: Fitted, gain: Array, offset: Array,
                last: Operator) -> None:
    """Compare with the original's rounding at each inner tensor, at values where no inner tensor saturates."""
    kernel = Kernel.of(conv)
    inputs = Inputs.of(conv.x, kernel)
    units = inputs.scale * conv.scales()
    sums = accumulators(conv.integers(), conv.real_bias() / units, inputs)
    exact = sums * units
    value = exact + output_error(sums, units, conv.out.scale, kernel)
    inside = fits(value, conv.out)
    for step in steps:
        value = np.rint((value * step.gain + step.offset) / step.out.scale) * step.out.scale
        inside &= fits(value, step.out)
    before = mean_square(value - (exact * gain + offset), inside)
    new_sums = accumulators(fitted.integers, fitted.bias, inputs, np.where(gain < 0, -1.0, 1.0))
    wrong = output_error(new_sums, inputs.scale * fitted.scales, last.outputs[0].scale, kernel) + fitted.offset
    require_no_further(before, mean_square(wrong, inside) + fitted.variance, rescaled(conv, fitted), last)
