"""Scales, rounding and kinds of numbers at which tools of this sort went wrong."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from tflfuse import cli, flatbuffer, fuse
from tflfuse.numerics import convolution_multipliers, requantized
from tflfuse.tflm import Interpreter

from ..build import Build, names, random_int8
from ..folds.affine import GAINS, OFFSETS, f32, i32, operand, step
from ..folds.checks import outputs
from ..fused import check
from ..kernels.conftest import library  # noqa: F401  the fixture
from ..kernels.test_requantize import computed
from .compare import ZERO, conv, exactly, folded, image, like, rewritten, roughly

SOURCE, HALF_WAY, RESULT = (float(np.float32(s)) for s in (0.052961245, 0.0240937788, 0.1148432791))
"""Scales of input, weights and output: a sum of 585 is a hair above 6.5 steps."""
SUMS = np.arange(-3000, 3000).astype(np.int32)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("scale, apart", [(HALF_WAY, 0), (float(np.float32(0.0231)), 1)])
def test_sums_that_the_two_rounding_modes_tell_apart(scale: float, apart: int, tmp_path: Path) -> None:
    """Arithmetic, fused operator and interpreter go by the same mode; the other mode gives other numbers."""
    b = Build()
    x = b.input((1, 1, 1, 1), scale=SOURCE, zero_point=0)
    w = b.constant(np.ones((len(SUMS), 1, 1, 1), np.int8), scale)
    y = b.conv(x, w, b.constant(SUMS, np.float32(SOURCE) * np.float32(scale)), RESULT, -30)
    (expected,) = Interpreter(b.bytes(y)).run([np.zeros((1, 1, 1, 1), np.int8)])  # then each sum is its bias
    expected = expected.ravel()
    if scale == HALF_WAY:
        assert expected[SUMS == 585] == 7 - 30
    multiplier, shift = (v[0] for v in convolution_multipliers(SOURCE, [scale], RESULT))
    np.testing.assert_array_equal(requantized(SUMS, multiplier, shift, -30), expected)
    check(b, y, np.random.default_rng(0))
    numbers = SUMS, np.full_like(SUMS, multiplier), np.full_like(SUMS, shift)
    twice, once = tmp_path / "twice", tmp_path / "once"  # a library of the same path would not be loaded anew
    twice.mkdir()
    once.mkdir()
    np.testing.assert_array_equal(computed(twice, *numbers) - 30, expected)
    differing = computed(once, *numbers, "-DTFLITE_SINGLE_ROUNDING=1") - 30 != expected
    assert apart <= differing.sum() < 0.05 * len(SUMS)


@pytest.mark.parametrize("out", [1e-9, 1e-12])
def test_a_sum_whose_scales_would_end_the_interpreter_ends_nothing_else(out: float, tmp_path: Path) -> None:
    """TFLM ends the process for a multiplier above 1: the tool says so and leaves the operator."""
    b = Build()
    x = image(b)
    y = b.op("ADD", [conv(b, x), x], x.shape, scale=out)
    path, written = tmp_path / "in.tflite", tmp_path / "out.tflite"
    path.write_bytes(b.bytes(y))
    assert cli.main([str(path), str(written), "-q"]) == 0
    assert "ADD" in names(flatbuffer.read(written.read_bytes()))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("first, second, out", [
    (0.5, 0.5, 1.0), (1.0, 1.0, 1.0), (1.0, 0.5, 2.0), (1e-12, 0.5, 0.5), (0.5, 1e-12, 0.5), (1e-6, 1e-6, 10.0)])
def test_sums_at_the_ends_of_what_multipliers_express(first: float, second: float, out: float) -> None:
    """A multiplier of exactly 1, and shifts below -31."""
    b = Build()
    x, other = (b.input((1, 3, 5, 4), scale=s, zero_point=-7) for s in (first, second))
    y = b.op("ADD", [x, other], x.shape, scale=out, zero_point=4)
    z = b.op("RELU", [y], y.shape, scale=out, zero_point=4)
    exactly(b.bytes(z), custom_ops=True)
    assert names(exactly(b.bytes(z))) == ["ADD"]


def test_an_odd_number_of_four_bit_weights_is_left_alone() -> None:
    b = Build()
    packed = np.arange(5, dtype=np.uint8)
    w = b.constant(packed, [0.1, 0.2, 0.3]).like(type=tflite.TensorType.INT4, shape=(3, 1, 1, 3))
    b.tensors[-1] = w
    y = b.conv(image(b, (1, 4, 4, 3)), w, b.constant(i32([1, 2, 3]), [0.005, 0.01, 0.015]), scale=0.3, zero_point=1)
    y = step(b, "ADD", step(b, "MUL", y, GAINS[:3]), OFFSETS[:3])
    for custom_ops in (False, True):
        after, report = rewritten(b.bytes(y), custom_ops=custom_ops)
        model = flatbuffer.read(after)
        kept = model.subgraphs[0].operators[0].inputs[1]
        assert names(model)[0] == "CONV_2D" and kept is not None and kept.type == tflite.TensorType.INT4
        assert kept.buffer.data is not None and kept.buffer.data.tobytes() == packed.tobytes()
        assert any("int4" in r.reason.lower() for r in report.plan.refusals)


def test_float16_weights_that_several_operators_read() -> None:
    """Two convolutions on one DEQUANTIZE, batch norm behind one: nothing is folded into the shared value."""
    b = Build()
    x = b.input((1, 6, 6, 4))
    rng = np.random.default_rng(1)
    half = b.constant(rng.normal(0, 0.2, (4, 3, 3, 4)).astype(np.float16))
    w = b.op("DEQUANTIZE", [half], half.shape, np.float32)
    bias = b.constant(f32([1, 2, 3, 4]))
    y = step(b, "ADD", step(b, "MUL", b.conv(x, w, bias), GAINS[:4]), OFFSETS[:4])
    data = b.bytes(b.op("ADD", [y, b.op("RELU", [b.conv(x, w, bias)], x.shape)], x.shape))
    model, after = folded(data)
    assert names(model) == ["DEQUANTIZE", "CONV_2D", "MUL", "ADD", "CONV_2D", "ADD"]
    for old, new in zip(outputs(data, litert=True), outputs(after, litert=True), strict=True):
        np.testing.assert_array_equal(new, old)


def test_weights_of_integers_and_real_activations_are_left() -> None:
    b = Build()
    w = b.constant(random_int8(np.random.default_rng(1), (4, 3, 3, 4)), [0.01] * 4)
    y = step(b, "MUL", b.conv(b.input((1, 6, 6, 4)), w), GAINS[:4])
    after, report = rewritten(b.bytes(y))
    assert names(flatbuffer.read(after)) == ["CONV_2D", "MUL"]
    assert any("hybrid" in r.reason for r in report.plan.refusals)


@pytest.mark.parametrize("bias", ["int64", "int32", "none"])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_sixteen_bit_activations(kind: str, bias: str) -> None:
    """Behind an activation: the operator stays sixteen bits wide, exact, and in no fused operator."""
    b = Build()
    x = b.input((1, 6, 6, 4), np.int16, 1 / 8192)
    y = conv(b, x, kind=kind, bias=bias != "none", scale=1 / 8192, zero_point=0)
    operator = b.operators[-1]
    if bias == "none":
        operator.inputs.pop()
    else:
        old = operator.inputs[2]
        assert old is not None and old.quantization is not None
        operator.inputs[2] = b.constant(old.array().astype(bias), old.quantization.scale)
    z = like(b, "RELU", [y], y)
    for custom_ops in (False, True):
        if (kind, bias) == ("DEPTHWISE_CONV_2D", "int32"):  # which TFLM reads as int64
            assert names(folded(b.bytes(z), keep_dynamic=custom_ops)[0])[0] == kind
            continue
        model = exactly(b.bytes(z), custom_ops)
        assert names(model) == [kind]
        position = model.subgraphs[0].operators[0].input(2)
        given = None if position is None else position.dtype.name
        assert given == (None if bias == "none" else bias)


def test_results_below_the_smallest_normal_number_may_vanish() -> None:
    b = Build()
    w = np.full((2, 1, 1, 4), 1e-30, np.float32)
    y = b.conv(b.input((1, 3, 3, 4)), b.constant(w), b.constant(f32([1, 2])))
    model = roughly(b.bytes(step(b, "MUL", y, [1e-10, 1.0])))
    assert names(model) == ["CONV_2D"]
    new = operand(model, 1).array()
    assert np.isfinite(new).all() and np.array_equal(new[1], w[1]) and (np.abs(new[0]) <= 1.1e-40).all()


@pytest.mark.parametrize("where", ["weights", "gain", "offset"])
def test_what_is_no_number_already_is_left_as_it_is(where: str) -> None:
    b = Build()
    w, gain, offset = np.ones((2, 1, 1, 4), np.float32), f32([2, 3]), f32([1, 1])
    {"weights": w.reshape(-1), "gain": gain, "offset": offset}[where][0] = np.nan
    y = b.conv(b.input((1, 3, 3, 4)), b.constant(w))
    y = b.op("MUL", [y, b.constant(gain)], y.shape)
    data = b.bytes(b.op("ADD", [y, b.constant(offset)], y.shape))
    model = exactly(data) if where != "offset" else folded(data)[0]
    graph = model.subgraphs[0]
    values: Any = [t.array() for o in graph.operators for t in o.inputs if t is not None and t.is_constant]
    assert sum(int(np.isnan(v).sum()) for v in values) == 1
    assert names(model)[-1] == "ADD"


@pytest.mark.parametrize("zero_point", [-128, 7, ZERO])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_the_border_is_the_zero_point_after_a_fold(kind: str, zero_point: int) -> None:
    b = Build()
    x = b.input((1, 5, 5, 4), scale=0.05, zero_point=zero_point)
    y = conv(b, x, kind=kind)
    model = roughly(b.bytes(step(b, "ADD", step(b, "MUL", y, GAINS[:4], 1 / 24), OFFSETS[:4], 1 / 16)))
    assert names(model) == [kind]


def test_two_scales_of_one_result() -> None:
    b = Build()
    y = conv(b, image(b))
    outs = [b.op("QUANTIZE", [y], y.shape, np.int8, scale, 1) for scale in (0.03, 0.06)]
    assert names(exactly(b.bytes(*outs))) == ["CONV_2D", "QUANTIZE", "QUANTIZE"]
    assert fuse(b.bytes(*outs), custom_ops=False).model == b.bytes(*outs)
