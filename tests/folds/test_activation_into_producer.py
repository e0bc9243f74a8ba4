"""Standalone activations go into the operator that computes their input, and clamp there exactly what they clamped."""
from __future__ import annotations

import numpy as np
import pytest

from tflfuse import flatbuffer
from tflfuse.folds.activation_into_producer import activation_into_producer
from tflfuse.ir import Model, Tensor
from tflfuse.plan import rewrite
from tflfuse.tflm import Interpreter

from ..build import ACTIVATION, Build, names
from .checks import closer, exact, refused
from .kinds import ELEMENTWISE, FLOAT, INT16, NUMBERS, PER_CHANNEL, POOLS, WEIGHTED, computed

RULES = [activation_into_producer]
IN_TFLM = ("RELU", "RELU6")
EVERY_PRODUCER = [(k, n) for k in WEIGHTED for n in NUMBERS] + [
    (k, n) for k in (*ELEMENTWISE, *POOLS) for n in (FLOAT, PER_CHANNEL, INT16)] + [("DIV", FLOAT)]


def clamped(b: Build, name: str, x: Tensor, **more: object) -> Tensor:
    """An activation whose result has its input's quantization, unless told otherwise."""
    if x.quantization is not None and "scale" not in more:
        more.update(scale=x.scale, zero_point=x.zero_point)
    return b.op(name, [x], x.shape, **more)  # type: ignore[arg-type]


def bounded(b: Build, name: str, x: Tensor, bound: float) -> Tensor:
    """MINIMUM or MAXIMUM with a constant in the quantization of x, which stands first: see the test on NaN."""
    if x.quantization is None:
        return b.op(name, [b.constant(np.array(bound, np.float32)), x], x.shape)
    integer = np.array(round(bound / x.scale) + x.zero_point, x.dtype)
    constant = b.constant(integer, x.scale, x.zero_point)
    return b.op(name, [x, constant], x.shape, scale=x.scale, zero_point=x.zero_point)


def activation_of(model: Model) -> str:
    return {code: name for name, code in ACTIVATION.items()}[model.subgraphs[0].operators[-1].activation]


@pytest.mark.parametrize("name", IN_TFLM)
@pytest.mark.parametrize("kind,numbers", EVERY_PRODUCER)
def test_every_producer_clamps_as_the_activation_did(kind: str, numbers: str, name: str) -> None:
    b = Build()
    model = exact(b, clamped(b, name, computed(b, kind, numbers)), rules=RULES)
    assert names(model) == [kind] and activation_of(model) == name


@pytest.mark.parametrize("kind,numbers", [("CONV_2D", FLOAT), ("CONV_2D", PER_CHANNEL), ("ADD", PER_CHANNEL),
                                          ("FULLY_CONNECTED", FLOAT), ("MAX_POOL_2D", PER_CHANNEL)])
def test_an_activation_that_only_litert_has(kind: str, numbers: str) -> None:
    b = Build()
    model = exact(b, clamped(b, "RELU_N1_TO_1", computed(b, kind, numbers)), rules=RULES, litert=True)
    assert names(model) == [kind] and activation_of(model) == "RELU_N1_TO_1"


@pytest.mark.parametrize("scale,zero_point", [(0.01, -128), (0.01, 127), (0.05, -10), (0.03, 5), (0.2, 0),
                                              (2.635963e-7, 3), (6 / 255, -128), (24.0, -100), (4.0, -10)])
@pytest.mark.parametrize("name", IN_TFLM)
def test_the_clamp_in_integers_is_tflms(name: str, scale: float, zero_point: int) -> None:
    """Six lies outside of the range, on its end, inside, half a step away; zero on an end or between."""
    b = Build()
    x = b.input((1, 16, 16, 1), scale=scale, zero_point=zero_point)
    pooled = b.pool("MAX_POOL_2D", x, 1, scale=scale, zero_point=zero_point)
    model = exact(b, clamped(b, name, pooled), rules=RULES)
    assert names(model) == ["MAX_POOL_2D"]


@pytest.mark.parametrize("numbers", [FLOAT, PER_CHANNEL, INT16])
@pytest.mark.parametrize("own,name,both", [("RELU6", "RELU", "RELU6"), ("RELU", "RELU6", "RELU6"),
                                           ("RELU", "RELU", "RELU"), ("RELU6", "RELU6", "RELU6")])
def test_clamps_intersect(own: str, name: str, both: str, numbers: str) -> None:
    b = Build()
    model = exact(b, clamped(b, name, computed(b, "CONV_2D", numbers, activation=own)), rules=RULES)
    assert names(model) == ["CONV_2D"] and activation_of(model) == both


def test_no_activation_is_found_between_relu_and_relu_n1_to_1_in_float() -> None:
    for own, name in (("RELU", "RELU_N1_TO_1"), ("RELU_N1_TO_1", "RELU"), ("NONE", "RELU_0_TO_1")):
        b = Build()
        value = clamped(b, name, computed(b, "CONV_2D", FLOAT, activation=own))
        assert refused(b, value, rules=RULES) == ["no fused activation clamps to [0, 1]"]


def test_nor_in_integers_with_room_on_both_sides() -> None:
    b = Build()
    value = clamped(b, "RELU_0_TO_1", computed(b, "CONV_2D", PER_CHANNEL, (0.02, 5)))
    assert refused(b, value, rules=RULES) == ["no fused activation clamps to [0, 1]"]


@pytest.mark.parametrize("scale,zero_point,activation", [
    (1 / 255, -128, "RELU_N1_TO_1"), (0.02, -128, "RELU_N1_TO_1"), (0.001, 100, "RELU6")])
def test_a_range_that_clamps_by_itself_helps(scale: float, zero_point: int, activation: str) -> None:
    """[0, 1] is all of the range; from 0 up it is what [-1, 1] leaves; only 1 lies beyond the end."""
    b = Build()
    model = exact(b, clamped(b, "RELU_0_TO_1", computed(b, "CONV_2D", PER_CHANNEL, (scale, zero_point))), rules=RULES,
                  litert=True)
    assert names(model) == ["CONV_2D"] and activation_of(model) == activation


def test_an_activation_that_is_no_clamp_is_not_intersected() -> None:
    b = Build()
    value = clamped(b, "RELU", computed(b, "CONV_2D", FLOAT, activation="TANH"))
    assert refused(b, value, rules=RULES) == ["its fused activation TANH is no clamp"]


@pytest.mark.parametrize("numbers", [FLOAT, PER_CHANNEL])
def test_a_tower_becomes_one_activation(numbers: str) -> None:
    b = Build()
    model = exact(b, clamped(b, "RELU6", clamped(b, "RELU", computed(b, "CONV_2D", numbers))), rules=RULES)
    assert names(model) == ["CONV_2D"] and activation_of(model) == "RELU6"


@pytest.mark.parametrize("numbers", [FLOAT, PER_CHANNEL, INT16])
def test_minimum_and_maximum_together_are_an_activation(numbers: str) -> None:
    out = {PER_CHANNEL: (0.0625, -20), INT16: (2 ** -11, 0)}.get(numbers)
    for first, second in ((("MINIMUM", 6.0), ("MAXIMUM", 0.0)), (("MAXIMUM", 0.0), ("MINIMUM", 6.0))):
        b = Build()
        value = bounded(b, first[0], computed(b, "CONV_2D", numbers, out), first[1])
        model = exact(b, bounded(b, second[0], value, second[1]), rules=RULES)
        assert names(model) == ["CONV_2D"] and activation_of(model) == "RELU6"


@pytest.mark.parametrize("bound_first,zero,exact_step", [(True, 0.0, True), (False, 0.0, False), (True, -0.0, False)])
def test_a_bound_may_stand_for_nan_and_another_zero(bound_first: bool, zero: float, exact_step: bool) -> None:
    b = Build()
    x = b.input((1, 4))
    value = b.op("MUL", [x, b.constant(np.array([-1, -1, 1, 1], np.float32))], x.shape)
    operands = [b.constant(np.array(zero, np.float32)), value]
    model = b.model(b.op("MAXIMUM", operands if bound_first else operands[::-1], x.shape))
    before = flatbuffer.write(model)
    done = rewrite(model, RULES)
    if not exact_step:
        assert [r.reason for r in done.refusals] == ["a NaN, or a zero of the other sign, would come out otherwise"]
        return
    assert done.exact and names(model) == ["MUL"]
    given = np.array([[0, -0.0, -1, np.nan]], np.float32)
    old, new = (Interpreter(data).run([given])[0].tobytes() for data in (before, flatbuffer.write(model)))
    assert old == new


@pytest.mark.parametrize("upper_first", [False, True])
def test_one_step_of_a_tower_that_stands_for_nan_keeps_all_of_it(upper_first: bool) -> None:
    b = Build()
    y = computed(b, "CONV_2D", FLOAT)
    y = bounded(b, "MINIMUM", y, 6.0) if upper_first else y
    y = b.op("MAXIMUM", [y, b.constant(np.zeros((), np.float32))], y.shape)
    y = y if upper_first else bounded(b, "MINIMUM", y, 6.0)
    assert "a NaN, or a zero of the other sign, would come out otherwise" in refused(b, y, rules=RULES)


def test_a_minimum_alone_is_no_activation() -> None:
    b = Build()
    assert refused(b, bounded(b, "MINIMUM", computed(b, "CONV_2D", FLOAT), 6), rules=RULES) == [
        "no fused activation clamps to [-inf, 6]"]


def test_clamps_that_do_not_overlap_depend_on_their_order() -> None:
    b = Build()
    value = bounded(b, "MINIMUM", computed(b, "CONV_2D", FLOAT, activation="RELU"), -2)
    assert refused(b, value, rules=RULES) == ["the clamps to [0, inf] and to [-inf, -2] do not overlap"]


def test_a_bound_for_each_channel_and_one_that_is_no_number() -> None:
    for bound, reason in ((np.zeros(4, np.float32), "the bound is not one number"),
                          (np.full(1, np.nan, np.float32), "the bound is not a finite number")):
        b = Build()
        x = computed(b, "CONV_2D", FLOAT)
        assert refused(b, b.op("MAXIMUM", [x, b.constant(bound)], x.shape), rules=RULES) == [reason]


def test_a_bound_in_another_scale_is_refused() -> None:
    """TFLM's MAXIMUM compares integers."""
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    bound = b.constant(np.zeros(1, np.int8), 0.5, 0)
    value = b.op("MAXIMUM", [x, bound], x.shape, scale=x.scale, zero_point=x.zero_point)
    assert refused(b, value, rules=RULES) == ["the bound has a scale of its own"]


@pytest.mark.parametrize("numbers", [FLOAT, PER_CHANNEL, INT16])
def test_clamps_before_and_after_an_addition_stay_where_they_are(numbers: str) -> None:
    for before, after in (("RELU", "NONE"), ("NONE", "RELU6"), ("RELU6", "RELU")):
        b = Build()
        x = computed(b, "CONV_2D", numbers)
        x = x if before == "NONE" else clamped(b, before, x)
        scale, zero_point = (None, 0) if x.quantization is None else (x.scale, x.zero_point)
        y = b.op("ADD", [x, x], x.shape, scale=scale, zero_point=zero_point)
        model = exact(b, y if after == "NONE" else clamped(b, after, y), rules=RULES)
        assert names(model) == ["CONV_2D", "ADD"]
        assert [o.activation for o in model.subgraphs[0].operators] == [ACTIVATION[before], ACTIVATION[after]]


def test_a_value_that_someone_else_reads_is_not_clamped() -> None:
    b = Build()
    x = computed(b, "CONV_2D", FLOAT)
    y = clamped(b, "RELU", x)
    assert refused(b, b.op("ADD", [x, y], x.shape), rules=RULES) == ["its result has more than one reader"]


def test_a_value_that_is_an_output_is_not_clamped() -> None:
    b = Build()
    x = computed(b, "CONV_2D", FLOAT)
    assert refused(b, clamped(b, "RELU", x), x, rules=RULES) == ["its result is an output of the model"]


def test_an_activation_with_three_readers_that_is_an_output_is_merged() -> None:
    b = Build()
    y = clamped(b, "RELU6", computed(b, "ADD", FLOAT))
    z = b.op("SUB", [b.op("MUL", [y, y], y.shape), y], y.shape)
    model = exact(b, y, z, rules=RULES)
    assert names(model) == ["ADD", "MUL", "SUB"]
    graph = model.subgraphs[0]
    add, mul, sub = graph.operators
    assert graph.outputs[0] is add.outputs[0] is mul.inputs[0] is mul.inputs[1] is sub.inputs[1]


def test_nothing_goes_through_a_concatenation() -> None:
    b = Build()
    x, y = computed(b, "CONV_2D", FLOAT), computed(b, "CONV_2D", FLOAT)
    joined = b.op("CONCATENATION", [x, y], (1, 6, 6, 8), axis=3)
    assert refused(b, clamped(b, "RELU", joined), rules=RULES) == [
        "no operator that takes a fused activation computes its input"]
    b = Build()
    x, y = computed(b, "CONV_2D", FLOAT), computed(b, "CONV_2D", FLOAT)
    assert refused(b, b.op("CONCATENATION", [x, y], (1, 6, 6, 8), axis=3, activation="RELU"), rules=RULES) == []


def test_a_transposed_convolution_gets_the_version_that_has_activations() -> None:
    b = Build()
    x = computed(b, "TRANSPOSE_CONV", FLOAT)
    model = exact(b, clamped(b, "RELU", x), rules=RULES)
    assert [c.version for c in model.operator_codes] == [4]
    assert model.subgraphs[0].operators[0].option("stride_h") == 2


def test_integers_without_a_clamp_in_tflm_are_left() -> None:
    b = Build()
    x = b.input((1, 4), np.int32)
    assert refused(b, clamped(b, "RELU", b.op("ADD", [x, x], (1, 4))), rules=RULES) == [
        "only float32, int8 and int16 are clamped"]


@pytest.mark.parametrize("kind", [*WEIGHTED, *ELEMENTWISE])
@pytest.mark.parametrize("numbers", [PER_CHANNEL, INT16])
@pytest.mark.parametrize("own", ["NONE", "RELU6"])
def test_a_relu_that_changes_the_scale_goes_and_the_error_does_not_grow(kind: str, numbers: str, own: str) -> None:
    b = Build()
    x = computed(b, kind, numbers, activation=own)
    scale, zero = (x.scale * 0.45, 0) if numbers == INT16 else (x.scale * 0.45, -128)
    model = closer(b, clamped(b, "RELU", x, scale=scale, zero_point=zero), rules=RULES)
    assert names(model) == [kind] and activation_of(model) == ("RELU6" if own == "RELU6" else "RELU")


@pytest.mark.parametrize("kind", [*POOLS])
def test_a_pool_cannot_change_the_scale(kind: str) -> None:
    b = Build()
    x = computed(b, kind, PER_CHANNEL)
    value = clamped(b, "RELU", x, scale=0.02, zero_point=-128)
    assert refused(b, value, rules=RULES) == [f"TFLM's {kind} cannot change the scale"]


def test_a_zero_point_on_the_end_of_the_inner_range_is_a_clamp_too() -> None:
    """[0, ...] in between and [-1, 1] after it are [0, 1]; RELU_N1_TO_1 would let values below zero through."""
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL, (0.03, -128))
    value = clamped(b, "RELU_N1_TO_1", x, scale=0.02, zero_point=0)
    assert refused(b, value, rules=RULES) == ["no fused activation clamps to [0, 1]"]
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL, (0.03, 127))
    assert refused(b, clamped(b, "RELU", x, scale=0.02, zero_point=-128), rules=RULES) == [
        "no fused activation clamps to [0, 0]"]


def test_a_scale_so_small_that_six_has_no_integer() -> None:
    for name, reasons in (("RELU6", ["the ends of [0, 6] in steps of the scale do not fit 32 bits"]), ("RELU", None)):
        b = Build()
        value = clamped(b, name, computed(b, "MAX_POOL_2D", PER_CHANNEL, (1e-10, 3)))
        if reasons:
            assert refused(b, value, rules=RULES) == reasons
        else:
            exact(b, value, rules=RULES)


def test_a_clamp_that_changes_the_type() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    y = b.op("RELU", [x], x.shape, np.int16, x.scale)
    assert refused(b, y, rules=RULES) == ["the clamp changes the type"]


def test_a_clamp_that_changes_the_shape() -> None:
    b = Build()
    x = computed(b, "CONV_2D", PER_CHANNEL)
    y = b.op("RELU", [x], (int(np.prod(x.shape)),), scale=x.scale, zero_point=x.zero_point)
    assert refused(b, y, rules=RULES) == ["the clamp changes the shape"]
