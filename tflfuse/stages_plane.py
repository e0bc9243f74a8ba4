"""Pools, means, sums and per-channel products as stages."""
from __future__ import annotations

from typing import Any

import numpy as np

from .chain import Add, AveragePool, GlobalAverage, MaxPool, Mean, Multiply, Stage, Transpose, Value
from .ir import Operator, Tensor
from .numerics import (activation_range, add_parameters, mean_multiplier, quantize_one, scaled_addend,
                       sub_parameters)
from .pattern import require
from .planes import Plane, integers_of, per_tensor, scalar_or_channels, value_of
from .windows import Pads, window_of

SCALE_TOLERANCE = 1e-6
"""What TFLM's pools allow between the scales of input and output."""
NCHW_TO_NHWC = [0, 2, 3, 1]


def pool_stage(operator: Operator, source: Value) -> Stage:
    """AVERAGE_POOL_2D or MAX_POOL_2D; a mean over the whole plane accumulates row by row."""
    kernel = int(operator.option("filter_height")), int(operator.option("filter_width"))
    window, height, width = window_of(operator, kernel, source.plane, Pads())
    out = value_of(operator.outputs[0], (height, width, source.channels))
    difference = abs(np.float32(source.scale) - np.float32(out.scale))
    require(bool(difference <= SCALE_TOLERANCE) and source.zero_point == out.zero_point,
            "its output is quantized otherwise than its input", at=operator)
    low, high = activation_range(operator.activation, out.scale, out.zero_point)
    if operator.name == "MAX_POOL_2D":
        return MaxPool(out, window, low, high)
    if height == width == 1 and window.below(source.height, 1) >= 0 and window.right(source.width, 1) >= 0:
        return GlobalAverage(out, low, high)
    return AveragePool(out, window, low, high)


def mean_stage(operator: Operator, source: Value, shape: tuple[int, ...]) -> Mean:
    """MEAN over everything but the channels; shape: of the input tensor."""
    axes = {axis + len(shape) if axis < 0 else axis for axis in integers_of(operator, 1, "axes")}
    left = {axis for axis, size in enumerate(shape) if size > 1 and axis not in axes}
    require(axes <= set(range(len(shape) - 1)) and left <= {len(shape) - 1},
            "the mean is not taken over rows and columns, all of them and nothing else", at=operator)
    out = value_of(operator.outputs[0], (1, 1, source.channels))
    return Mean(out, *mean_multiplier(source.scale, out.scale, source.height * source.width))


def sum_stage(operator: Operator, source: Value, other: Value) -> Add:
    """ADD of two values of one shape."""
    require(operator.name == "ADD", f"{operator.name} of two values is not computed by a chain", at=operator)
    require(source.plane == other.plane, "its operands have different shapes", at=operator)
    out = value_of(operator.outputs[0], source.plane)
    low, high = activation_range(operator.activation, out.scale, out.zero_point)
    return Add(out, add_parameters(source.scale, other.scale, out.scale), low, high)


def channel_sum_stage(operator: Operator, source: Value, constant: Tensor) -> Add:
    """ADD of, or SUB by, one constant number for each channel."""
    require(operator.name == "ADD" or operator.inputs[0] is not constant,
            "it subtracts from a constant for each channel", at=operator)
    scale, zero_point = per_tensor(constant)
    out = value_of(operator.outputs[0], source.plane)
    parameters: Any = add_parameters if operator.name == "ADD" else sub_parameters
    p = parameters(source.scale, scale, out.scale)
    steps = scalar_or_channels(constant, source.channels) - zero_point
    addend = scaled_addend(steps, p.other_multiplier, p.other_shift) * (1 if operator.name == "ADD" else -1)
    low, high = activation_range(operator.activation, out.scale, out.zero_point)
    return Add(out, p, low, high, addend.astype("<i4"))


def channel_product_stage(operator: Operator, source: Value, constant: Tensor) -> Multiply:
    """MUL with one constant number for each channel."""
    scale, zero_point = per_tensor(constant)
    out = value_of(operator.outputs[0], source.plane)
    steps = scalar_or_channels(constant, source.channels) - zero_point
    multiplier, shift = quantize_one(source.scale * scale / out.scale)
    low, high = activation_range(operator.activation, out.scale, out.zero_point)
    return Multiply(out, multiplier, shift, steps.astype("<i4"), low, high)


def transpose_stage(operator: Operator, plane: Plane) -> Transpose:
    """TRANSPOSE of [1, C, H, W] to [1, H, W, C]; plane: C, H, W."""
    require(integers_of(operator, 1, "dimensions") == NCHW_TO_NHWC, "it transposes otherwise than NCHW to NHWC",
            at=operator)
    channels, height, width = plane
    return Transpose(value_of(operator.outputs[0], (height, width, channels)))
