"""Scales and constants that give exactly the multipliers that a chain holds.

Where a multiplier came from a float32 scale s, it determines s: m = round(2 ** 31 * fraction) is off by at most half of
at least 2 ** 30, so the real number it stands for is known to 2 ** -31 of itself, and float32 numbers lie 2 ** -24
apart: rounding to the nearest float32 gives s back. FULLY_CONNECTED's product of two scales is rounded to float32
once more; among the neighbours of product / input scale one was the file's. What a candidate gives is always checked.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tflite import ActivationFunctionType as Activation

from .errors import Refused
from .ir import Array
from .numerics import (ADD_LEFT_SHIFT, INT8_MAX, INT8_MIN, AddParameters, activation_range, add_parameters,
                       dense_multiplier, quantize_multiplier, scaled_addend, sub_parameters)

NEIGHBOURS = 4
TINY = 2.0 ** -34
"""Below what QuantizeMultiplier takes for 0."""
LARGEST = float(np.finfo(np.float32).max)
MOST_STEPS = INT8_MAX - INT8_MIN


def activation_for(low: int, high: int, scale: float, zero_point: int) -> int:
    """The fused activation that clamps exactly so; refused where none does."""
    for activation in (Activation.NONE, Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1):
        try:
            if activation_range(activation, scale, zero_point) == (low, high):
                return int(activation)
        except Refused:  # its ends leave 32 bits: it is another one
            continue
    raise Refused(f"no fused activation clamps to [{low}, {high}]")


def weight_scales(input_scale: float, output_scale: float, multipliers: Array, shifts: Array) -> Array | None:
    """float32 [channels], from which a convolution computes these multipliers; None where there are none."""
    real = np.where(multipliers == 0, TINY, np.ldexp(multipliers.astype(np.float64), shifts.astype(np.int32) - 31))
    scales = np.minimum(real * output_scale / input_scale, LARGEST).astype(np.float32)
    found = np.zeros(len(scales), bool)
    result = scales.copy()
    for candidate in _neighbours(scales):
        m, s = quantize_multiplier(input_scale * candidate.astype(np.float64) / output_scale)
        fits = (m == multipliers) & (s == shifts) & ~found
        result = np.where(fits, candidate, result)
        found |= fits
    return result if bool(found.all()) else None


def dense_scale(input_scale: float, output_scale: float, multiplier: int, shift: int) -> float | None:
    """The one weight scale of a FULLY_CONNECTED with this multiplier."""
    real = TINY if multiplier == 0 else multiplier * 2.0 ** (shift - 31)
    return _first(real * output_scale / input_scale,
                  lambda scale: dense_multiplier(input_scale, scale, output_scale) == (multiplier, shift))


def addend(parameters: AddParameters, input_scale: float, output_scale: float,
           constant: Array) -> tuple[str, float, int, Array] | None:
    """ADD or SUB, and scale, zero point and int8 [channels] of the constant that was scaled to `constant`."""
    p = parameters
    if p.input_multiplier == 1 << 30 and p.input_shift == 0:  # 1/2: the constant's scale is not the larger
        real = TINY if p.other_multiplier == 0 else p.other_multiplier * 2.0 ** (p.other_shift - 31)
        estimate = 2 * input_scale * real
    elif p.input_multiplier:
        estimate = input_scale / (2 * p.input_multiplier * 2.0 ** (p.input_shift - 31))
    elif p.multiplier:  # next to the constant nothing is left of the input: what the sum is scaled with tells
        estimate = p.multiplier * 2.0 ** (p.shift - 31) * output_scale * 2 ** (ADD_LEFT_SHIFT - 1)
    else:  # nor is anything left of the constant: its scale lies in the middle between the two
        estimate = math.sqrt(input_scale * output_scale * 2.0 ** (ADD_LEFT_SHIFT - 2))
    makers: tuple[tuple[str, Any, int], ...] = (("ADD", add_parameters, 1), ("SUB", sub_parameters, -1))
    for name, parameters_of, sign in makers:
        scale = _first(estimate, lambda s: bool(parameters_of(input_scale, s, output_scale) == p))  # noqa: B023
        numbers = None if scale is None else _integers(p, constant.astype(np.int64) * sign)
        if scale is not None and numbers is not None:
            return name, scale, *numbers
    return None


def factor(multiplier: int, shift: int, input_scale: float, output_scale: float,
           constant: Array) -> tuple[float, int, Array] | None:
    """Scale, zero point and int8 [channels] of MUL's constant, which is `constant` less the zero point."""
    scales = weight_scales(input_scale, output_scale, np.array([multiplier]), np.array([shift]))
    zero_point = max(INT8_MIN, INT8_MIN - int(constant.min()))
    numbers = constant.astype(np.int64) + zero_point
    if scales is None or max(zero_point, numbers.max()) > INT8_MAX:
        return None
    return float(scales[0]), zero_point, numbers.astype(np.int8)


def _integers(p: AddParameters, constant: Array) -> tuple[int, Array] | None:
    """A zero point and int8 numbers whose steps from it are scaled to `constant`."""
    steps = np.arange(-MOST_STEPS, MOST_STEPS + 1)
    scaled = scaled_addend(steps, p.other_multiplier, p.other_shift)  # does not fall
    first, last = np.searchsorted(scaled, constant, "left"), np.searchsorted(scaled, constant, "right") - 1
    if np.any(first > last):
        return None
    for zero_point in sorted(range(INT8_MIN, INT8_MAX + 1), key=abs):
        low = np.maximum(steps[first], INT8_MIN - zero_point)
        if np.all(low <= np.minimum(steps[last], INT8_MAX - zero_point)):
            return zero_point, (low + zero_point).astype(np.int8)
    return None


def _neighbours(scales: Array) -> Iterator[Array]:
    """The float32 numbers themselves, then those around them, none below 0."""
    yield scales
    below = above = scales
    for _ in range(NEIGHBOURS):
        below = np.maximum(np.nextafter(below, np.float32(-np.inf)), np.float32(0))
        above = np.nextafter(above, np.float32(LARGEST))
        yield below
        yield above


def _first(estimate: float, fits: Callable[[float], bool]) -> float | None:
    """The float32 number nearest to the estimate that fits."""
    for candidate in _neighbours(np.array([min(estimate, LARGEST)], np.float32)):
        scale = float(candidate[0])
        try:
            if scale > 0 and fits(scale):
                return scale
        except Refused:  # these scales are too far apart, the next ones may not be
            continue
    return None
