"""Fused operators as builtin ones again. tests/fused.py lowers every chain of the stages' tests as well."""
from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build import Build, names, random_int8
from tests.fused import check, fused_model
from tests.kernels.conftest import library  # noqa: F401  the fixture
from tests.kernels.pair import invoked, load
from tflfuse import flatbuffer, numerics, recover
from tflfuse.errors import Refused
from tflfuse.ir import Quantization, Tensor
from tflfuse.lowering import lower, lowered
from tflfuse.numerics import AddParameters
from tflfuse.packing import CUSTOM, fused_operator
from tflfuse.pipeline import fuse
from tflfuse.stages import run_of
from tflfuse.tables import Elementwise
from tflfuse.verify import verify
from tflfuse.chain import Chain, Convolution, Link, Multiply, Table, Value, Window

SCALES, WEIGHT_SCALES = st.floats(2.0 ** -20, 8.0, width=32), st.floats(2.0 ** -30, 4.0, width=32)
RUNS = settings(max_examples=300, deadline=None)


@RUNS
@given(st.lists(WEIGHT_SCALES, min_size=1, max_size=8), SCALES, SCALES)
def test_a_weight_scale_is_recovered_from_its_multiplier(weights: list[float], source: float, out: float) -> None:
    """Exactly, where the multiplier is not flushed to 0; where it is, by another that is flushed too."""
    try:
        multipliers, shifts = numerics.convolution_multipliers(source, weights, out)
    except Refused:
        return
    found = recover.weight_scales(source, out, multipliers, shifts)
    assert found is not None
    again = numerics.convolution_multipliers(source, found, out)
    assert np.array_equal(again[0], multipliers) and np.array_equal(again[1], shifts)
    assert all(float(f) == w for f, w, m in zip(found, weights, multipliers, strict=True) if m)


@RUNS
@given(WEIGHT_SCALES, SCALES, SCALES)
def test_the_scale_of_a_dense_layer_is_recovered(weight: float, source: float, out: float) -> None:
    try:
        multiplier, shift = numerics.dense_multiplier(source, weight, out)
    except Refused:
        return
    found = recover.dense_scale(source, out, multiplier, shift)
    assert found is not None and numerics.dense_multiplier(source, found, out) == (multiplier, shift)


@RUNS
@given(st.sampled_from(["ADD", "SUB"]), SCALES, SCALES, SCALES, st.integers(-128, 127),
       st.lists(st.integers(-128, 127), min_size=1, max_size=5))
def test_a_constant_is_recovered_from_the_numbers_that_are_added(name: str, source: float, scale: float, out: float,
                                                                 zero_point: int, numbers: list[int]) -> None:
    sign, of = (1, numerics.add_parameters) if name == "ADD" else (-1, numerics.sub_parameters)
    try:
        p = of(source, scale, out)
    except Refused:
        return
    steps = np.array(numbers) - zero_point
    constant = sign * numerics.scaled_addend(steps, p.other_multiplier, p.other_shift)
    found = recover.addend(p, source, out, constant)
    assert found is not None
    name, scale, zero_point, q = found
    sign, of = (1, numerics.add_parameters) if name == "ADD" else (-1, numerics.sub_parameters)
    assert of(source, scale, out) == p and q.dtype == np.int8 and -128 <= zero_point <= 127
    steps = q.astype(np.int64) - zero_point
    assert np.array_equal(sign * numerics.scaled_addend(steps, p.other_multiplier, p.other_shift), constant)


@RUNS
@given(SCALES, WEIGHT_SCALES, SCALES, st.integers(-128, 127), st.lists(st.integers(-128, 127), min_size=1, max_size=5))
def test_a_factor_is_recovered_from_the_numbers_that_are_multiplied(source: float, scale: float, out: float,
                                                                    zero_point: int, numbers: list[int]) -> None:
    steps = np.array(numbers) - zero_point
    try:
        multiplier, shift = numerics.quantize_one(source * scale / out)
    except Refused:
        return
    found = recover.factor(multiplier, shift, source, out, steps)
    assert found is not None
    again, zero, q = found
    assert numerics.quantize_one(source * again / out) == (multiplier, shift)
    assert q.dtype == np.int8 and -128 <= zero <= 127 and np.array_equal(q.astype(np.int64) - zero, steps)


def test_a_scale_beyond_float32_is_not_recovered() -> None:
    with np.errstate(over="raise"):
        assert recover.factor(1 << 30, 0, 1e-10, 1e30, np.array([1])) is None


def test_activations_are_found_by_their_ends() -> None:
    for activation in range(4):
        for scale, zero_point in ((0.05, -128), (0.01, -128), (0.1, 5), (0.02, -10)):
            ends = numerics.activation_range(activation, scale, zero_point)
            found = recover.activation_for(*ends, scale, zero_point)
            assert numerics.activation_range(found, scale, zero_point) == ends
    with pytest.raises(Refused, match=r"no fused activation clamps to \[-3, 100\]"):
        recover.activation_for(-3, 100, 0.1, 0)


def rows(b: Build, rng: np.random.Generator) -> Tensor:
    """An autoencoder's three dense layers."""
    x = b.input((1, 30), scale=0.1, zero_point=4)
    for units in (20, 5, 30):
        w = b.constant(random_int8(rng, (units, x.shape[1])), scale=float(rng.uniform(0.001, 0.01)))
        x = b.dense(x, w, None, scale=float(rng.uniform(0.04, 0.05)), zero_point=1, activation="RELU")
    return x


@pytest.mark.usefixtures("library")
def test_dense_layers_come_back_as_dense_layers() -> None:
    """Their multipliers came from a product rounded to float32, which no convolution gives."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        b = Build()
        y = rows(b, rng)
        run = check(b, y, rng)
        model = fused_model(run, b.inputs)
        lower(model)
        assert names(model) == ["FULLY_CONNECTED", "FULLY_CONNECTED", "FULLY_CONNECTED"]


@pytest.mark.usefixtures("library")
def test_a_dense_layer_comes_back_some_of_whose_channels_say_the_same_to_everything() -> None:
    """Their biases are too large to be rounded the short way; in a layer of one scale they stay."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        b = Build()
        source = float(np.float32(rng.uniform(0.01, 0.1)))
        scale = float(np.float32(rng.uniform(6.5e-8, 1.1e-7) * 0.02 / source))
        x = b.input((1, 30), scale=source, zero_point=4)
        bias = np.array([-(1 << 30) - 77, 5, (1 << 30) + 4321, -30000], np.int32)
        y = b.dense(x, b.constant(random_int8(rng, (4, 30)), scale=scale), b.constant(bias, scale=source * scale),
                    scale=0.02, activation="RELU")
        model = fused_model(check(b, y, rng), b.inputs)
        lower(model)
        assert names(model) == ["FULLY_CONNECTED"]


@pytest.mark.usefixtures("library")
def test_a_sequence_that_is_flattened_stays_flat() -> None:
    rng = np.random.default_rng(3)
    b = Build()
    x = b.input((1, 5, 6), scale=0.1, zero_point=4)
    flat = b.op("RESHAPE", [x, b.constant(np.array([1, 30], np.int32))], (1, 30), None, 0.1, 4)
    y = b.dense(flat, b.constant(random_int8(rng, (7, 30)), scale=0.01), None, scale=0.1)
    run = check(b, y, rng)
    assert run.chain.inputs[0].plane == (1, 1, 30)


@pytest.mark.usefixtures("library")
@pytest.mark.usefixtures("library")
def test_a_dense_layer_reads_a_batch_as_one_image() -> None:
    """What is given as a batch of two and reshaped is an image when it comes back."""
    b, rng = Build(), np.random.default_rng(0)
    x = b.input((2, 2, 3, 4), scale=0.1)
    flat = b.op("RESHAPE", [x, b.constant(np.array([1, 48], np.int32))], (1, 48), scale=0.1)
    y = b.dense(flat, b.constant(random_int8(rng, (5, 48)), scale=0.01), None, scale=0.5)
    model = fused_model(run_of(b.operators), b.inputs)
    lower(model)
    inputs = [random_int8(rng, x.shape)]
    np.testing.assert_array_equal(invoked(load(flatbuffer.write(model)), inputs), invoked(load(b.bytes(y)), inputs))


@pytest.mark.usefixtures("library")
def test_a_function_of_a_flat_value_is_computed_flat() -> None:
    """x + RELU(x) of [1, 48]: one of the two as an image would make the sum broadcast."""
    b = Build()
    x = b.input((1, 48), scale=0.1)
    image = b.op("RESHAPE", [x, b.constant(np.array([1, 1, 48, 1], np.int32))], (1, 1, 48, 1), scale=0.1)
    relu = b.op("RELU", [image], image.shape, scale=0.1, zero_point=-20)
    y = b.op("ADD", [relu, image], image.shape, scale=0.2)
    model = fused_model(run_of(b.operators), b.inputs)
    lower(model)
    inputs = [np.arange(-100, 92, 4).astype(np.int8)[np.newaxis]]
    np.testing.assert_array_equal(invoked(load(flatbuffer.write(model)), inputs), invoked(load(b.bytes(y)), inputs))


def test_padding_that_no_builtin_has_comes_back_as_pad() -> None:
    rng = np.random.default_rng(2)
    b = Build()
    x = b.input((1, 8, 8, 2), scale=0.1, zero_point=4)
    around = b.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    p = b.op("PAD", [x, around], (1, 10, 10, 2), None, 0.1, 4)
    w = b.constant(random_int8(rng, (3, 3, 3, 2)), scale=0.01)
    y = b.conv(p, w, None, scale=0.2, zero_point=0, padding="VALID", stride=(2, 2))
    model = fused_model(check(b, y, rng), b.inputs)
    lower(model)
    assert names(model) == ["PAD", "CONV_2D"]


def test_what_else_the_model_holds_stays() -> None:
    b = Build()
    x = b.input((1, 4), scale=0.1)
    y = b.dense(x, b.constant(np.ones((3, 4), np.int8), scale=0.1), None, scale=0.5)
    z = b.op("SOFTMAX", [y], (1, 3), None, 1 / 256, -128)
    run = run_of(b.operators[:1])
    model = b.model(z, signature=True)
    graph = model.subgraphs[0]
    graph.operators[0] = fused_operator(run.chain, run.inputs, run.output)
    graph.tensors.append(graph.operators[0].inputs[-1])  # type: ignore[arg-type]
    again = flatbuffer.read(flatbuffer.write(model))
    lower(again)
    assert names(again) == ["FULLY_CONNECTED", "SOFTMAX"] and again.signatures is not None
    assert [c.name for c in again.operator_codes] == names(again)
    assert again.subgraphs[0].operators[0].outputs[0] is again.subgraphs[0].operators[1].inputs[0]


VALUE = Value(4, 4, 1, 0.5, 3)


def lone(stage: Convolution | Multiply | Table) -> Chain:
    return Chain((VALUE,), (Link(stage, (0,)),))


def one_tap(**changes: object) -> Convolution:
    stage = Convolution(VALUE, Window(), np.ones((1, 1, 1, 1), np.int8), np.zeros(1, "<i4"), np.full(1, 1 << 30, "<i4"),
                        np.zeros(1, np.int8))
    return replace(stage, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("stage, reason", [
    (one_tap(low=-3, high=100), "no fused activation clamps"),
    (one_tap(multipliers=np.full(1, (1 << 30) + 1, "<i4")), "no scales of weights give the multipliers"),
    (one_tap(bias=np.full(1, 2 ** 31 - 2, "<i4")), "does not fit 32 bits"),
    (Multiply(VALUE, 1 << 30, 0, np.array([300], "<i4")), "no constant gives the numbers that a product"),
    (Multiply(VALUE, 1 << 30, 0, np.array([-300], "<i4")), "no constant gives the numbers that a product"),
    (Multiply(VALUE, (1 << 30) + 1, 0, np.array([3], "<i4")), "no constant gives the numbers that a product"),
    (Table(VALUE, np.zeros(256, np.int8), ()), "does not say what it computes"),
    (Table(VALUE, np.zeros(256, np.int8), (Elementwise("MUL", (0, -1), 0.5, 3),)), "has no constant")])
def test_chains_of_other_origin_may_be_refused(stage: Convolution | Multiply | Table, reason: str) -> None:
    b = Build()
    x, y = (f((1, 4, 4, 1), scale=0.5, zero_point=3) for f in (b.input, b.tensor))
    operator = fused_operator(lone(stage), [x], y)
    with pytest.raises(Refused, match=reason):
        lowered(operator)


def test_tensors_quantized_otherwise_than_the_options_say_are_refused() -> None:
    b = Build()
    x, y = (f((1, 4, 4, 1), scale=0.5, zero_point=3) for f in (b.input, b.tensor))
    operator = fused_operator(lone(one_tap()), [x.like(quantization=Quantization.of(0.25, 3))], y)
    with pytest.raises(Refused, match="quantized otherwise"):
        lowered(operator)


def test_sums_that_do_not_fit_their_scales_have_no_constant() -> None:
    assert recover.addend(AddParameters(1 << 30, 0, 1 << 30, 0, 1 << 30, -18), 0.5, 0.25, np.array([12345])) is None


MODELS = {"mlperftiny_kws_ref_model": 12, "mlperftiny_pretrainedResnet_quant": 15, "tflm_hello_world_int8": 3,
          "mlperftiny_model_ToyCar_quant_fullint_micro_intio": 10, "mltk_fingerprint_signature_generator": 5}


@pytest.mark.usefixtures("library")
@pytest.mark.skipif(not os.environ.get("TFLFUSE_MODELS"), reason="TFLFUSE_MODELS names no folder of models")
@pytest.mark.parametrize("name", MODELS)
def test_the_first_operators_of_a_real_model(name: str) -> None:
    """As many as stand before its softmax, as one chain and lowered again."""
    graph = flatbuffer.read((Path(os.environ["TFLFUSE_MODELS"]) / f"{name}.tflite").read_bytes()).subgraphs[0]
    b = Build()
    b.operators = graph.operators[:MODELS[name]]
    for t in graph.tensors:
        t.shape_signature = None
    b.inputs = graph.inputs
    b.tensors = list(dict.fromkeys(t for o in b.operators for t in (*o.inputs, *o.outputs) if t is not None))
    b.codes = {(c.name, k): c for k, c in enumerate(dict.fromkeys(o.code for o in b.operators))}
    check(b, b.operators[-1].outputs[0], np.random.default_rng(1))


@pytest.mark.parametrize("name", ["RELU_N1_TO_1", "RELU_0_TO_1"])
def test_activations_without_a_kernel_in_tflm_run_lowered_in_litert(name: str) -> None:
    b = Build()
    x = b.input((1, 16, 16, 8), scale=0.05, zero_point=3)
    model = b.bytes(b.op(name, [x], x.shape, scale=0.05, zero_point=3))
    fused = fuse(model).model
    assert [o.name for o in flatbuffer.read(fused).operators] == [CUSTOM]
    found = verify(model, fused, runs=2)
    assert found.equal and found.interpreter is not None and found.interpreter.startswith("LiteRT")
