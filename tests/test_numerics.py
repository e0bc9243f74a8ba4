"""The integer arithmetic and the tables against TFLM's own kernels, on all 256 inputs."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.build import Build
from tflfuse import fixed_point, numerics, tables, tflm
from tflfuse.errors import Refused
from tflfuse.ir import Array
from tflfuse.tables import CONSTANT, Elementwise, Program, Scalar

pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")

EVERY = np.arange(-128, 128).astype(np.int8)
EXTREMES = [(1.0, 0, 1.0, 0), (0.5, -128, 0.5, -128), (0.25, 127, 0.25, 127), (1e-6, 3, 0.5, -4), (0.5, 3, 1e-6, -4),
            (1e-9, 0, 10.0, 0), (3.9, -1, 0.01, 5), (8.0, 0, 0.004, -128), (1 / 3, 7, 1 / 3, -7),
            (0.9999999, 0, 1.0, 0)]
"""(input scale, input zero point, output scale, output zero point): exactly 1, multipliers far above 1, shifts below
-31, zero points at the ends."""


def quantizations(seed: int, count: int) -> list[tuple[float, int, float, int]]:
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.uniform(math.log(1e-3), math.log(0.5), (count, 2))).astype(np.float32)
    return [(float(np.float32(a)), p, float(np.float32(b)), q) for a, p, b, q in EXTREMES] + [
        (float(a), int(p), float(b), int(q))
        for (a, b), (p, q) in zip(spread, rng.integers(-128, 128, (count, 2)), strict=True)]


def scalar(rng: np.random.Generator, most: float) -> Scalar:
    q, scale = int(rng.integers(-128, 128)), float(np.float32(rng.uniform(1e-4, most)))
    return Scalar(q, scale, int(rng.integers(-128, 128)))


def in_tflm(program: Program, scale: float, zero_point: int) -> Array:
    """The program's operators run by TFLM on every int8 number."""
    b = Build()
    values = [b.input((1, 1, 16, 16), scale=scale, zero_point=zero_point)]
    for step in program:
        operands = []
        for o in step.operands:
            if o == CONSTANT:
                assert step.constant is not None
                c = step.constant
                operands.append(b.constant(np.array([c.q], np.int8), scale=c.scale, zero_point=c.zero_point))
            else:
                operands.append(values[o])
        options: dict[str, Any] = {"alpha": step.alpha} if step.name == "LEAKY_RELU" else {}
        if step.activation:
            options["fused_activation_function"] = step.activation
        values.append(b.op(step.name, operands, (1, 1, 16, 16), None, step.scale, step.zero_point, **options))
    out, = tflm.Interpreter(b.bytes(values[-1])).run([EVERY.reshape(1, 1, 16, 16)])
    return out.reshape(-1)


def compare(program: Program, scale: float, zero_point: int) -> bool:
    """False where the operator is refused, for TFLM ends the process on some of those."""
    try:
        expected = tables.table(program, scale, zero_point)
    except Refused:
        return False
    assert expected.dtype == np.int8
    np.testing.assert_array_equal(expected, in_tflm(program, scale, zero_point), str((program, scale, zero_point)))
    return True


@pytest.mark.parametrize("name", ["QUANTIZE", "RELU", "RELU6", "TANH", "LOGISTIC", "HARD_SWISH", "ABS", "ELU"])
def test_a_table_is_the_kernel_of_one_operand(name: str) -> None:
    cases = quantizations(1, 60)
    done = 0
    for scale, zero_point, out, out_zero in cases:
        out_zero = -128 if name == "LOGISTIC" else out_zero
        done += compare((Elementwise(name, (0,), out, out_zero),), scale, zero_point)
    assert done > len(cases) * 0.7


@pytest.mark.parametrize("alpha", [0.1, 0.0, 1.0, 2.5, -0.3, 1e-12])
def test_a_table_is_the_leaky_relu_kernel(alpha: float) -> None:
    for scale, zero_point, out, out_zero in quantizations(2, 20):
        assert compare((Elementwise("LEAKY_RELU", (0,), out, out_zero, alpha=alpha),), scale, zero_point)


def test_a_table_is_the_prelu_kernel_of_one_slope() -> None:
    rng = np.random.default_rng(3)
    for scale, zero_point, out, out_zero in quantizations(3, 40):
        slope = scalar(rng, 0.1)
        assert compare((Elementwise("PRELU", (0, CONSTANT), out, out_zero, slope),), scale, zero_point)


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("operands", [(0, CONSTANT), (CONSTANT, 0), (0, 0)])
def test_a_table_is_the_kernel_with_a_scalar_or_the_same_operand_twice(name: str, operands: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    done = 0
    for number, (scale, zero_point, out, out_zero) in enumerate(quantizations(4, 30)):
        constant = scalar(rng, 0.5)
        step = Elementwise(name, operands, out, out_zero, constant if CONSTANT in operands else None, number % 4)
        done += compare((step,), scale, zero_point)
    assert done > 30


def test_sub_divides_scales_in_float32() -> None:
    """With multipliers from float64, as ADD's, one entry of each of these tables would be another."""
    for scale, constant, out, q in ((0.21648137271404266, 0.423764705657959, 0.3667912185192108, 48),
                                    (0.31487712264060974, 0.3403627276420593, 0.29342636466026306, 119)):
        assert compare((Elementwise("SUB", (0, CONSTANT), out, 0, Scalar(q, constant, 0)),), scale, 0)
        assert numerics.sub_parameters(scale, constant, out) != numerics.add_parameters(scale, constant, out)


def test_a_table_is_silu() -> None:
    cases = quantizations(5, 30)
    done = 0
    for scale, zero_point, out, out_zero in cases:
        program = (Elementwise("LOGISTIC", (0,), 1 / 256, -128), Elementwise("MUL", (0, 1), out, out_zero))
        done += compare(program, scale, zero_point)
    assert done >= len(cases) - 2


@pytest.mark.parametrize("name", ["RELU_N1_TO_1", "RELU_0_TO_1"])
def test_clamps_that_tflm_has_no_kernel_for_are_those_of_litert(name: str) -> None:
    interpreters = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    for scale, zero_point, out, out_zero in quantizations(6, 20)[3:]:
        program = (Elementwise(name, (0,), out, out_zero),)
        try:
            expected = tables.table(program, scale, zero_point)
        except Refused:
            continue
        b = Build()
        x = b.input((1, 1, 16, 16), scale=scale, zero_point=zero_point)
        y = b.op(name, [x], x.shape, None, out, out_zero)
        litert = interpreters.Interpreter(model_content=b.bytes(y))
        litert.allocate_tensors()
        litert.set_tensor(litert.get_input_details()[0]["index"], EVERY.reshape(x.shape))
        litert.invoke()
        got = litert.get_tensor(litert.get_output_details()[0]["index"]).reshape(-1)
        np.testing.assert_array_equal(expected, got, str((program, scale, zero_point)))


@pytest.mark.parametrize("program, reason", [
    ((Elementwise("LOGISTIC", (0,), 1 / 256, 0),), "an output zero point of -128"),
    ((Elementwise("HARD_SWISH", (0,), 1e-6, 0),), "too far apart for TFLM's HARD_SWISH"),
    ((Elementwise("ADD", (0, 0), 1e-9, 0),), "too far apart for TFLM's ADD and SUB"),
    ((Elementwise("MUL", (0, 0), 1.0, 0, activation=4),), "have no activation TANH"),
    ((Elementwise("MUL", (0, 0), 1e-12, 0, activation=3),), "do not fit 32 bits"),
    ((Elementwise("QUANTIZE", (0,), 1e-30, 0),), "too far apart for 32-bit"),
    ((Elementwise("RSQRT", (0,), 1.0, 0),), "no int8 RSQRT"),
    ((Elementwise("MUL", (0, CONSTANT), 1.0, 0),), "has no constant operand")])
def test_what_tflm_would_not_run_is_refused(program: Program, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        tables.table(program, 0.5, 0)


def test_multipliers_stand_for_the_number() -> None:
    real = np.array([1.0, 0.5, 0.75, 1e-3, 123.4, 2.0 ** -32 * 0.99, 2.0 ** -32, 0.0, 1 - 2.0 ** -40])
    multiplier, shift = numerics.quantize_multiplier(real)
    assert multiplier.tolist()[:3] == [1 << 30, 1 << 30, 3 << 29] and shift.tolist()[:3] == [1, 0, 0]
    assert (multiplier[5], shift[5]) == (0, 0) and (multiplier[7], shift[7]) == (0, 0)
    assert (multiplier[6], shift[6]) == (1 << 30, -31)
    assert (multiplier[8], shift[8]) == (1 << 30, 1)  # rounds up to exactly 1
    np.testing.assert_allclose(multiplier * 2.0 ** (shift - 31), np.where(real < 2.0 ** -32, 0, real), rtol=2.0 ** -31)


def test_rounding_is_twice_and_halves_go_away_from_zero() -> None:
    """585 accumulated with these scales is a hair above 6.5 steps, and exactly 6.5 after the first rounding."""
    m, s = numerics.convolution_multipliers(float(np.float32(0.052961245)), [float(np.float32(0.0240937788))],
                                            float(np.float32(0.1148432791)))
    assert int(numerics.requantized(585, m[0], s[0], -126)) == 7 - 126
    halves = numerics.rounding_divide_by_pot(np.array([-6, -2, 2, 6, 5, -5]), 2)
    assert halves.tolist() == [-2, -1, 1, 2, 1, -1]
    assert numerics.multiply_by_quantized_multiplier(1 << 30, 1 << 30, 2).tolist() == 0  # wraps as C does


def test_mean_multipliers_hold_the_count() -> None:
    """As QuantizedMeanOrSum readjusts them; for a count of 3 the multiplier falls below 2 ** 30."""
    assert numerics.mean_multiplier(1.0, 1.0, 3) == ((1 << 31) // 3, 0)
    assert numerics.mean_multiplier(1.0, 1.0, 1) == (1 << 30, 1)
    multiplier, shift = numerics.mean_multiplier(2.0 ** -30, 1.0, 64)
    assert (multiplier, shift) == ((1 << 30 << 2) // 64, -31)  # no more than 31 bits to the right


def test_fixed_point_functions_approximate_what_they_are_named_after() -> None:
    a = np.linspace(-2**31 + 1, 2**31 - 1, 10001).astype(np.int64)
    real = a * 2.0 ** -27
    np.testing.assert_allclose(fixed_point.logistic(a) * 2.0 ** -31, 1 / (1 + np.exp(-real)), atol=3e-8)
    np.testing.assert_allclose(fixed_point.tanh(a) * 2.0 ** -31, np.tanh(real), atol=2e-7)


@pytest.mark.parametrize("number, whole", [
    (0.49999997, 0), (-0.49999997, 0), (0.5, 1), (-0.5, -1), (2.5, 3), (8388609, 8388609), (-8388609, -8388609)])
def test_rounding_adds_no_half_that_float32_cannot_hold(number: float, whole: int) -> None:
    """x + 0.5 is itself rounded: the largest float32 below a half becomes 1, odd numbers above 2 ** 23 even ones."""
    assert numerics.rounded(np.float32(number)) == whole
