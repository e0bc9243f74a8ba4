"""Constant multiplications and additions before an operator go into its weights and bias."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tflfuse.affine import Step
from tflfuse.folds.affine_before import OTHER_CHANNELS, affine_before, inner_error
from tflfuse.ir import Tensor
from tflfuse.plan import rewrite
from tflfuse.requantize import Kernel

from ..build import ACTIVATION, PADDING, Build, names, random_int8
from .affine import GAINS, OFFSETS, estimated_and_measured, f32, i8, i32, nearly, operand, read, root, scales, step
from .checks import folded, outputs, refused
from .kinds import (FILTER, FLOAT, INPUT_SCALE, INPUT_SCALE_16, INT16, NUMBERS, PER_CHANNEL, PER_TENSOR, WEIGHTED,
                    input_of, weights_of)

RULES = [affine_before]
checked = partial(nearly, RULES)
BORDER = "the constant shifts the input, and the padding's zeros would not be shifted"
WORSE = ("the result would be further from the real-valued function than the original",
         "re-quantizing the weights to one scale would bring the result further from the real-valued function")


def behind(b: Build, kind: str, numbers: str, steps: list[tuple[str, Any]], padding: str = "SAME",
           inner_scale: float = 1 / 24, with_bias: bool = True, activation: str = "NONE") -> Tensor:
    """steps on an input, then an operator with the weights of kinds.py."""
    x = input_of(b, (1, 12) if kind == "FULLY_CONNECTED" else (1, 6, 6, 3), numbers, -7)
    for name, values in steps:
        x = step(b, name, x, values, inner_scale)
    w, bias = weights_of(b, kind, numbers, None if x.quantization is None else x.scale)
    scale = {FLOAT: None, INT16: INPUT_SCALE_16}.get(numbers, INPUT_SCALE)
    zero = 0 if numbers in (FLOAT, INT16) else -5
    given = bias if with_bias else None
    if kind == "FULLY_CONNECTED":
        return b.dense(x, w, given, scale, zero, activation=activation)
    if kind == "TRANSPOSE_CONV":
        size = b.constant(np.array([1, 12, 12, FILTER[kind][0]], np.int32))
        return b.op(kind, [size, w, x, given], (1, 12, 12, 4), x.dtype, scale, zero, activation=activation,
                    padding=PADDING["SAME"], stride_h=2, stride_w=2)
    return b.conv(x, w, given, scale, zero, padding, kind=kind, activation=activation)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("kind", WEIGHTED)
def test_one_gain_for_all_with_padding(kind: str, numbers: str) -> None:
    b = Build()
    y = behind(b, kind, numbers, [("MUL", [-1.25])], activation="RELU6")
    old = next(o for o in b.operators if o.name == kind).inputs[1]
    model = checked(b, y, numbers, 1000)
    new = root(model).inputs[1]
    assert root(model).activation == ACTIVATION["RELU6"] and old is not None and new is not None
    if numbers != FLOAT:
        np.testing.assert_array_equal(new.array(), -old.array())
    if numbers == PER_TENSOR:
        assert len(scales(new)) == 1


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_a_gain_and_an_offset_without_padding(kind: str, numbers: str) -> None:
    b = Build()
    y = behind(b, kind, numbers, [("MUL", [0.75]), ("ADD", [0.5])], "VALID")
    checked(b, y, numbers, 1000)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_gain_per_channel_of_a_depthwise_convolution_keeps_the_integers(numbers: str) -> None:
    b = Build()
    y = behind(b, "DEPTHWISE_CONV_2D", numbers, [("MUL", GAINS[:3]), ("ADD", OFFSETS[:3])], "VALID")
    old = next(o for o in b.operators if o.name == "DEPTHWISE_CONV_2D").inputs[1]
    model = checked(b, y, numbers, 1000)
    new = root(model).inputs[1]
    assert old is not None and new is not None
    if numbers != FLOAT:  # channel 1 has a negative gain and, with a multiplier of 2, outputs 2 and 3
        np.testing.assert_array_equal(new.array(), old.array() * i8([1, 1, -1, -1, 1, 1]))


@pytest.mark.parametrize("kind", WEIGHTED)
def test_a_gain_per_channel_of_float_weights(kind: str) -> None:
    b = Build()
    channels = 12 if kind == "FULLY_CONNECTED" else 3
    y = behind(b, kind, FLOAT, [("MUL", np.resize(GAINS, channels))])
    checked(b, y, FLOAT)


@pytest.mark.parametrize("numbers", [PER_CHANNEL, PER_TENSOR, INT16])
@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
def test_a_gain_per_channel_that_would_round_the_weights_too_coarsely(kind: str, numbers: str) -> None:
    b = Build()
    channels = 12 if kind == "FULLY_CONNECTED" else 3
    y = behind(b, kind, numbers, [("MUL", np.resize([1.3, 0.4, -0.9], channels))], inner_scale=1 / 100)
    said = refused(b, y, rules=RULES)
    assert len(said) == 1 and said[0] in WORSE


@pytest.mark.parametrize("numbers", [PER_CHANNEL, PER_TENSOR])
@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
def test_a_gain_per_channel_where_the_inner_tensor_is_coarser_than_the_weights(kind: str, numbers: str) -> None:
    b = Build()
    channels = 12 if kind == "FULLY_CONNECTED" else 3
    y = behind(b, kind, numbers, [("MUL", np.resize([1.3, 0.9, -0.9], channels))], inner_scale=1 / 5)
    checked(b, y, numbers, 1000)


def test_gains_that_whole_numbers_express_lose_nothing() -> None:
    b = Build()
    w = b.constant(i8([[[[11, 20, -31]]], [[[-5, 60, 7]]]]), [0.01, 0.02])
    x = b.input((1, 16, 16, 3), scale=0.02, zero_point=3)
    y = b.conv(step(b, "MUL", x, [1, 2, 1], 0.01), w, scale=0.02)
    k = b.constant(i8([1, 2, 1]), 1.0)
    b.operators[0].inputs[1] = k
    model = checked(b, y, PER_CHANNEL)
    assert operand(model, 1).array().tolist() == [[[[11, 40, -31]]], [[[-5, 120, 7]]]]


@pytest.mark.parametrize("filters, gains, integers", [
    ([[100, 40, -62], [8, 90, 4]], [1, 0.5, 1], [[100, 20, -62], [8, 45, 4]]),               # the old scales fit
    ([[99, -57, 34, 10, 90, -80]], [0.89, 0.55, 0.34] * 2, [[127, -45, 17, 13, 71, -39]])])  # as fine as 127 steps are
def test_the_scales_that_round_the_weights_least(filters: Any, gains: list[float], integers: Any) -> None:
    b = Build()
    w = b.constant(i8(filters)[:, None, None, :], [0.01, 0.02][:len(filters)])
    x = step(b, "MUL", b.input((1, 16, 16, len(gains)), scale=0.02, zero_point=3), [1], 0.02)
    b.operators[0].inputs[1] = b.constant(i8(np.round(np.multiply(gains, 100))), 0.01)
    model = checked(b, b.conv(x, w, scale=0.02), PER_CHANNEL)
    new = operand(model, 1)
    np.testing.assert_array_equal(new.array()[:, 0, 0], integers)
    np.testing.assert_allclose(new.real()[..., 0], w.real()[..., 0] * gains[0], rtol=1e-6)


@pytest.mark.parametrize("steps", [
    [("ADD", OFFSETS[:3])], [("ADD", OFFSETS[:3]), ("MUL", GAINS[:3])], [("SUB", OFFSETS[:3]), ("DIV", GAINS[:3])],
    [("SUB", OFFSETS[:3]), ("DIV", GAINS[:3]), ("MUL", GAINS[1:4]), ("ADD", OFFSETS[1:4])]])
@pytest.mark.parametrize("with_bias", [True, False])
def test_every_spelling(steps: list[tuple[str, Any]], with_bias: bool) -> None:
    b = Build()
    model = checked(b, behind(b, "CONV_2D", FLOAT, steps, "VALID", with_bias=with_bias), FLOAT)
    assert len(root(model).inputs) == 3 and root(model).inputs[2] is not None


def test_a_multiplier_orders_channels_by_their_input() -> None:
    b = Build()
    w = np.arange(24, dtype=np.float32).reshape(1, 2, 2, 6)
    y = b.depthwise(step(b, "MUL", b.input((1, 4, 4, 2)), [2, 3]), b.constant(w), b.constant(np.zeros(6, np.float32)))
    model = checked(b, y, FLOAT)
    want = w * f32([2, 2, 2, 3, 3, 3])
    np.testing.assert_array_equal(operand(model, 1).array(), want)


def test_the_gain_goes_by_input_channels_where_all_sizes_are_equal() -> None:
    b = Build()
    w = np.random.default_rng(1).normal(size=(3, 3, 3, 3)).astype(np.float32)
    model = checked(b, b.conv(step(b, "MUL", b.input((1, 3, 3, 3)), [2, 3, 5]), b.constant(w)), FLOAT)
    np.testing.assert_array_equal(operand(model, 1).array(), w * f32([2, 3, 5]))


def test_the_gain_goes_by_the_columns_of_a_square_fully_connected() -> None:
    b = Build()
    w = np.arange(16, dtype=np.float32).reshape(4, 4)
    y = b.dense(step(b, "ADD", step(b, "MUL", b.input((1, 4)), [2, 3, 5, 7]), [1, 0, 2, 0]), b.constant(w))
    model = checked(b, y, FLOAT)
    np.testing.assert_array_equal(operand(model, 1).array(), w * f32([2, 3, 5, 7]))
    np.testing.assert_array_equal(operand(model, 2).array(), w[:, 0] + 2 * w[:, 2])


def test_a_grouped_convolution() -> None:
    b = Build()
    w = np.random.default_rng(2).normal(size=(4, 3, 3, 2)).astype(np.float32)
    x = step(b, "ADD", step(b, "MUL", b.input((1, 6, 6, 4)), GAINS[:4]), OFFSETS[:4])
    checked(b, b.conv(x, b.constant(w), padding="VALID"), FLOAT)


def test_an_input_of_one_channel() -> None:
    b = Build()
    w = np.random.default_rng(9).normal(size=(2, 3, 3, 1)).astype(np.float32)
    x = step(b, "ADD", step(b, "MUL", b.input((1, 6, 6, 1)), [1.5]), [0.5])
    model = checked(b, b.conv(x, b.constant(w), padding="VALID"), FLOAT)
    np.testing.assert_array_equal(operand(model, 1).array(), w * np.float32(1.5))


def test_channels_before_a_fully_connected_that_takes_half_of_them_at_a_time() -> None:
    """No grouped convolution, though the weights' depth divides the channels: each half meets the same weights."""
    b = Build()
    x = step(b, "MUL", b.input((1, 4)), GAINS[:4])
    y = b.op("FULLY_CONNECTED", [x, b.constant(np.ones((3, 2), np.float32))], (2, 3))
    assert refused(b, y, rules=RULES) == ["the constant's channels are not the weights' input channels"]


@pytest.mark.parametrize("numbers", [FLOAT, PER_CHANNEL])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_an_offset_before_padding(kind: str, numbers: str) -> None:
    b = Build()
    y = behind(b, kind, numbers, [("MUL", [0.75]), ("ADD", OFFSETS[:3])])
    assert refused(b, y, rules=RULES) == [BORDER]


@pytest.mark.parametrize("size, window, stride, dilation, pads", [
    (6, 1, 1, 1, False), (6, 2, 2, 1, False), (7, 1, 2, 1, False), (7, 2, 2, 1, True), (6, 3, 3, 1, False),
    (7, 3, 2, 1, True), (6, 1, 1, 3, False), (6, 2, 3, 2, False), (6, 2, 2, 2, True)])
@pytest.mark.parametrize("across", [False, True])
def test_same_padding_that_pads_nothing(size: int, window: int, stride: int, dilation: int, pads: bool,
                                        across: bool) -> None:
    def both(along: int, other: int) -> tuple[int, int]:
        return (other, along) if across else (along, other)

    b = Build()
    w = np.random.default_rng(3).normal(size=(2, *both(window, 1), 3)).astype(np.float32)
    x = step(b, "ADD", b.input((1, *both(size, 5), 3)), OFFSETS[:3])
    y = b.conv(x, b.constant(w), stride=both(stride, 1), dilation=both(dilation, 1))
    if pads:
        assert refused(b, y, rules=RULES) == [BORDER]
    else:
        checked(b, y, FLOAT)


def test_an_open_size_may_pad() -> None:
    b = Build()
    x = b.input((1, 6, 6, 3), shape_signature=(1, -1, -1, 3))
    shifted = step(b, "ADD", x, OFFSETS[:3])
    shifted.shape_signature = x.shape_signature
    y = b.conv(shifted, b.constant(np.ones((2, 2, 2, 3), np.float32)), stride=(2, 2))
    assert [r.reason for r in rewrite(b.model(y), RULES).refusals] == [BORDER]


def test_an_input_without_rows_is_known_to_need_no_padding() -> None:
    b = Build()
    y = b.conv(step(b, "ADD", b.input((1, 0, 5, 3)), OFFSETS[:3]), b.constant(np.ones((2, 1, 1, 3), np.float32)))
    model = b.model(y)
    assert rewrite(model, RULES).steps and names(model) == ["CONV_2D"]


def test_offsets_that_cancel_may_be_padded() -> None:
    b = Build()
    checked(b, behind(b, "CONV_2D", FLOAT, [("ADD", [0.5]), ("MUL", [2]), ("SUB", [1])]), FLOAT)


def test_an_offset_before_a_transpose_conv() -> None:
    b = Build()
    assert refused(b, behind(b, "TRANSPOSE_CONV", FLOAT, [("ADD", [0.5])]), rules=RULES) == [
        "the constant shifts the input, and each output of a TRANSPOSE_CONV sees another part of the weights"]


def test_an_activation_between() -> None:
    b = Build()
    x = step(b, "ADD", b.input((1, 6, 6, 3)), OFFSETS[:3], activation="RELU")
    y = b.conv(x, b.constant(np.ones((2, 1, 1, 3), np.float32)))
    assert refused(b, y, rules=RULES) == ["an activation lies between"]


@pytest.mark.parametrize("zero", [-128, 127])
def test_a_range_that_ends_at_zero(zero: int) -> None:
    b = Build()
    x = step(b, "MUL", b.input((1, 6, 6, 3), scale=0.02), [1.5], zero_point=zero)
    y = b.conv(x, b.constant(random_int8(np.random.default_rng(4), (2, 1, 1, 3)), 0.01), scale=0.03)
    assert refused(b, y, rules=RULES) == ["the inner tensor's range ends at zero and clips like a RELU"]


@pytest.mark.parametrize("name, value, first, zero", [
    ("MUL", 1.5, -128, -128), ("MUL", -1.5, -128, 127), ("ADD", 0.5, -78, -128)])
def test_a_range_that_ends_where_the_values_do(name: str, value: float, first: int, zero: int) -> None:
    """An image from 0 to 1, scaled, say: nothing is clipped at 0 because nothing lies beyond."""
    b = Build()
    x = step(b, name, b.input((1, 16, 16, 3), scale=0.01, zero_point=first), [value], 1 / 64, zero_point=zero)
    y = b.conv(x, b.constant(random_int8(np.random.default_rng(4), (2, 1, 1, 3)), 0.01), scale=0.06, zero_point=5)
    checked(b, y, PER_TENSOR)


def test_a_value_that_two_convolutions_read() -> None:
    b = Build()
    x = step(b, "MUL", b.input((1, 6, 6, 3)), GAINS[:3])
    ys = [b.conv(x, b.constant(np.ones((2, 1, 1, 3), np.float32))) for _ in range(2)]
    assert refused(b, *ys, rules=RULES) == ["its result has more than one reader"] * 2


def test_a_pool_between_is_left_alone() -> None:
    b = Build()
    x = step(b, "ADD", step(b, "MUL", b.input((1, 6, 6, 3)), GAINS[:3]), OFFSETS[:3])
    y = b.conv(b.pool("MAX_POOL_2D", x), b.constant(np.ones((2, 1, 1, 3), np.float32)))
    assert refused(b, y, rules=RULES) == []


def test_a_model_that_ends_in_a_pool_is_left_alone() -> None:
    b = Build()
    x = step(b, "ADD", step(b, "MUL", b.input((1, 6, 6, 3)), GAINS[:3]), OFFSETS[:3])
    assert refused(b, b.pool("MAX_POOL_2D", x), rules=RULES) == []


@pytest.mark.parametrize("reshaped", [False, True])
@pytest.mark.parametrize("values, legal", [(OFFSETS[:3], False), ([0.5], True)])
def test_channels_before_a_fully_connected_that_flattens(reshaped: bool, values: Any, legal: bool) -> None:
    b = Build()
    x = step(b, "ADD", step(b, "MUL", b.input((1, 2, 2, 3)), values), values)
    if reshaped:
        x = b.op("RESHAPE", [x, b.constant(i32([1, 12]))], (1, 12))
    w = b.constant(np.random.default_rng(5).normal(size=(4, 12)).astype(np.float32))
    y = b.op("FULLY_CONNECTED", [x, w], (1, 4))
    if legal and not reshaped:
        checked(b, y, FLOAT)
    else:
        said = ["the constant's channels are not the weights' input channels"]
        assert refused(b, y, rules=RULES) == ([] if reshaped else said)


def test_a_number_per_input_behind_the_reshape() -> None:
    b = Build()
    flat = b.op("RESHAPE", [b.input((1, 2, 2, 3)), b.constant(i32([1, 12]))], (1, 12))
    w = b.constant(np.random.default_rng(6).normal(size=(4, 12)).astype(np.float32))
    y = b.dense(step(b, "MUL", flat, np.linspace(0.5, 2, 12)), w)
    _, _, model, plan = folded(b, y, rules=RULES)
    assert plan.steps and names(model) == ["RESHAPE", "FULLY_CONNECTED"]


@pytest.mark.parametrize("shape", [(1, 6, 1, 1), (1, 1, 6, 1), (1, 6, 6, 3), (6, 3)])
def test_constants_that_are_not_per_channel(shape: tuple[int, ...]) -> None:
    b = Build()
    x = step(b, "MUL", b.input((1, 6, 6, 3)), np.ones(shape) * 2)
    y = b.conv(x, b.constant(np.ones((2, 1, 1, 3), np.float32)))
    assert refused(b, y, rules=RULES) == ["the constant is not per input channel"]


UNKNOWN = "its input has no known channels"


@pytest.mark.parametrize("channels,reason", [(9, OTHER_CHANNELS), (2 ** 31 - 1, OTHER_CHANNELS), (0, UNKNOWN),
                                             (-1, UNKNOWN)])
def test_more_channels_than_weights(channels: int, reason: str) -> None:
    """Whatever a file says takes no memory."""
    b = Build()
    x = step(b, "MUL", b.input((1, channels)), [2.0])
    y = b.op("FULLY_CONNECTED", [x, b.constant(np.ones((2, 4), np.float32))], (1, 2))
    assert refused(b, y, rules=RULES) == [reason]


def test_one_number_for_all_that_becomes_channels() -> None:
    b = Build()
    y = b.dense(step(b, "MUL", b.input(()), GAINS[:3], shape=(1, 3)), b.constant(np.ones((2, 3), np.float32)))
    assert refused(b, y, rules=RULES) == ["the constant is not per input channel"]


def test_a_constant_that_makes_the_tensor_larger() -> None:
    b = Build()
    x = step(b, "MUL", b.input((1, 6, 6, 1)), np.ones(3) * 2, shape=(1, 6, 6, 3))
    y = b.conv(x, b.constant(np.ones((2, 1, 1, 3), np.float32)))
    assert refused(b, y, rules=RULES) == ["the constant makes the tensor larger"]


def test_the_rounding_of_inner_tensors_over_every_integer() -> None:
    """Against the definition: of the values that no inner tensor clips. Channel 2 keeps one of them, channel 3 none."""
    b = Build()
    x = b.input((1, 6, 6, 4), scale=0.02, zero_point=-100)
    middle, inner = (b.tensor(x.shape, scale=s, zero_point=z) for s, z in ((0.013, 2), (0.021, -9)))
    gains, offsets = np.array([1.5, -0.75, 200, 0]), np.array([0.25, -0.5, 0.3, 9])
    for name, out in (("MUL", middle), ("ADD", inner)):
        b.add(name, [x, b.constant(i8([1]), 1.0)], [out])
    steps = [Step(b.operators[0], x, gains, np.zeros(4)), Step(b.operators[1], middle, np.ones(4), offsets)]
    mean, variance = inner_error(x, steps, Kernel(-128, 127, 2.0 ** 31, False))
    left = []
    for channel, (gain, offset) in enumerate(zip(gains, offsets)):
        errors = []
        for real in ((q + 100) * x.scale for q in range(-128, 128)):
            first = round(real * gain / middle.scale)
            second = round((first * middle.scale + offset) / inner.scale)
            if -128 <= first + 2 <= 127 and -128 <= second - 9 <= 127:
                errors.append(second * inner.scale - (real * gain + offset))
        left.append(len(errors))
        np.testing.assert_allclose(mean[channel], np.mean(errors or [0]), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(variance[channel], np.var(errors or [0]), rtol=1e-9, atol=1e-15)
    assert left[0] not in (0, 256) and left[2:] == [1, 0], left


def test_the_estimated_errors_are_tflms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inner tensors whose rounding has a mean; a gain for each column rounds weights anew, in channel 3 to nothing."""
    b, rng = Build(), np.random.default_rng(14)
    x = b.input((4000, 24), scale=0.02, zero_point=-60)
    inner = step(b, "ADD", step(b, "MUL", x, np.resize([1, 0.6, 1.4], 24), 0.06), np.full(24, 0.005), 0.06)
    integers = random_int8(rng, (4, 24))
    integers[3] = np.resize([0, 1, 0], 24)
    w, bias = b.constant(integers, 0.004), b.constant(i32([0, 0, 0, 50]), 0.06 * 0.004)
    y = b.dense(inner, w, bias, scale=0.05)
    weights, gain, offset = w.real(), read(b.operators[0], 1).real(), read(b.operators[1], 1).real()
    estimated, measured = estimated_and_measured(
        affine_before, b, y, lambda x: (x * gain + offset) @ weights.T + bias.real(), monkeypatch)
    np.testing.assert_allclose(estimated[0, :3], measured[0, :3], rtol=0.1)
    np.testing.assert_allclose(estimated[1], measured[1], rtol=0.1)


def test_weights_that_another_operator_reads_are_copied() -> None:
    b = Build()
    x = b.input((1, 6, 6, 3))
    w = b.constant(np.random.default_rng(7).normal(size=(2, 1, 1, 3)).astype(np.float32))
    old = w.array().copy()
    before, after, model, plan = folded(b, b.conv(step(b, "MUL", x, GAINS[:3]), w), b.conv(x, w), rules=RULES)
    assert plan.steps and names(model) == ["CONV_2D"] * 2
    for a, c in zip(outputs(before), outputs(after)):
        np.testing.assert_allclose(c, a, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(w.array(), old)


def test_an_offset_too_large_for_the_bias_does_not_wrap() -> None:
    b = Build()
    x = step(b, "ADD", b.input((1, 16, 16, 3), scale=1e-9), [2.0], 0.02)
    w = b.constant(random_int8(np.random.default_rng(8), (2, 1, 1, 3)), [0.01, 0.02])
    model = checked(b, b.conv(x, w, scale=0.1, padding="VALID"), PER_CHANNEL)
    bias = root(model).inputs[2]
    assert bias is not None and (np.abs(bias.array().astype(np.int64)) <= 2 ** 30 + 64).all()
    np.testing.assert_allclose(bias.real(), w.real().sum((1, 2, 3)) * 2, rtol=0.02)
