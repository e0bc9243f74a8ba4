"""A data set through a model before and after."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tflfuse
from tests.build import Build, random_int8
from tests.converted import DATA
from tests.readme import PROJECT
from tflfuse import flatbuffer, side_by_side
from tflfuse.evaluation import evaluate
from tflfuse.ir import Array
from tflfuse.runner import Runner
from tflfuse.samples import given
from tflfuse.tflm import Interpreter

pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
SAMPLES = side_by_side.BATCH + 5  # a whole batch and a part of one


def dense(swapped: bool = False) -> bytes:
    """Two classes of four numbers, the halves of the sums of the first and the last two."""
    b = Build()
    x = b.input((1, 4), scale=0.5, zero_point=3)
    w = b.constant(np.array([[1, 1, 0, 0], [0, 0, 1, 1]], np.int8)[::-1 if swapped else 1], scale=0.5)
    return b.bytes(b.dense(x, w, scale=0.25, zero_point=-7))


def numbers(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-20, 20, shape).astype(np.float32)


def test_every_sample_gives_what_the_interpreter_gives() -> None:
    model, x = dense(), numbers((SAMPLES, 4))
    found = evaluate(model, model, x)
    interpreter, tensor = Interpreter(model), flatbuffer.read(model).subgraphs[0].inputs[0]
    expected = np.concatenate([interpreter.run([given(tensor, sample)])[0] for sample in x])
    output, = found.outputs
    np.testing.assert_array_equal(output.after, expected)
    np.testing.assert_array_equal(output.before, expected)
    assert found.samples == SAMPLES and found.interpreter.startswith("TFLM ") and found.measure is None
    assert output.difference.equal and output.equal == output.agreement == 1
    assert output.least == (expected.min() + 7) * 0.25 and output.mean == pytest.approx((expected.mean() + 7) * 0.25)


def test_real_numbers_are_quantized_and_the_inputs_own_are_not() -> None:
    tensor = flatbuffer.read(dense()).subgraphs[0].inputs[0]
    assert given(tensor, np.array([0.0, 0.76, -100.0, 100.0])).tolist() == [[3, 5, -128, 127]]
    assert given(tensor, np.array([0, 1, 2, 255], np.uint8)).tolist() == [[3, 5, 7, 127]]
    assert given(tensor, np.array([0, 1, -2, 127], np.int8)).tolist() == [[0, 1, -2, 127]]


def test_the_accuracy_is_that_of_the_labels() -> None:
    x = np.round(numbers((SAMPLES, 4)) * 2) / 2  # what the input can hold
    x[x[:, :2].sum(axis=1) == x[:, 2:].sum(axis=1), 0] += 0.5
    labels = (x[:, :2].sum(axis=1) < x[:, 2:].sum(axis=1)).astype(int)
    labels[:2] = 1 - labels[:2]
    for y in (labels, labels[:, None]):
        found = evaluate(dense(), dense(swapped=True), x, y)
        assert found.measure == "accuracy" and found.before == pytest.approx(1 - 2 / SAMPLES)
        assert found.after == pytest.approx(2 / SAMPLES)
        assert found.outputs[0].agreement == 0 and not found.outputs[0].difference.equal
        assert "accuracy: 0.9459 -> 0.0541" in str(found)


def test_real_labels_give_the_mean_absolute_error() -> None:
    x = np.zeros((3, 4), np.float32)
    x[0, 0] = 4
    found = evaluate(dense(), dense(), x, np.zeros((3, 2)))
    assert found.measure == "mean absolute error" and found.before == found.after == pytest.approx(4 * 0.5 / 6)


def test_one_value_is_a_class_of_two() -> None:
    b = Build()
    x = b.input((1, 1), scale=1.0)
    model = b.bytes(b.dense(x, b.constant(np.array([[1]], np.int8), scale=1.0), scale=1.0))
    found = evaluate(model, model, np.array([[0.0], [1.0], [2.0]]), np.array([False, True, False]))
    assert found.before == pytest.approx(2 / 3) and found.outputs[0].agreement is None


def test_several_inputs_are_a_list() -> None:
    b = Build()
    x, y = b.input((1, 4), scale=0.5), b.input((1, 4), scale=0.25)
    model = b.bytes(b.op("SUB", [x, y], (1, 4), scale=0.5))
    found = evaluate(model, model, [np.full((2, 4), 3.0), np.full((2, 4), 1.0)])
    assert found.outputs[0].after.tolist() == [[4] * 4] * 2
    for wrong, said in ((np.zeros((2, 4)), "has 2 inputs, 1 arrays"), ([np.zeros((2, 4)), np.zeros((3, 4))], "2, 3")):
        with pytest.raises(tflfuse.TflfuseError, match=said):
            evaluate(model, model, wrong)


def test_variables_carry_over_from_a_sample_to_the_next() -> None:
    """An SVDF that adds the last two inputs; over the border of a batch too."""
    b = Build()
    x, one = b.input((1, 1)), b.constant(np.ones((1, 1), np.float32))
    state = b.tensor((1, 2), is_variable=True)
    model = b.bytes(b.op("SVDF", [x, one, b.constant(np.ones((1, 2), np.float32)), None, state], (1, 1), rank=1))
    found = evaluate(model, model, np.arange(SAMPLES, dtype=np.float32)[:, None])
    assert found.outputs[0].after.ravel().tolist() == [max(2 * k - 1, 0) for k in range(SAMPLES)]


def test_no_interpreter_goes_on_before_one_began() -> None:
    with Runner() as runner, pytest.raises(AssertionError, match="no interpreter"):
        runner.run("TFLM", None, [])


@pytest.mark.parametrize("x, y, said", [
    (np.zeros((2, 5)), None, r"takes samples of \[4\], an array of \[2, 5\]"), (np.zeros((0, 4)), None, r"\[0, 4\]"),
    ([[1.0, 2.0], [3.0]], None, "x is no array"),
    (np.full((2, 4), np.nan), None, "no finite numbers"), (np.array([["a"] * 4]), None, "no finite numbers"),
    (np.zeros((2, 4)), np.zeros(3, int), r"y is int64 \[3\]"), (np.zeros((2, 4)), np.zeros((2, 3)), "y is float64")])
def test_what_does_not_fit_is_refused(x: Array, y: Array | None, said: str) -> None:
    with pytest.raises(tflfuse.TflfuseError, match=said):
        evaluate(dense(), dense(), x, y)


def test_a_model_that_nobody_can_run_is_refused() -> None:
    b = Build()
    x = b.input((1, 4), scale=0.1)
    model = b.bytes(b.op("CUSTOM:Mine", [x], (1, 4), scale=0.1))
    with pytest.raises(tflfuse.TflfuseError, match="cannot be run: .*Mine"):
        evaluate(model, model, np.zeros((1, 4)))


def test_a_fused_model_is_compared_with_what_came_in() -> None:
    path = DATA / "squeeze_excite_open_batch.tflite"
    result = tflfuse.fuse(path.read_bytes(), exact=True)
    assert result.original == path.read_bytes() and result.report.changed
    x = random_int8(np.random.default_rng(1), (SAMPLES, 8, 8, 4))
    output, = result.evaluate(x).outputs
    assert output.difference.equal and output.after.shape == (SAMPLES, 6, 6, 4) and output.largest > output.least


def test_a_result_is_written_with_its_firmware(tmp_path: Path) -> None:
    result = tflfuse.fuse((PROJECT / "examples/residual_net.tflite").read_bytes())
    result.write(tmp_path / "out.tflite", resolver=tmp_path / "ops.h", sketch=str(tmp_path / "demo"))
    assert (tmp_path / "out.tflite").read_bytes() == result.model
    assert {path.name for path in tmp_path.iterdir()} == {"out.tflite", "ops.h", "demo"}
    with pytest.raises(OSError):
        result.write(tmp_path / "other.tflite", sketch=tmp_path / "no/demo")
    assert not (tmp_path / "other.tflite").exists()


def test_results_whose_files_are_one_are_not_written(tmp_path: Path) -> None:
    result, place = tflfuse.fuse(dense()), tmp_path / "out.h"
    for options in ({"resolver": tmp_path / "." / "out.h"}, {"report": place}, {"c_array": tmp_path / "out.cc"}):
        with pytest.raises(tflfuse.TflfuseError, match=r"out\.h would be written over by another output"):
            result.write(place, **options)
    assert not list(tmp_path.iterdir())
