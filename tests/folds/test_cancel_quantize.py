"""QUANTIZE(DEQUANTIZE(q)) is q, or a QUANTIZE between integers; a QUANTIZE to the same scale is nothing."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tflfuse.folds.cancel_quantize import cancel_quantize, no_worse
from tflfuse.ir import Array, Quantization, Tensor
from tflfuse.quantizing import dequantize, quantize, requantize
from tflfuse.tflm import Interpreter

from ..build import Build, names
from .checks import exact, folded, refused, same_bits

RULES = [cancel_quantize]
EVERY: dict[Any, Array] = {np.int8: np.arange(-128, 128).astype(np.int8),
                           np.int16: np.arange(-32768, 32768).astype(np.int16)}
SCALES = [1.1754944e-38, 2.635963e-7, 1 / 3, 1 / 256, 0.0235294122, 1.0, 3.1e5, 1e30]
Quantized = tuple[Any, float, int]


def pair(b: Build, q: Tensor, to: Quantized) -> Tensor:
    real = b.op("DEQUANTIZE", [q], q.shape, np.float32)
    return b.op("QUANTIZE", [real], q.shape, to[0], to[1], to[2])


def every(one: Quantized, to: Quantized) -> tuple[Build, Tensor]:
    """A model that is given each integer once."""
    b = Build()
    return b, pair(b, b.input((1, EVERY[one[0]].size), one[0], one[1], one[2]), to)


def run(b: Build, out: Tensor, values: Array) -> Array:
    return Interpreter(b.bytes(out)).run([values.reshape(1, -1)])[0].ravel()


@pytest.mark.parametrize("dtype,zero_point", [(np.int8, -128), (np.int8, 0), (np.int8, 127), (np.int8, 5),
                                              (np.int16, 0), (np.int16, -32768), (np.int16, 777)])
@pytest.mark.parametrize("scale", SCALES)
def test_tflm_gives_every_integer_back(dtype: Any, zero_point: int, scale: float) -> None:
    b, out = every((dtype, scale, zero_point), (dtype, scale, zero_point))
    assert np.array_equal(run(b, out, EVERY[dtype]), EVERY[dtype])


def test_so_does_float32_at_a_thousand_scales() -> None:
    rng = np.random.default_rng(0)
    for scale in np.exp2(rng.uniform(-126, 110, 1000)).astype(np.float32):
        for dtype, zero_point in ((np.int8, -128), (np.int16, 32767)):
            q = Build().tensor((1,), dtype, scale, zero_point)
            assert np.array_equal(quantize(dequantize(EVERY[dtype], q), q), EVERY[dtype])


@pytest.mark.parametrize("one,to", [
    ((np.int8, 0.1, 3), (np.int8, 0.07, -20)), ((np.int8, 0.05, -128), (np.int8, 0.1, 0)),
    ((np.int8, 0.1, 3), (np.int8, 0.5, 0)), ((np.int16, 2e-4, 0), (np.int8, 0.05, -7)),
    ((np.int8, 0.1, 3), (np.int16, 2e-4, 0)), ((np.int16, 2e-4, 0), (np.int16, 3e-4, 0)),
    ((np.int16, 2e-4, 0), (np.int16, 1e-4, 0)), ((np.int8, 0.2, 3), (np.int8, 0.0125, 1))])
def test_the_arithmetic_here_is_tflms(one: Quantized, to: Quantized) -> None:
    values = EVERY[one[0]]
    b, out = every(one, to)
    q = b.inputs[0]
    assert np.array_equal(run(b, out, values), quantize(dequantize(values, q), out))
    b = Build()
    out = b.op("QUANTIZE", [b.input((1, values.size), one[0], one[1], one[2])], (1, values.size), to[0], to[1], to[2])
    assert np.array_equal(run(b, out, values), requantize(values, q, out))


@pytest.mark.parametrize("dtype,scale,zero_point", [(np.int8, 0.1, 3), (np.int16, 1e-4, 0),
                                                    (np.int8, 2.635963e-7, -128), (np.int8, 2.0 ** -126, 0)])
def test_a_pair_of_one_scale_goes(dtype: Any, scale: float, zero_point: int) -> None:
    b = Build()
    q = b.input((1, 6, 6, 2), dtype, scale, zero_point)
    y = b.op("ADD", [pair(b, q, (dtype, scale, zero_point)), q], q.shape, scale=scale * 2, zero_point=0)
    assert names(exact(b, y, rules=RULES)) == ["ADD"]


def test_a_pair_between_an_input_and_an_output_stays() -> None:
    b, out = every((np.int8, 0.1, 3), (np.int8, 0.1, 3))
    assert refused(b, out, rules=RULES) == [
        "it connects an input or a constant, or another output, with an output of the model"]


def test_others_go_on_reading_the_real_numbers() -> None:
    b = Build()
    q = b.input((1, 6, 6, 2), scale=0.1, zero_point=3)
    real = b.op("DEQUANTIZE", [q], q.shape, np.float32)
    again = b.op("QUANTIZE", [real], q.shape, np.int8, 0.1, 3)
    other = b.op("QUANTIZE", [real], q.shape, np.int8, 0.1, 4)
    y = b.op("ADD", [again, other], q.shape, scale=0.2)
    z = b.op("MUL", [real, real], q.shape)
    assert names(exact(b, y, z, real, rules=RULES)) == ["DEQUANTIZE", "QUANTIZE", "ADD", "MUL"]


@pytest.mark.parametrize("one,to,bits_stay", [
    ((np.int8, 0.1, 3), (np.int8, 0.1, -20), True), ((np.int8, 0.1, 3), (np.int8, 0.07, -20), True),
    ((np.int8, 0.125, 3), (np.int8, 0.25, 0), False), ((np.int8, 0.1, 3), (np.int16, 2e-4, 0), True)])
def test_another_scale_is_one_quantize(one: Quantized, to: Quantized, bits_stay: bool) -> None:
    b, out = every(one, to)
    before, after, model, plan = folded(b, out, rules=RULES)
    assert names(model) == ["QUANTIZE"] and plan.exact == bits_stay
    values = EVERY[one[0]].reshape(1, -1)
    old, new = (Interpreter(data).run([values])[0].astype(float) for data in (before, after))
    if bits_stay:
        same_bits(before, after)
        assert np.array_equal(old, new)
    real = (values.astype(float) - one[2]) * one[1]
    errors = [np.abs((y - to[2]) * to[1] - real) / to[1] for y in (old, new)]
    assert errors[1].max() <= errors[0].max() + 1e-6 and errors[1].mean() <= errors[0].mean() + 1e-6


def test_where_tflm_would_round_twice_the_pair_stays() -> None:
    b, out = every((np.int8, 0.1, 3), (np.int8, 0.37, 0))
    assert refused(b, out, rules=RULES) == [
        "a QUANTIZE of integers rounds twice here and would be less exact than the pair"]


@pytest.mark.parametrize("one,to,reason", [
    ((np.int8, 1e-40, 0), (np.int8, 1e-40, 0), "the scale is so small that some processors take it for zero"),
    ((np.int8, np.inf, 0), (np.int8, 1.0, 0), "the scale is not a positive number"),
    ((np.int8, 1.0, 0), (np.int8, np.nan, 0), "the scale is not a positive number"),
    ((np.int8, 1.34e36, -128), (np.int8, 1.34e36, -128), "the real numbers overflow float32"),
    ((np.int16, 1.1e34, 0), (np.int16, 1.1e34, 0), "the real numbers overflow float32"),
    ((np.int8, 1.0, 0), (np.int8, 1e-5, 0), "the scales are too far apart for 32 bits"),
    ((np.int8, 1.0, 0), (np.int8, 2.0 ** -14, 0), "the scales are too far apart for 32 bits"),
    ((np.int8, 1.0, 0), (np.uint8, 1.0, 0), "a UINT8 value is not clamped by TFLM")])
def test_refused(one: Quantized, to: Quantized, reason: str) -> None:
    b, out = every(one, to)
    assert refused(b, out, rules=RULES) == [reason]


def test_channels_with_scales_of_their_own() -> None:
    b = Build()
    q = b.input((1, 6, 6, 2), np.int8)
    q.quantization = Quantization.of([0.1, 0.2], 0, 3)
    assert refused(b, pair(b, q, (np.int8, 0.1, 0)), rules=RULES) == ["the tensor is not quantized per tensor"]


def test_float16_in_between() -> None:
    b = Build()
    q = b.input((1, 6), scale=0.1)
    real = b.op("DEQUANTIZE", [q], q.shape, np.float16)
    assert refused(b, b.op("QUANTIZE", [real], q.shape, np.int8, 0.1), rules=RULES) == [
        "the value in between is not float32"]


def test_a_quantize_that_changes_nothing_goes() -> None:
    for dtype, scale, zero_point in ((np.int8, 0.1, -3), (np.int16, 1e-4, 0)):
        b = Build()
        q = b.input((1, 6, 6, 2), dtype, scale, zero_point)
        same = b.op("QUANTIZE", [q], q.shape, dtype, scale, zero_point)
        y = b.op("ADD", [same, same], q.shape, scale=scale * 2)
        assert names(exact(b, y, rules=RULES)) == ["ADD"]


def test_one_that_changes_something_is_not_even_told_of() -> None:
    b = Build()
    q = b.input((1, 6), scale=0.1, zero_point=-3)
    assert refused(b, b.op("QUANTIZE", [q], q.shape, np.int8, 0.1, -2), rules=RULES) == []


def test_no_worse_is_said_of_the_largest_error_and_of_the_mean() -> None:
    """Errors against whole numbers, of one scale."""
    b = Build()
    q, out = b.input((1, 2), scale=1.0, zero_point=7), b.input((1, 2), scale=1.0, zero_point=-5)
    integers, pair = np.array([17, 27]), np.array([5.4, 15.2])
    for direct, expected in (([5.4, 15.2], True), ([5.4, 15.3], False), ([5.5, 15.0], False), ([5.3, 15.3], True)):
        assert no_worse(np.array(direct), pair, integers, q, out) is expected
