"""Constant multiplications and additions behind an operator go into its weights and bias."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tflite

from tflfuse.folds.affine_after import affine_after
from tflfuse.plan import rewrite

from ..build import ACTIVATION, Build, names, random_int8
from .affine import (GAINS, OFFSETS, declined, estimated_and_measured, f32, i32, nearly, operand, read, root, scales,
                     small, small8, step)
from .checks import folded, refused
from .kinds import FLOAT, INT16, NUMBERS, PER_CHANNEL, PER_TENSOR, WEIGHTED, computed

RULES = [affine_after]
checked = partial(nearly, RULES)
reasons = partial(declined, RULES)
QUANTIZED = (PER_CHANNEL, PER_TENSOR, INT16)
LIKE_RELU = "the inner tensor's range ends at zero and clips like a RELU"
BETWEEN = "an activation lies between"


def one_scale(kind: str, numbers: str) -> bool:
    """Operators with one weight scale that 16-bit results are too fine to change."""
    return kind == "FULLY_CONNECTED" and numbers == INT16


# What is folded

@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("kind", WEIGHTED)
def test_mul_then_add(kind: str, numbers: str, activation: str) -> None:
    b = Build()
    conv = computed(b, kind, numbers)
    channels = conv.shape[-1]
    gains = np.full(channels, -0.75) if one_scale(kind, numbers) else GAINS[:channels]
    y = step(b, "ADD", step(b, "MUL", conv, gains), OFFSETS[:channels], 1 / 16, activation=activation)
    model = checked(b, y, numbers, 1000)
    assert names(model) == [kind]
    assert root(model).activation == ACTIVATION[activation]
    if numbers != FLOAT:
        w, bias = operand(model, 1).quantization, operand(model, 3 if kind == "TRANSPOSE_CONV" else 2).quantization
        assert w is not None and w.scale is not None and bias is not None and bias.scale is not None
        x = operand(model, 2 if kind == "TRANSPOSE_CONV" else 0)
        np.testing.assert_array_equal(bias.scale, (x.scale * w.scale.astype(np.float64)).astype(np.float32))
        assert not bias.zeros.any() and not w.zeros.any() and (w.scale > 0).all()
        if numbers == PER_TENSOR:
            assert (len(w.scale) == 1) == (kind == "FULLY_CONNECTED")


SPELLINGS: dict[str, list[tuple[str, bool]]] = {
    "x * k": [("MUL", False)], "k * x": [("MUL", True)], "x + k": [("ADD", False)], "k + x": [("ADD", True)],
    "x - k": [("SUB", False)], "k - x": [("SUB", True)], "x / k": [("DIV", False)],
    "(x + k) * k": [("ADD", False), ("MUL", False)], "(x - mean) / deviation": [("SUB", False), ("DIV", False)],
    "(x - mean) / deviation * gamma + beta": [("SUB", False), ("DIV", False), ("MUL", True), ("ADD", True)],
    "k - (k - x * k) ": [("MUL", False), ("SUB", True), ("SUB", True)]}


@pytest.mark.parametrize("numbers", [FLOAT, PER_CHANNEL])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling(spelling: str, numbers: str) -> None:
    b = Build()
    y = computed(b, "CONV_2D", numbers)
    for name, first in SPELLINGS[spelling]:
        values = OFFSETS[:4] if name in ("ADD", "SUB") else GAINS[:4]
        y = step(b, name, y, values, first=first)
    assert names(checked(b, y, numbers)) == ["CONV_2D"]


def test_a_constant_over_the_value_is_not_affine() -> None:
    b = Build()
    y = step(b, "DIV", small(b), [1.0], first=True)
    assert refused(b, y, rules=RULES) == []


def test_the_gain_goes_by_output_channels_where_all_sizes_are_equal() -> None:
    rng = np.random.default_rng(1)
    w, bias = rng.normal(size=(3, 3, 3, 3)).astype(np.float32), f32([1, 2, 3])
    b = Build()
    conv = b.conv(b.input((1, 3, 3, 3)), b.constant(w), b.constant(bias))
    model = checked(b, step(b, "ADD", step(b, "MUL", conv, [2, 3, 5]), [7, 11, 13]), FLOAT)
    np.testing.assert_array_equal(operand(model, 1).array(), w * f32([2, 3, 5]).reshape(3, 1, 1, 1))
    np.testing.assert_array_equal(operand(model, 2).array(), f32([9, 17, 28]))


def test_the_gain_goes_by_the_rows_of_a_square_fully_connected() -> None:
    w = np.arange(16, dtype=np.float32).reshape(4, 4)
    b = Build()
    dense = b.dense(b.input((1, 4)), b.constant(w), b.constant(f32([1, 2, 3, 4])))
    model = checked(b, step(b, "ADD", step(b, "MUL", dense, [2, 3, 5, 7]), [1, 1, 1, 1]), FLOAT)
    np.testing.assert_array_equal(operand(model, 1).array(), w * f32([2, 3, 5, 7])[:, None])
    np.testing.assert_array_equal(operand(model, 2).array(), f32([3, 7, 16, 29]))


@pytest.mark.parametrize("option", [0, 1, 3])
def test_a_depth_multiplier_follows_from_the_shapes(option: int) -> None:
    w = np.arange(24, dtype=np.float32).reshape(1, 2, 2, 6)
    b = Build()
    conv = b.depthwise(b.input((1, 4, 4, 2)), b.constant(w), depth_multiplier=option)
    y = step(b, "MUL", conv, [1, 2, 3, 4, 5, 6])
    model = b.model(y)
    rewrite(model, RULES)
    assert names(model) == ["DEPTHWISE_CONV_2D"] and root(model).option("depth_multiplier") == 3
    np.testing.assert_array_equal(operand(model, 1).array(), w * f32([1, 2, 3, 4, 5, 6]))


@pytest.mark.parametrize("kind, given", [(k, g) for k in WEIGHTED for g in ("left out", "-1")
                                         if (k, g) != ("DEPTHWISE_CONV_2D", "-1")])  # TFLM crashes, LiteRT refuses
@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_bias_is_created(kind: str, numbers: str, given: str) -> None:
    b = Build()
    conv = computed(b, kind, numbers)
    inputs = b.operators[-1].inputs
    b.operators[-1].inputs = [*inputs[:-1], None] if given == "-1" else inputs[:-1]
    gains = [0.75] if one_scale(kind, numbers) else GAINS[:conv.shape[-1]]
    y = step(b, "ADD", step(b, "MUL", conv, gains), OFFSETS[:conv.shape[-1]], 1 / 16)
    model = checked(b, y, numbers)
    assert names(model) == [kind]
    bias = root(model).inputs[-1]
    assert len(root(model).inputs) == len(inputs) and bias is not None and bias.shape == (conv.shape[-1],)
    if numbers == INT16:
        assert bias.type == tflite.TensorType.INT64


@pytest.mark.parametrize("given", [[], [None]])
def test_no_bias_is_created_for_a_gain_alone(given: list[None]) -> None:
    b = Build()
    conv = small(b)
    b.operators[0].inputs[2:] = given
    model = checked(b, step(b, "MUL", conv, GAINS[:4]), FLOAT)
    assert root(model).inputs[2:] == given


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1, 1), (4,), (1, 4), (1, 1, 4), (1, 1, 1, 4)])
def test_constants_per_channel(shape: tuple[int, ...], first: bool) -> None:
    b = Build()
    k = GAINS[:int(np.prod(shape, dtype=int))].reshape(shape)
    y = step(b, "ADD", step(b, "MUL", small(b, size=4), k, first=first), k, first=first)
    assert names(checked(b, y, FLOAT)) == ["CONV_2D"]


@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (1, 1, 4, 1), (1, 4, 4, 4), (4, 1), (4, 1, 1), (4, 4), (1, 4, 1, 4)])
def test_constants_that_are_not_per_channel(shape: tuple[int, ...]) -> None:
    b = Build()
    y = step(b, "MUL", small(b, size=4), np.ones(shape) * 2)
    assert refused(b, y, rules=RULES) == ["the constant is not per output channel"]


def test_one_number_per_row_of_a_batch_is_not_per_channel() -> None:
    b = Build()
    y = step(b, "MUL", b.dense(b.input((4, 3)), b.constant(np.ones((4, 3), np.float32))), np.ones((4, 1)))
    assert refused(b, y, rules=RULES) == ["the constant is not per output channel"]


@pytest.mark.parametrize("constant_shape, result", [((8,), (1, 4, 4, 8)), ((1, 1, 1, 1, 1), (1, 1, 4, 4, 1))])
@pytest.mark.parametrize("name", ["MUL", "ADD"])
def test_a_constant_that_makes_the_tensor_larger(name: str, constant_shape: tuple[int, ...], result: Any) -> None:
    b = Build()
    y = step(b, name, small(b, channels=1), np.ones(constant_shape) * 2, shape=result)
    assert reasons(b.model(y)) == ["the constant makes the tensor larger"]


def test_a_reshape_between_is_left_alone() -> None:
    b = Build()
    flat = b.op("RESHAPE", [small(b), b.constant(i32([1, 64]))], (1, 64))
    assert refused(b, step(b, "MUL", flat, np.arange(64) + 1), rules=RULES) == []


def test_a_fully_connected_of_more_dimensions() -> None:
    b = Build()
    x, w = b.input((1, 5, 3), scale=0.05), b.constant(random_int8(np.random.default_rng(2), (4, 3)), 0.01)
    dense = b.op("FULLY_CONNECTED", [x, w], (1, 5, 4), scale=0.06, zero_point=2, keep_num_dims=True)
    model = checked(b, step(b, "ADD", step(b, "MUL", dense, GAINS[:1]), OFFSETS[:4]), PER_TENSOR)
    assert root(model).option("keep_num_dims")


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"])
@pytest.mark.parametrize("of_input", [True, False])
def test_what_is_no_image(kind: str, of_input: bool) -> None:
    b = Build()
    y = computed(b, kind, FLOAT)
    (b.inputs[0] if of_input else y).shape = () if of_input else y.shape[1:]
    z = step(b, "MUL", y, [2.0])
    assert refused(b, z, rules=RULES) == ["its input or output is not [batch, height, width, channels]"]


def test_a_grouped_convolution() -> None:
    b = Build()
    w = b.constant(random_int8(np.random.default_rng(3), (4, 3, 3, 2)), [0.005, 0.006, 0.007, 0.008])
    conv = b.conv(b.input((1, 8, 8, 4), scale=0.05), w, scale=0.1)
    assert names(checked(b, step(b, "MUL", conv, GAINS[:4], 0.1), PER_CHANNEL)) == ["CONV_2D"]


# Activations and readers

def test_an_activation_of_the_convolution_lies_between() -> None:
    b = Build()
    assert refused(b, step(b, "MUL", small(b, activation="RELU"), GAINS[:4]), rules=RULES) == [BETWEEN]


def test_an_activation_of_an_inner_step_lies_between() -> None:
    b = Build()
    y = step(b, "ADD", step(b, "MUL", small(b), GAINS[:4], activation="RELU"), OFFSETS[:4])
    _, _, model, plan = folded(b, y, rules=RULES)
    assert names(model) == ["CONV_2D", "ADD"] and [r.reason for r in plan.refusals] == [BETWEEN]
    assert model.subgraphs[0].operators[0].activation == ACTIVATION["RELU"]


def test_an_activation_that_is_no_clamp() -> None:
    b = Build()
    y = step(b, "MUL", small(b), GAINS[:4], activation="TANH")
    assert reasons(b.model(y)) == ["its fused activation TANH is no clamp"]


@pytest.mark.parametrize("zero", [-128, 127])
@pytest.mark.parametrize("where", ["convolution", "inner step", "last step"])
def test_a_range_that_ends_at_zero_clips_between_two_operators_only(where: str, zero: int) -> None:
    b = Build()
    inner = computed(b, "CONV_2D", PER_CHANNEL, (1 / 16, zero if where == "convolution" else -5))
    y = step(b, "MUL", inner, GAINS[:4], zero_point=zero if where == "inner step" else 3)
    y = step(b, "ADD", y, OFFSETS[:4], zero_point=zero if where == "last step" else 3)
    if where == "last step":
        assert names(checked(b, y, PER_CHANNEL)) == ["CONV_2D"]
    elif where == "convolution":
        assert set(refused(b, y, rules=RULES)) == {LIKE_RELU}
    else:
        _, _, model, plan = folded(b, y, rules=RULES)
        assert names(model) == ["CONV_2D", "ADD"] and LIKE_RELU in {r.reason for r in plan.refusals}


def test_a_value_with_two_readers_stays() -> None:
    b = Build()
    conv = small(b)
    y = b.op("ADD", [conv, step(b, "MUL", conv, GAINS[:4])], conv.shape)
    assert refused(b, y, rules=RULES) == ["its result has more than one reader"]


def test_exact_refuses_it() -> None:
    b = Build()
    plan = rewrite(b.model(step(b, "MUL", small(b), GAINS[:4])), RULES, exact=True)
    assert not plan.steps and [r.reason for r in plan.refusals] == ["the result would not be the same bits"]


# The integers

def test_a_gain_leaves_the_integers_and_their_buffer() -> None:
    b = Build()
    w = random_int8(np.random.default_rng(4), (4, 1, 1, 3))
    conv = small8(b, w, [0.01, 0.011, 0.012, 0.013])
    model = checked(b, step(b, "MUL", conv, [1.5, 0.75, 0.5, 1.25]), PER_CHANNEL)
    np.testing.assert_array_equal(operand(model, 1).array(), w)
    gain = b.operators[1].inputs[1]
    assert gain is not None
    want = f32([0.01, 0.011, 0.012, 0.013]) * gain.real()
    np.testing.assert_allclose(scales(operand(model, 1)), want, rtol=1e-7)


@pytest.mark.parametrize("numbers", [PER_CHANNEL, PER_TENSOR])
def test_a_negative_gain_and_the_integer_that_has_no_opposite(numbers: str) -> None:
    b = Build()
    w = random_int8(np.random.default_rng(5), (4, 1, 1, 8))
    w[:, 0, 0, 0] = -128
    conv = small8(b, w, [0.003] * 4 if numbers == PER_CHANNEL else 0.003)
    model = checked(b, step(b, "MUL", conv, [-1.5, 0.75, -0.5, 1.25]), numbers)
    new = operand(model, 1).array()
    np.testing.assert_array_equal(new[[1, 3]], w[[1, 3]])
    assert (new[[0, 2], 0, 0, 0] == 127).all()


def test_a_filter_of_integers_that_have_no_opposite_gets_a_larger_scale() -> None:
    b = Build()
    w = np.full((1, 1, 1, 8), -128)
    w[0, 0, 0, 0] = 0
    conv = small8(b, w, 0.003)
    model = checked(b, step(b, "MUL", conv, [-1.0]), PER_TENSOR)
    gain = read(b.operators[1], 1).real().item()
    np.testing.assert_array_equal(operand(model, 1).array().reshape(-1), [0] + [127] * 7)
    np.testing.assert_allclose(scales(operand(model, 1)), -gain * 0.003 * 128 / 127, rtol=1e-6)


def test_gains_of_every_kind() -> None:
    b = Build()
    w = random_int8(np.random.default_rng(6), (4, 1, 1, 8))
    conv = small8(b, w, [0.003, 0.004, 0.005, 0.006])
    model = checked(b, step(b, "ADD", step(b, "MUL", conv, [-2, 0, 1e-38, 1]), [3, 3, 3, -1]), PER_CHANNEL)
    scale = scales(operand(model, 1))
    assert (scale >= np.finfo(np.float32).tiny).all()
    assert not operand(model, 1).array()[1:3].any()
    np.testing.assert_allclose(operand(model, 2).real()[1:3], 3, rtol=0.02)


@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED"])
def test_a_tiny_gain_with_a_large_offset_does_not_wrap(kind: str) -> None:
    b = Build()
    conv = computed(b, kind, PER_TENSOR)
    y = step(b, "ADD", step(b, "MUL", conv, np.full(4, 1e-7), 1e-8), [3, -3, 2, 1])
    model = checked(b, y, PER_TENSOR)
    bias = operand(model, 2)
    np.testing.assert_allclose(bias.real(), [3, -3, 2, 1], rtol=0.02)
    assert (np.abs(bias.array().astype(np.int64)) <= 2 ** 30 + 64).all()


@pytest.mark.parametrize("gain", [1e-12, 1e-30])
def test_the_multiplier_stays_above_what_the_kernel_takes_for_zero(gain: float) -> None:
    b = Build()
    conv = small8(b, random_int8(np.random.default_rng(12), (2, 1, 1, 8)), [0.003, 0.004])
    model = checked(b, step(b, "MUL", conv, [gain], 0.08), PER_CHANNEL)
    assert (operand(model, 0).scale * scales(operand(model, 1)).astype(np.float64) / 0.08 > 2.0 ** -32).all()


def test_weights_of_a_billionth_with_a_bias_of_five() -> None:
    b = Build()
    w = random_int8(np.random.default_rng(7), (2, 1, 1, 8))
    conv = small8(b, w, [1e-11, 0.005])
    model = checked(b, step(b, "ADD", conv, [5, 0.5], 0.06), PER_CHANNEL)
    np.testing.assert_allclose(operand(model, 2).real(), [5, 0.5], rtol=0.02)


def test_an_output_scale_too_small_for_the_sums() -> None:
    b = Build()
    conv = small8(b, random_int8(np.random.default_rng(8), (2, 1, 1, 8)), 0.01)
    model = b.model(step(b, "MUL", conv, [1.5, 2], 1e-13))
    assert reasons(model) == ["the output's scale is too small for the kernel's multiplier"]


@pytest.mark.parametrize("off", ["its own", "one for all", "none", "along dimension 3"])
def test_the_scale_of_the_bias(off: str) -> None:
    b = Build()
    w = random_int8(np.random.default_rng(9), (4, 1, 1, 8))
    weight_scales = np.array([0.003, 0.004, 0.005, 0.006])
    units = 0.02 * weight_scales
    given: Any = {"its own": units * 1.01, "one for all": 0.0001, "none": None, "along dimension 3": units}[off]
    whole = i32([1000, -2000, 500, 3000])
    bias = b.constant(whole, given, axis=3 if off == "along dimension 3" else 0)
    conv = small8(b, w, weight_scales, bias)
    model = b.model(step(b, "ADD", step(b, "MUL", conv, [1.5], 0.08), [0.25], 0.08))
    gain, offset = (read(o, 1).real().item() for o in model.subgraphs[0].operators[1:])
    assert rewrite(model, RULES).steps
    want = whole * (units if given is None else given) * gain + offset
    new = operand(model, 2)
    np.testing.assert_allclose(new.real(), want, atol=float((units * gain).max()) / 2)
    np.testing.assert_allclose(scales(new), units * gain, rtol=1e-6)
    assert new.quantization is not None and new.quantization.quantized_dimension == 0


# One scale for all channels

def test_a_fully_connected_keeps_one_scale() -> None:
    b = Build()
    conv = computed(b, "FULLY_CONNECTED", PER_TENSOR)
    old = read(b.operators[0], 1).array()
    model = checked(b, step(b, "MUL", conv, [-1.5]), PER_TENSOR)
    np.testing.assert_array_equal(operand(model, 1).array(), -old)
    assert len(scales(operand(model, 1))) == 1


@pytest.mark.parametrize("gains, anew", [([1.5, -0.75, 0.5, 1.25], True), ([1, -1, 1, 0.8], False),
                                         ([0.5, 0.5, 0.45, 0.25], False)])
def test_a_fully_connected_with_different_gains_gets_one_new_scale(gains: list[float], anew: bool) -> None:
    """By which the largest weight becomes 127, or at which the integers of most channels stay."""
    b = Build()
    w = random_int8(np.random.default_rng(11), (4, 32))
    w[0] = w[0] // 2
    x = b.input((8, 32), scale=0.02, zero_point=-7)
    y = step(b, "MUL", b.dense(x, b.constant(w, 0.002), scale=1 / 20, zero_point=2), gains, 1 / 20)
    gain = read(b.operators[1], 1).real()
    model = checked(b, y, PER_TENSOR)
    want = np.abs(w * 0.002 * gain[:, None]).max() / 127 if anew else 0.002 * gain.max()
    np.testing.assert_allclose(scales(operand(model, 1)), [want], rtol=1e-6)


def test_the_estimated_errors_are_tflms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of one scale are rounded anew: about as much of the error as the output's rounding; in channel 3, all."""
    b, rng = Build(), np.random.default_rng(13)
    integers = random_int8(rng, (4, 24))
    integers[3] = [1] * 6 + [0] * 18
    w, bias = b.constant(integers, 0.004), b.constant(i32([3000, -2000, 0, 0]), 0.02 * 0.004)
    dense = b.dense(b.input((4000, 24), scale=0.02, zero_point=-60), w, bias, scale=0.12, zero_point=2)
    y = step(b, "ADD", step(b, "MUL", dense, [1, -0.8, 0.9, 0.3], 0.1), [0.5, -0.5, 0.25, 0.012], 0.04)
    weights, gain, offset = w.real(), read(b.operators[1], 1).real(), read(b.operators[2], 1).real()
    estimated, measured = estimated_and_measured(
        affine_after, b, y, lambda x: (x @ weights.T + bias.real()) * gain + offset, monkeypatch)
    np.testing.assert_allclose(estimated, measured, rtol=0.1)


@pytest.mark.parametrize("numbers", [PER_TENSOR, INT16])
def test_gains_too_different_for_one_scale(numbers: str) -> None:
    b = Build()
    conv = computed(b, "FULLY_CONNECTED", numbers)
    y = step(b, "MUL", conv, [4, 0.03, 0.03, 0.05])
    assert refused(b, y, rules=RULES) == [
        "re-quantizing the weights to one scale would bring the result further from the real-valued function"]
