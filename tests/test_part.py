"""part_error: the distance of a few operators to the real-valued function, before and after."""
from __future__ import annotations

import numpy as np
import pytest

from tflfuse import flatbuffer
from tflfuse.errors import TflfuseError
from tflfuse.ir import Model
from tflfuse.part import PartError, extract, part_error
from tflfuse.runner import Runner

from .build import Build

pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")

RNG = np.random.default_rng(5)
WEIGHTS = RNG.integers(-127, 128, (8, 3, 3, 4)).astype(np.int8)
BIAS = RNG.integers(-4000, 4000, 8).astype(np.int32)
W_SCALE = RNG.uniform(0.004, 0.01, 8).astype(np.float32)
GAMMA, BETA = RNG.integers(40, 128, (8,)).astype(np.int8), RNG.integers(-128, 128, (8,)).astype(np.int8)
X_SCALE, GAMMA_SCALE, BETA_SCALE, OUT_SCALE = 0.02, 0.011, 0.01, 0.06
OUT_ZERO = 3


def batch_norm() -> Model:
    """CONV -> MUL -> ADD -> RELU6, int8 per channel, all tensors quantized."""
    b = Build()
    x = b.input((1, 6, 6, 4), scale=X_SCALE, zero_point=-5)
    y = b.conv(x, b.constant(WEIGHTS, scale=W_SCALE), b.constant(BIAS, scale=X_SCALE * W_SCALE), scale=0.08)
    y = b.op("MUL", [y, b.constant(GAMMA, scale=GAMMA_SCALE)], y.shape, scale=0.09, zero_point=1)
    return b.model(b.op("ADD", [y, b.constant(BETA, scale=BETA_SCALE)], y.shape, scale=OUT_SCALE, zero_point=OUT_ZERO,
                        activation="RELU6"))


def folded(lift: float = 0.0, gain: float = 1.0) -> Model:
    """The same in one operator; `lift` adds so many output steps, `gain` multiplies the filter."""
    b = Build()
    x = b.input((1, 6, 6, 4), scale=X_SCALE, zero_point=-5)
    gamma = GAMMA * np.float64(np.float32(GAMMA_SCALE))
    beta = BETA * np.float64(np.float32(BETA_SCALE))
    scale = (W_SCALE * gamma * gain).astype(np.float32)
    bias_scale = np.float64(np.float32(X_SCALE)) * scale
    real = BIAS * np.float64(np.float32(X_SCALE)) * W_SCALE * gamma + beta + lift * OUT_SCALE
    bias = np.round(real / bias_scale).astype(np.int32)
    return b.model(b.conv(x, b.constant(WEIGHTS, scale=scale), b.constant(bias, scale=bias_scale),
                          scale=OUT_SCALE, zero_point=OUT_ZERO, activation="RELU6"))


def measured(before: Model, after: Model, runs: int | None = None) -> PartError:
    error = part_error(before, after, runs)
    assert error is not None
    return error


def test_a_fold_of_batch_norm_is_nearer_to_the_real_function() -> None:
    error = measured(batch_norm(), folded())
    assert error.accepted and error.after_mean < 0.8 * error.before_mean
    assert error.runs == 100_000 // 288 and error.counted > 20_000


def test_one_operator_is_off_by_its_own_rounding_and_no_more() -> None:
    """Rounding to the nearest is off by a quarter of a step on average where the values are spread evenly.

    The greatest may exceed half a step by what the fixed-point multiplier and the float kernel are off.
    """
    b = Build()
    x = b.input((1, 6, 6, 4), scale=X_SCALE, zero_point=-5)
    y = b.conv(x, b.constant(WEIGHTS, scale=W_SCALE), b.constant(BIAS, scale=X_SCALE * W_SCALE), scale=0.05)
    error = measured(b.model(y), b.model(y))
    assert 0.24 < error.before_mean < 0.26 and 0.49 < error.before_max < 0.51
    assert (error.before_mean, error.before_max) == (error.after_mean, error.after_max) and error.accepted


@pytest.mark.parametrize("worse", [dict(lift=0.6), dict(lift=-0.6), dict(gain=1.05)])
def test_a_fold_with_a_small_mistake_is_not_accepted(worse: dict[str, float]) -> None:
    assert not measured(batch_norm(), folded(**worse)).accepted


def test_the_greatest_error_may_grow_by_a_step_and_no_more() -> None:
    def error(after_max: float) -> PartError:
        return PartError(0.4, 1.2, 0.3, after_max, 10, 1000, 0.4, 0.3)
    assert error(2.2).accepted and not error(2.25).accepted


def test_clipping_of_an_inner_tensor_earns_a_rewrite_nothing() -> None:
    """4x in an inner tensor that holds half of its values, then exact; the rewrite clips nothing but rounds badly."""
    def part(factor: int, inner: bool) -> Model:
        b = Build()
        x = b.input((1, 500), scale=1.0)
        k = b.constant(np.array([factor], np.int8), scale=0.04)
        if not inner:
            return b.model(b.op("MUL", [x, k], x.shape, scale=4.0))
        y = b.op("MUL", [x, k], x.shape, scale=2.0)
        return b.model(b.op("QUANTIZE", [y], x.shape, scale=4.0))
    error = measured(part(100, True), part(101, False))
    assert error.overall_after < error.overall_before
    assert error.after_mean > error.before_mean == pytest.approx(0, abs=1e-5) and not error.accepted


def test_where_everything_clips_nothing_is_accepted() -> None:
    b = Build()
    x = b.input((1, 100), scale=1.0)
    y = b.op("ADD", [x, b.constant(np.array([100], np.int8), scale=100.0)], x.shape, scale=1.0)
    error = measured(b.model(y), b.model(y))
    assert error.counted == 0 and not error.accepted


def test_a_run_is_left_out_where_a_value_clips_before_a_convolution() -> None:
    """The inner tensor holds the sum of the inputs only where they were shrunk to a quarter."""
    b = Build()
    x1, x2 = (b.input((1, 6, 6, 4), scale=X_SCALE) for _ in range(2))
    y = b.op("ADD", [x1, x2], x1.shape, scale=X_SCALE * 0.6)
    y = b.conv(y, b.constant(WEIGHTS, scale=W_SCALE), None, scale=5.0)
    error = measured(b.model(y), b.model(y), runs=16)
    assert error.counted == 10 * 6 * 6 * 8


def test_an_input_that_clips_before_a_convolution_is_drawn_from_another_run() -> None:
    """Of 144 elements some would clip in every run that is not shrunk, and no run would count."""
    b = Build()
    x = b.input((1, 6, 6, 4), scale=X_SCALE)
    y = b.op("MUL", [x, b.constant(np.full(4, 100, np.int8), scale=0.04)], x.shape, scale=X_SCALE * 1.5)
    y = b.conv(y, b.constant(WEIGHTS, scale=W_SCALE), None, scale=5.0)
    error = measured(b.model(y), b.model(y), runs=16)
    assert error.counted == 16 * 6 * 6 * 8


def test_sums_far_beyond_the_output_at_full_range_are_measured_at_a_smaller_one() -> None:
    """All inputs are positive, as after a RELU, and there are many: full-range noise lies far outside the output."""
    b = Build()
    x = b.input((1, 2048), scale=0.02, zero_point=-128)
    y = b.dense(x, b.constant(np.full((4, 2048), 100, np.int8), scale=0.01), None, scale=2.0)
    error = measured(b.model(y), b.model(y))
    assert error.counted > 500 and error.before_mean == pytest.approx(0.25, abs=0.03)


def test_quantize_alone_is_the_identity() -> None:
    def part(*scales: float) -> Model:
        b = Build()
        y = b.input((1, 300), scale=0.1)
        for scale in scales:
            y = b.op("QUANTIZE", [y], y.shape, scale=scale)
        return b.model(y)
    error = measured(part(0.31, 0.17), part(0.17))
    assert error.accepted and 0.24 < error.after_mean < 0.26 and error.before_mean > error.after_mean + 0.05
    assert not measured(part(0.17), part(0.31, 0.17)).accepted


def test_a_multiplier_below_a_half_rounds_twice() -> None:
    """TFLM rounds the product, then the shift by one bit: up to 0.75 steps off, and that is what is measured."""
    b = Build()
    x = b.input((1, 300), scale=0.1)
    model = b.model(b.op("QUANTIZE", [x], x.shape, scale=0.31))
    assert 0.7 < measured(model, model).before_max <= 0.75


def dense(bias_scale: float | None) -> Model:
    b = Build()
    x = b.input((1, 16), scale=0.05, zero_point=7)
    w = b.constant(np.arange(-32, 32, dtype=np.int8).reshape(4, 16), scale=0.02)
    k = b.constant(np.array([3000, -3000, 500, 0], np.int32), scale=bias_scale)
    return b.model(b.dense(x, w, k, scale=0.5))


def test_a_bias_without_a_scale_has_that_of_the_sums() -> None:
    scale = 0.05 * 0.02
    assert measured(dense(None), dense(None)).before_mean == pytest.approx(
        measured(dense(scale), dense(scale)).before_mean, abs=1e-6)


def test_a_bias_is_read_with_its_own_scale() -> None:
    """A bias of half the sums' scale is taken for twice its size by the kernel: that is an error of the original."""
    wrong = dense(0.05 * 0.02 / 2)
    assert measured(wrong, wrong).before_mean > measured(dense(None), dense(None)).before_mean + 0.5


def test_indices_stay_integers() -> None:
    b = Build()
    x = b.input((1, 4, 4, 2), scale=0.5)
    y = b.op("PAD", [x, b.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))], (1, 6, 6, 2), scale=0.5)
    y = b.op("RESHAPE", [y, b.constant(np.array([1, 72], np.int32))], (1, 72), scale=0.5)
    model = b.model(b.op("QUANTIZE", [y], y.shape, scale=0.7))
    error = measured(model, model)
    assert 0.1 < error.before_mean < 0.3 and error.before_max < 0.51


def test_float_outputs_are_not_measured() -> None:
    b = Build()
    model = b.model(b.op("DEQUANTIZE", [b.input((1, 4), scale=1.0)], (1, 4), np.float32))
    assert part_error(model, model) is None


def test_what_no_interpreter_runs_is_an_error_in_one_line() -> None:
    b = Build()
    model = b.model(b.op("CUSTOM:Nothing", [b.input((1, 4), scale=1.0)], (1, 4), scale=1.0))
    with pytest.raises(TflfuseError, match="Failed to get registration") as caught:
        part_error(model, model)
    assert "\n" not in str(caught.value)


def test_bytes_and_models_are_measured_alike_with_a_runner_of_the_callers() -> None:
    before, after = flatbuffer.write(batch_norm()), flatbuffer.write(folded())
    with Runner() as runner:
        assert part_error(before, after, 8, runner) == part_error(batch_norm(), folded(), 8, runner)


def test_extract_runs_like_the_part_it_is_and_changes_nothing() -> None:
    model = batch_norm()
    whole = flatbuffer.write(model)
    graph = model.subgraphs[0]
    middle = graph.operators[1]
    assert middle.inputs[0] is not None
    part = extract([middle], [middle.inputs[0]], middle.outputs)
    x = RNG.integers(-128, 128, (1, 6, 6, 8)).astype(np.int8)
    with Runner() as runner:
        outcome = runner.run("TFLM", flatbuffer.write(part), [[x]])
    real = x * 0.08 * (GAMMA * GAMMA_SCALE) / 0.09 + 1
    assert np.abs(outcome.outputs[0][0] - np.clip(np.round(real), -128, 127)).max() <= 1
    assert part.subgraphs[0].operators[0] is middle and flatbuffer.write(model) == whole
