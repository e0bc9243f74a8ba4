"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED as stages."""
from __future__ import annotations

import numpy as np

from .chain import Convolution, Depthwise, Value, Window
from .ir import Array, Operator
from .numerics import INT32_MAX, INT32_MIN, activation_range, convolution_multipliers, dense_multiplier
from .pattern import require
from .planes import Plane, bias_of, value_of, weights_of
from .windows import Pads, window_of

BIAS_TOLERANCE = 0.02
"""Of an output step: what TFLM's FULLY_CONNECTED allows the bias's scale to be off."""


def conv_stage(operator: Operator, source: Value, pads: Pads) -> Convolution:
    """CONV_2D over `source`, a PAD before it folded in."""
    weights, scales = weights_of(operator, 0)
    require(weights.ndim == 4, "the weights have not four dimensions", at=operator)
    channels, kernel_h, kernel_w, depth = weights.shape
    require(depth == source.channels, "the weights have fewer input channels than the input: the operator is grouped",
            at=operator)
    window, height, width = window_of(operator, (kernel_h, kernel_w), source.plane, pads)
    sums = weights.astype(np.int64).sum(axis=(1, 2, 3))
    return _convolution(Convolution, operator, source, (height, width, channels), window, weights, scales, sums)


def depthwise_stage(operator: Operator, source: Value, pads: Pads) -> Depthwise:
    """DEPTHWISE_CONV_2D over `source`, a PAD before it folded in."""
    weights, scales = weights_of(operator, 3)
    require(weights.ndim == 4 and weights.shape[0] == 1, "the weights are not of the form [1, height, width, channels]",
            at=operator)
    _, kernel_h, kernel_w, channels = weights.shape
    require(channels % source.channels == 0, "the output's channels are no multiple of the input's", at=operator)
    require(int(operator.option("depth_multiplier")) * source.channels == channels,
            "its depth_multiplier does not fit the weights", at=operator)
    window, height, width = window_of(operator, (kernel_h, kernel_w), source.plane, pads)
    sums = weights.astype(np.int64).sum(axis=(0, 1, 2))
    made = _convolution(Depthwise, operator, source, (height, width, channels), window, weights[0], scales, sums)
    assert isinstance(made, Depthwise)
    return made


def dense_stage(operator: Operator, source: Value) -> Convolution:
    """FULLY_CONNECTED: a window as large as the plane, or of one pixel where it runs over the last dimension alone."""
    require(operator.options is not None, "the operator has no options", at=operator)
    require(int(operator.option("weights_format")) == 0, "the weights are stored shuffled", at=operator)
    weights, scales = weights_of(operator, 0)
    require(weights.ndim == 2, "the weights have not two dimensions", at=operator)
    channels, depth = weights.shape
    whole = depth == source.size
    require(whole or depth == source.channels, "the weights do not fit the input", at=operator)
    window = Window(source.height, source.width) if whole else Window()
    plane = (1, 1, channels) if whole else (source.height, source.width, channels)
    require(operator.outputs[0].shape[-1:] == (channels,), "the output does not fit the weights", at=operator)
    kernel = weights.reshape(channels, window.kernel_h, window.kernel_w, source.channels)
    sums = weights.astype(np.int64).sum(axis=1)
    return _convolution(Convolution, operator, source, plane, window, kernel, scales, sums)


def _convolution(kind: type[Convolution], operator: Operator, source: Value, plane: Plane, window: Window,
                 weights: Array, scales: Array, sums: Array) -> Convolution:
    """sums: int64 [channels], of the weights."""
    out = value_of(operator.outputs[0], plane)
    channels = plane[2]
    bias = bias_of(operator, channels) - source.zero_point * sums
    require(bool(np.all((bias >= INT32_MIN) & (bias <= INT32_MAX))),
            "the bias with the zero point's share does not fit 32 bits", at=operator)
    if operator.name == "FULLY_CONNECTED" and len(scales) == 1:
        _check_bias_scale(operator, source, float(scales[0]), out)
        multiplier, shift = dense_multiplier(source.scale, float(scales[0]), out.scale)
        multipliers, shifts = np.full(channels, multiplier), np.full(channels, shift)
    else:
        multipliers, shifts = (np.broadcast_to(a, (channels,))
                               for a in convolution_multipliers(source.scale, scales, out.scale))
    low, high = activation_range(operator.activation, out.scale, out.zero_point)
    return kind(out, window, np.ascontiguousarray(weights), bias.astype("<i4"), multipliers.astype("<i4"),
                shifts.astype(np.int8), low, high)


def _check_bias_scale(operator: Operator, source: Value, weight_scale: float, out: Value) -> None:
    """TFLM does not prepare a FULLY_CONNECTED whose bias has another scale than the sums."""
    bias = operator.input(2)
    if bias is None:
        return
    scale = float(bias.quantization.scale[0]) if bias.is_quantized else 0.0  # type: ignore[union-attr,index]
    require(abs(source.scale * weight_scale - scale) / out.scale <= BIAS_TOLERANCE,
            "the bias's scale is not the product of the input's and the weights'", at=bias)
