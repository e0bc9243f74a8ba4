"""An operator writes at once the scale that a QUANTIZE behind it gives its result."""
from __future__ import annotations

import numpy as np
import pytest
import tflite

from tflfuse.folds.quantize_into_producer import quantize_into_producer
from tflfuse.ir import Tensor
from tflfuse.plan import rewrite

from ..build import ACTIVATION, Build, names
from .checks import closer, folded, outputs, refused
from .kinds import ELEMENTWISE, FLOAT, INT16, PER_CHANNEL, PER_TENSOR, POOLS, WEIGHTED, computed

RULES = [quantize_into_producer]
TOO_SMALL = "the output's scale is too small for the multiplier of the operator's kernel"


def requantized(b: Build, x: Tensor, scale: float, zero_point: int = 0, dtype: object = None) -> Tensor:
    return b.op("QUANTIZE", [x], x.shape, dtype or x.dtype, scale, zero_point)


@pytest.mark.parametrize("kind,numbers", [(k, n) for k in WEIGHTED for n in (PER_CHANNEL, PER_TENSOR, INT16)]
                         + [(k, n) for k in ELEMENTWISE for n in (PER_CHANNEL, INT16)])
@pytest.mark.parametrize("factor", [0.6, 1.7])
def test_the_producer_writes_the_scale_and_the_error_does_not_grow(kind: str, numbers: str, factor: float) -> None:
    b = Build()
    x = computed(b, kind, numbers)
    model = closer(b, requantized(b, x, x.scale * factor, 0 if numbers == INT16 else 17), rules=RULES)
    assert names(model) == [kind]


@pytest.mark.parametrize("own", ["RELU", "RELU6", "RELU_N1_TO_1"])
def test_an_activation_keeps_its_meaning_in_the_other_scale(own: str) -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL, (0.05, -10), own)
    model = closer(b, requantized(b, x, 0.03, 5), rules=RULES)
    assert [o.activation for o in model.subgraphs[0].operators] == [ACTIVATION[own]]


def test_a_range_that_ends_at_zero_becomes_the_activation_that_it_was() -> None:
    """The inner zero point -128 clamps at zero; the new range does not."""
    for scale, activation in ((0.05, "RELU"), (6 / 255, "RELU6")):
        b = Build()
        x = computed(b, "CONV_2D", PER_CHANNEL, (scale, -128))
        model = closer(b, requantized(b, x, 0.06, 0), rules=RULES)
        assert [o.activation for o in model.subgraphs[0].operators] == [ACTIVATION[activation]]


def test_a_range_that_ends_at_zero_from_below_is_no_activation() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL, (0.05, 127))
    assert refused(b, requantized(b, x, 0.06, 0), rules=RULES) == ["no fused activation clamps to [-inf, 0]"]


def test_an_activation_that_is_no_clamp() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL, activation="TANH")
    assert refused(b, requantized(b, x, 0.06), rules=RULES) == ["its fused activation TANH is no clamp"]


def test_two_readers_that_want_other_scales() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    y, z = requantized(b, x, 0.02), requantized(b, x, 0.03)
    assert refused(b, y, z, rules=RULES) == ["its result has more than one reader"] * 2


def test_a_result_that_is_an_output() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    assert refused(b, requantized(b, x, 0.02), x, rules=RULES) == ["its result is an output of the model"]


@pytest.mark.parametrize("kind", [*POOLS])
def test_a_pool_keeps_the_scale_of_its_input(kind: str) -> None:
    b = Build()
    assert refused(b, requantized(b, computed(b, kind, PER_CHANNEL), 0.02), rules=RULES) == [
        f"TFLM's {kind} cannot change the scale"]


@pytest.mark.parametrize("kind", ["SOFTMAX", "LOGISTIC", "TANH", "RESHAPE"])
def test_fixed_scales(kind: str) -> None:
    b = Build()
    x = b.input((1, 8), scale=0.1, zero_point=3)
    zero = 0 if kind == "TANH" else -128
    y = b.op(kind, [x], x.shape, scale=1 / 256, zero_point=zero)
    assert refused(b, requantized(b, y, 0.02), rules=RULES) == [f"TFLM's {kind} cannot change the scale"]


def test_concatenation_and_its_own_scale() -> None:
    b = Build()
    x = b.input((1, 8), scale=0.1, zero_point=3)
    y = b.op("CONCATENATION", [x, x], (1, 16), scale=0.1, zero_point=3, axis=1)
    assert refused(b, requantized(b, y, 0.02), rules=RULES) == ["TFLM's CONCATENATION cannot change the scale"]


def test_another_type() -> None:
    b = Build()
    x = computed(b, "CONV_2D", INT16)
    assert refused(b, requantized(b, x, 0.02, 3, np.int8), rules=RULES) == [
        "TFLM's CONV_2D cannot turn INT16 into INT8"]
    b = Build()
    x = computed(b, "CONV_2D", FLOAT)
    assert refused(b, requantized(b, x, 0.02, 3, np.int8), rules=RULES) == ["it turns real numbers into integers"]


def test_a_quantize_that_changes_nothing_is_no_business_of_this_rule() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    assert refused(b, requantized(b, x, x.scale, x.zero_point), rules=RULES) == []


@pytest.mark.parametrize("kind,numbers,scale", [
    ("ADD", PER_CHANNEL, 2 / 32 / 2 ** 20), ("SUB", PER_CHANNEL, 2 / 32 / 2 ** 20), ("ADD", INT16, 2 / 8192 / 2 ** 15),
    ("MUL", PER_CHANNEL, 1 / 1024), ("CONV_2D", PER_CHANNEL, 1e-5), ("CONV_2D", INT16, 1e-9)])
def test_a_multiplier_of_one_or_more_would_end_tflm(kind: str, numbers: str, scale: float) -> None:
    b = Build()
    assert refused(b, requantized(b, computed(b, kind, numbers), scale), rules=RULES) == [TOO_SMALL]


@pytest.mark.parametrize("kind,numbers,scale", [
    ("ADD", PER_CHANNEL, 2 / 32 / 2 ** 20), ("SUB", PER_CHANNEL, 2 / 32 / 2 ** 20), ("ADD", INT16, 2 / 8192 / 2 ** 15),
    ("MUL", PER_CHANNEL, 1 / 1024)])
def test_a_multiplier_just_below_one_runs(kind: str, numbers: str, scale: float) -> None:
    b = Build()
    _, after, model, _ = folded(b, requantized(b, computed(b, kind, numbers), scale * 1.0001), rules=RULES)
    assert names(model) == [kind] and outputs(after)


def test_an_int16_zero_point() -> None:
    b = Build()
    assert refused(b, requantized(b, computed(b, "CONV_2D", INT16), 0.001, 4), rules=RULES) == [
        "TFLM wants zero point 0 in int16"]


def test_a_dense_layer_whose_bias_has_a_scale_of_its_own() -> None:
    """TFLM takes it as long as the difference is small in steps of the output, which become smaller here."""
    b = Build()
    x = b.input((1, 8), scale=0.1)
    w = b.constant(np.ones((2, 8), np.int8), 0.1)
    y = b.dense(x, w, b.constant(np.array([9, -9], np.int32), 0.012), scale=0.5)
    z = requantized(b, y, 0.05)
    assert refused(b, z, rules=RULES) == ["the bias has a scale that FULLY_CONNECTED would no longer take"]


def test_every_reader_follows() -> None:
    b = Build()
    y = requantized(b, computed(b, "CONV_2D", PER_CHANNEL), 0.02, 4)
    z = b.op("ADD", [y, y], y.shape, scale=0.05)
    model = b.model(y, z)
    rewrite(model, RULES)
    graph = model.subgraphs[0]
    assert names(model) == ["CONV_2D", "ADD"]
    assert graph.operators[0].outputs == [graph.outputs[0]] and graph.operators[1].inputs == [graph.outputs[0]] * 2
    assert graph.outputs[0].type == tflite.TensorType.INT8


def test_a_value_without_a_scale() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    y = requantized(b, x, 0.02)
    x.quantization = None
    assert refused(b, y, rules=RULES) == ["a value has no scale"]
