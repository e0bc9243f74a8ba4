"""Channels that were trained to nothing are written so that kernels can round them the short way."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tflfuse.chain import Convolution, Value, Window
from tflfuse.ir import Array
from tflfuse.numerics import requantized
from tflfuse.plain import as_quantized, is_plain, made_plain


def one_by_one(bias: int, multiplier: int, shift: int, zero_point: int = -128, weight: int = 3) -> Convolution:
    """Four elements, one output channel."""
    return Convolution(Value(1, 1, 1, 0.1, zero_point), Window(), np.full((1, 1, 1, 4), weight, np.int8),
                       np.array([bias], "<i4"), np.array([multiplier], "<i4"), np.array([shift], np.int8))


def outputs(stage: Convolution) -> Array:
    """Of every sum that can come about."""
    reach = 128 * int(np.abs(stage.weights.astype(np.int64)).sum())
    sums = stage.bias.astype(np.int64)[0] + np.arange(-reach, reach + 1)
    return requantized(sums, stage.multipliers, stage.shifts, stage.out.zero_point, stage.low, stage.high)


@pytest.mark.parametrize(("bias", "multiplier", "shift"), [
    (12345, 0, 0), (1 << 30, 0, 0), (1 << 30, 1 << 30, -7), (-(1 << 30) - 128, (1 << 31) - 1, -1),
    (1 << 30, 1518500250, -24), ((1 << 30) + 4096, 1 << 30, -31), (-(1 << 30), 1 << 30, -25), (700, 1 << 30, -30)])
def test_a_channel_that_says_the_same_to_everything_becomes_plain(bias: int, multiplier: int, shift: int) -> None:
    stage = one_by_one(bias, multiplier, shift, weight=1)
    plain = made_plain(stage)
    assert not is_plain(stage) and is_plain(plain)
    assert np.array_equal(outputs(plain), outputs(stage))


@pytest.mark.parametrize(("bias", "multiplier", "shift"), [
    ((1 << 30) + (1 << 24), 1 << 30, -24), (5, 1 << 30, 0), (5, 1 << 30, 3), (5, 12345, -2),
    ((1 << 31) - 1, 1 << 30, -7)])
def test_others_stay_as_they_are(bias: int, multiplier: int, shift: int) -> None:
    """Sums that make a difference, shifts to the left, small multipliers, sums that wrap."""
    stage = one_by_one(bias, multiplier, shift, zero_point=0, weight=127)
    plain = made_plain(stage)
    assert not is_plain(plain)
    assert (plain.bias, plain.multipliers, plain.shifts) == (stage.bias, stage.multipliers, stage.shifts)


def test_an_ordinary_channel_is_plain_and_stays_as_it_is() -> None:
    stage = one_by_one(5, 1 << 30, -7)
    assert is_plain(stage)
    assert (made_plain(stage).bias, made_plain(stage).shifts) == (stage.bias, stage.shifts)


def test_shifts_beside_multipliers_of_zero_come_back() -> None:
    assert as_quantized(np.array([0, 1 << 30], "<i4"), np.array([-1, -3], np.int8)).tolist() == [0, -3]


@pytest.mark.parametrize("shift", range(-31, -19))
def test_channels_of_one_scale_keep_one(shift: int) -> None:
    """FULLY_CONNECTED's one product could not be told from several shifts."""
    biases = np.array([5, (1 << 30) + 4321, -(1 << 30) - 77, 700], "<i4")
    one = one_by_one(0, 1877219740, shift, weight=1)
    stage = replace(one, out=Value(1, 1, 4, 0.1, -128), weights=np.repeat(one.weights, 4, axis=0), bias=biases,
                    multipliers=np.repeat(one.multipliers, 4), shifts=np.repeat(one.shifts, 4))
    plain = made_plain(stage)
    assert len(set(plain.shifts.tolist())) == 1 and is_plain(plain) == (shift not in (-24, -23, -22, -21))
    for n in range(4):
        before, after = (replace(s, bias=s.bias[n:n + 1], multipliers=s.multipliers[n:n + 1],
                                 shifts=s.shifts[n:n + 1], weights=s.weights[n:n + 1]) for s in (stage, plain))
        assert np.array_equal(outputs(before), outputs(after))
    other = replace(stage, multipliers=stage.multipliers + np.arange(4, dtype="<i4"))
    assert is_plain(made_plain(other)), "channels with scales of their own need not"
