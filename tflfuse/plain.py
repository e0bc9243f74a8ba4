"""What lets kernels round sums the short way: no sum reaches 2^30, every multiplier is 0 or in [2^30, 2^31) and is
shifted to the right, but not so far that the zero point, shifted to the left, would overflow.

Almost every convolution is like that but for channels that were trained to nothing. Their multipliers are 0, which no
shift changes, or their biases are so large beside the products that they give one output whatever they read; a smaller
bias with a larger scale, or one that still lies beyond the clamp, gives the same. Where all channels have one scale
they keep one: FULLY_CONNECTED rounds its product otherwise than the products of the channels' own scales.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from .chain import Convolution, Depthwise
from .chain_codec import PLAIN_SUM
from .ir import Array
from .numerics import multiply_by_quantized_multiplier

MOST_RIGHT = -23
HALVINGS = 2
"""Of the bias of such a channel: from anything below 2^31 to below PLAIN_SUM."""


def made_plain(stage: Convolution) -> Convolution:
    """The stage, with biases and shifts that give the same outputs and are plain where there are such."""
    shifts = np.where(stage.multipliers == 0, -1, stage.shifts).astype(np.int8)
    stage = replace(stage, shifts=shifts)
    limit = PLAIN_SUM - 1
    halvings = np.maximum(np.where(_is_large(stage), HALVINGS, 0), MOST_RIGHT - stage.shifts.astype(np.int64))
    for bias, shifts in ((np.clip(stage.bias, -limit, limit), stage.shifts),
                         (stage.bias >> halvings, stage.shifts + halvings)):
        taken = (_is_large(stage) | (stage.shifts < MOST_RIGHT)) & _same_constants(stage, bias, shifts)
        other = replace(stage, bias=np.where(taken, bias, stage.bias).astype("<i4"),
                        shifts=np.where(taken, shifts, stage.shifts).astype(np.int8))
        stage = stage if _has_one_scale(stage) and not _has_one_scale(other) else other
    return stage


def as_quantized(multipliers: Array, shifts: Array) -> Array:
    """int8 [out]: shifts as TFLM has them, 0 beside a multiplier of 0."""
    return np.where(multipliers == 0, 0, shifts).astype(np.int8)


def is_plain(stage: Convolution) -> bool:
    window = stage.weights.size // stage.out.channels
    return bool(window << 14 <= PLAIN_SUM and not np.any(_is_large(stage))
                and np.all((stage.shifts >= MOST_RIGHT) & (stage.shifts < 0))
                and np.all((stage.multipliers == 0) | (stage.multipliers >= 1 << 30)))


def _has_one_scale(stage: Convolution) -> bool:
    return len(set(zip(stage.multipliers.tolist(), stage.shifts.tolist(), strict=True))) == 1


def _is_large(stage: Convolution) -> Array:
    """bool [out]"""
    return np.asarray(np.abs(stage.bias.astype(np.int64)) >= PLAIN_SUM)


def _reach(stage: Convolution) -> Array:
    """int64 [out]: how far from the bias a sum can be."""
    axes = (0, 1) if isinstance(stage, Depthwise) else (1, 2, 3)
    return np.asarray(128 * np.abs(stage.weights.astype(np.int64)).sum(axis=axes))


def _same_constants(stage: Convolution, bias: Array, shifts: Array) -> Array:
    """bool [out]: all sums around the stage's bias and all around the other one give the same output.

    Outputs grow with sums, so that both ends tell, if no sum wraps. Both ways of rounding that TFLM knows count.
    """
    ends = [b.astype(np.int64) + side for b in (stage.bias, bias) for side in (-_reach(stage), _reach(stage))]
    inside = np.all([(e >= -(1 << 31)) & (e < 1 << 31) for e in ends], axis=0)
    inside &= (stage.shifts >= -31) & (stage.shifts < 0) & (shifts < 0)
    same = inside
    for rounded in (_double, _single):
        outputs = [_clamped(stage, rounded(e, stage.multipliers, s))
                   for e, s in zip(ends, (stage.shifts, stage.shifts, shifts, shifts), strict=True)]
        same = same & np.all([o == outputs[0] for o in outputs[1:]], axis=0)
    return np.asarray(same)


def _clamped(stage: Convolution, values: Array) -> Array:
    return np.clip(values.astype(np.int64) + stage.out.zero_point, stage.low, stage.high)


def _double(sums: Array, multipliers: Array, shifts: Array) -> Array:
    return multiply_by_quantized_multiplier(sums, multipliers, shifts)


def _single(sums: Array, multipliers: Array, shifts: Array) -> Array:
    right = 31 - shifts.astype(np.int64)
    return np.asarray((sums * multipliers + (np.int64(1) << right - 1)) >> right)
