"""verify: which interpreter judges, what counts as equal, and what is said where a model does not run."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tflfuse import flatbuffer, runner
from tflfuse.errors import BadModel, TflfuseError
from tflfuse.inputs import tries
from tflfuse.ir import Array
from tflfuse.pipeline import fuse
from tflfuse.runner import Runner
from tflfuse.verify import difference, verify

from .build import Build, random_int8
from .converted import DATA

pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")

MODELS = os.environ.get("TFLFUSE_MODELS")
needs_models = pytest.mark.skipif(not MODELS, reason="TFLFUSE_MODELS names no folder of models")


def file(name: str) -> bytes:
    assert MODELS is not None
    return (Path(MODELS) / name).read_bytes()


def conv_model(steps: int = 0, filters: int = 4) -> bytes:
    """An int8 convolution; `steps` lifts the first output channel by so many output steps."""
    b = Build()
    x = b.input((1, 5, 5, 3), scale=0.5, zero_point=-3)
    weights = np.random.default_rng(1).integers(-9, 10, (filters, 3, 3, 3)).astype(np.int8)
    bias = np.zeros(filters, np.int32)
    bias[0] = 160 * steps
    w, k = b.constant(weights, scale=[0.25] * filters), b.constant(bias, scale=[0.125] * filters)
    return b.bytes(b.conv(x, w, k, scale=20.0, zero_point=5))


def gather_model(index: int) -> bytes:
    """TFLM does not compare the index with the rows there are: a large one ends the process."""
    b = Build()
    return b.bytes(b.op("GATHER", [b.input((4, 3), scale=0.5), b.constant(np.array([index], np.int32))], (1, 3),
                        scale=0.5))


def add_constant(value: Array, dtype: Any = np.float32) -> bytes:
    b = Build()
    x = b.input(value.shape, dtype)
    return b.bytes(b.op("ADD", [x, b.constant(value.astype(dtype))], value.shape))


def test_a_model_equals_itself() -> None:
    comparison = verify(conv_model(), conv_model())
    assert comparison.equal and comparison.runs == 7 and comparison.failure is None and comparison.reasons == ()
    assert comparison.conclusive and not comparison.unstable
    assert comparison.interpreter is not None and comparison.interpreter.startswith("TFLM 0.dev")
    assert comparison.arena_before == comparison.arena_after and comparison.arena_before is not None
    assert comparison.summary.startswith("all outputs equal, 7 inputs in TFLM")


def test_a_step_more_is_seen_and_counted() -> None:
    comparison = verify(conv_model(), conv_model(steps=1))
    assert not comparison.equal
    found, = comparison.outputs
    assert (found.dtype, found.largest, found.relative) == ("int8", 1, None)
    assert 0 < found.mean <= 0.25  # one channel of four, less where the output clips
    assert "differs by up to 1 step, " in comparison.summary


def test_as_dict_is_json_and_holds_the_summary() -> None:
    comparison = verify(conv_model(), conv_model(steps=2))
    data = json.loads(json.dumps(comparison.as_dict(), allow_nan=False))
    assert data["summary"] == comparison.summary and data["outputs"][0]["largest"] == 2
    assert data["arena_before"]["total"] > 0


def test_the_callers_inputs_are_used() -> None:
    image = np.full((1, 5, 5, 3), -3, np.int8)
    assert verify(conv_model(), conv_model(), inputs=[[image]]).runs == 1
    with pytest.raises(TflfuseError, match="no inputs were given"):
        verify(conv_model(), conv_model(), inputs=[])
    with pytest.raises(TflfuseError, match=r"run 1: 't0' is int8 \[1, 5, 5, 3\], float32 \[1\] was given"):
        verify(conv_model(), conv_model(), inputs=[[image], [np.zeros(1, np.float32)]])
    with pytest.raises(TflfuseError, match="1 inputs, 2 arrays"):
        verify(conv_model(), conv_model(), inputs=[[image, image]])


def test_a_rewritten_model_that_does_not_run_is_a_failure_not_a_second_opinion() -> None:
    b = Build()
    x = b.input((1, 5, 5, 3), scale=0.5, zero_point=-3)
    unknown = b.bytes(b.op("CUSTOM:Nothing", [x], (1, 5, 5, 4), scale=20.0))
    comparison = verify(conv_model(), unknown)
    assert comparison.interpreter is not None and not comparison.equal and comparison.outputs == ()
    assert comparison.failure is not None and "Failed to get registration" in comparison.failure
    assert comparison.summary.startswith("the rewritten model fails in TFLM")


def test_a_crash_is_a_failure_of_the_model_that_crashed() -> None:
    comparison = verify(gather_model(0), gather_model(1 << 30))
    assert comparison.failure is not None and comparison.failure.startswith("the interpreter crashed: SIG")
    assert comparison.arena_before is not None and comparison.arena_after is None


def test_a_crash_leaves_the_models_before_and_after_it_alone() -> None:
    rows = [[np.arange(12, dtype=np.int8).reshape(4, 3)]]
    with Runner() as running:
        outcomes = [running.run("TFLM", gather_model(i), rows) for i in (1, 1 << 30, 2)]
    assert [o.error is None for o in outcomes] == [True, False, True]
    assert outcomes[0].outputs[0][0].tolist() == [[3, 4, 5]] and outcomes[2].outputs[0][0].tolist() == [[6, 7, 8]]


def test_other_outputs_than_before_are_a_failure() -> None:
    comparison = verify(conv_model(), conv_model(filters=5))
    assert comparison.failure == "output 0 is int8 [1, 5, 5, 5], was int8 [1, 5, 5, 4]"
    b = Build()
    x = b.input((1, 5, 5, 3), scale=0.5, zero_point=-3)
    y = b.op("RELU", [x], x.shape, scale=0.5, zero_point=-3)
    assert verify(b.bytes(y), b.bytes(y, y)).failure == "it has 2 outputs, the original has 1"


def test_floats_are_compared_by_their_bits() -> None:
    nan, other_nan = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert difference("y", [np.array([nan, 1.0], np.float32)], [np.array([nan, 1.0], np.float32)]).equal
    for a, b in [(nan, other_nan), (nan, 1.0), (1.0, nan), (np.inf, 1.0), (0.0, -0.0)]:
        assert not difference("y", [np.array([a, 1.0], np.float32)], [np.array([b, 1.0], np.float32)]).equal
    assert difference("y", [np.array([1, 2], np.float32)], [np.array([np.inf, 2], np.float32)]).largest == np.inf


def test_what_is_no_real_number_is_equal_or_infinitely_far() -> None:
    a, b = np.array([b"one", b"two"]), np.array([b"one", b"six"])
    assert difference("y", [a], [a]).equal and difference("y", [a], [b]).largest == np.inf
    c = np.array([1 + 2j], np.complex128)
    assert difference("y", [c], [c]).equal and not difference("y", [c], [c.conj()]).equal


def test_a_float_difference_is_absolute_and_relative_to_the_outputs_range() -> None:
    found = difference("y", [np.array([0, 4], np.float32), np.array([8, 2], np.float32)],
                       [np.array([0, 4.5], np.float32), np.array([8, 2], np.float32)])
    assert (found.largest, found.relative, found.mean) == (0.5, 0.0625, 0.125)


def test_a_float_model_that_changes_in_the_last_bit_is_not_equal() -> None:
    value = np.linspace(0.1, 1, 6).astype(np.float32)
    comparison = verify(add_constant(value), add_constant(np.nextafter(value, np.float32(2))))
    found, = comparison.outputs
    assert not comparison.equal and found.relative is not None and 0 < found.relative < 1e-6


@needs_models
def test_variables_evolve_alike_and_from_the_same_start() -> None:
    data = file("mww_okay_nabu.tflite")
    comparison = verify(data, data, runs=12)
    assert comparison.equal and comparison.runs == 15


@needs_models
@pytest.mark.parametrize("name, reason", [
    ("tiny/tflite2onnx_conv-quant-fp16.float32.tflite", "TFLM cannot load the model: .*dequantize"),
    ("tiny/tflite2onnx_depthwise-conv.uint8.tflite", "TFLM cannot run the model: Input type UINT8"),
    ("tiny/litert_testdata_simple_relu1_op.tflite", "TFLM cannot load the model: .*RELU_N1_TO_1"),
])
def test_litert_judges_what_tflm_cannot_run(name: str, reason: str) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    comparison = verify(file(name), file(name), runs=1)
    assert comparison.equal and comparison.arena_before is None
    assert comparison.interpreter is not None and comparison.interpreter.startswith("LiteRT ")
    assert len(comparison.reasons) == 1 and re.match(reason, comparison.reasons[0])


def test_neither_interpreter_is_said_with_both_reasons() -> None:
    b = Build()
    data = b.bytes(b.op("CUSTOM:Nothing", [b.input((1, 4))], (1, 4)))
    comparison = verify(data, data)
    assert comparison.interpreter is None and not comparison.equal and comparison.runs == 0
    assert len(comparison.reasons) == 2
    assert comparison.summary.startswith("not verified: TFLM") and "LiteRT" in comparison.summary


def test_a_model_that_cannot_be_read_raises() -> None:
    with pytest.raises(BadModel):
        verify(b"nothing", conv_model())
    assert verify(conv_model(), b"nothing").failure is not None


def test_an_original_that_disagrees_with_itself_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(9))

    def noisy(self: Runner, engine: str, model: bytes, inputs: Any, fill: int = 0) -> runner.Outcome:
        return runner.Outcome([[np.full((1, 5, 5, 4), next(count), np.int8)]] * len(inputs), interpreter=engine)

    monkeypatch.setattr(Runner, "run", noisy)
    assert verify(conv_model(), conv_model()).unstable


def test_outputs_that_depend_on_what_memory_held_are_compared_with_nothing() -> None:
    """In one process such a model does the same each time, so that equal outputs would be no more than luck."""
    data = (DATA / "dilated_open_batch.tflite").read_bytes()
    inputs = tries(flatbuffer.read(data).subgraphs[0], 1, 1)
    with Runner() as running:
        first, again, other = (running.run("TFLM", data, inputs, fill).outputs for fill in (0, 0, 7))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    comparison = verify(data, data)
    assert comparison.unstable and not comparison.equal and not comparison.conclusive and comparison.outputs == ()
    assert comparison.summary.startswith("not verified: the original's own outputs change from one run to the next in")
    assert json.loads(json.dumps(comparison.as_dict()))["unstable"]


def test_an_original_that_does_not_run_twice_is_unstable(monkeypatch: pytest.MonkeyPatch) -> None:
    def lucky(self: Runner, engine: str, model: bytes, inputs: Any, fill: int = 0) -> runner.Outcome:
        outputs = [[np.zeros((1, 5, 5, 4), np.int8)]] * len(inputs)
        return runner.Outcome([], error="crashed") if fill and model == conv_model() else runner.Outcome(
            outputs, interpreter=engine)

    monkeypatch.setattr(Runner, "run", lucky)
    assert verify(conv_model(), conv_model(steps=1)).unstable


def test_it_works_in_a_script_without_a_main_guard(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(conv_model())
    script = tmp_path / "train.py"
    script.write_text("from pathlib import Path\nfrom tflfuse.verify import verify\n"
                      "data = Path(__file__).with_name('model.tflite').read_bytes()\n"
                      "print('once', verify(data, data).equal)\n")
    env = {**os.environ, "PYTHONPATH": str(Path(runner.__file__).parents[1])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("once True\n", "")


def test_inputs_are_the_same_each_time_and_cover_the_ends() -> None:
    b = Build()
    x = b.input((2, 50), scale=0.5, zero_point=-3)
    graph = b.model(b.op("RELU", [x], x.shape, scale=0.5, zero_point=-3)).subgraphs[0]
    first, again = tries(graph, 2, 1), tries(graph, 2, 1)
    assert all(np.array_equal(a, c) for (a,), (c,) in zip(first, again, strict=True))
    drawn = np.concatenate([run[0] for run in first[:2]])
    assert drawn.dtype == np.int8 and drawn.min() < -110 and drawn.max() > 110
    assert [set(run[0].ravel().tolist()) for run in first[2:]] == [{-128}, {127}, {-3}]


def test_float_inputs_cover_the_range_of_the_quantize_behind_them() -> None:
    b = Build()
    x, plain = b.input((1, 400)), b.input((1, 400))
    q = b.op("QUANTIZE", [x], x.shape, np.int8, scale=0.5, zero_point=-28)
    graph = b.model(q, b.op("RELU", [plain], plain.shape)).subgraphs[0]
    random, low, high, zero = tries(graph, 1, 1)
    assert -50 <= random[0].min() < -45 and 72 < random[0].max() <= 77.5
    assert (low[0][0, 0], high[0][0, 0], zero[0][0, 0]) == (-50, 77.5, 0)
    assert (low[1][0, 0], high[1][0, 0], zero[1][0, 0]) == (-1, 1, 0) and 0.9 < random[1].std() < 1.1


def test_integers_that_may_be_indices_stay_small_and_constants_stay_as_they_are() -> None:
    b = Build()
    rows, index = b.input((4, 3), scale=0.5), b.input((30,), np.int32)
    kept = b.constant(np.array([7, 9], np.int32))
    b.inputs.append(kept)
    out = b.op("GATHER", [rows, index], (30, 3), scale=0.5)
    for run in tries(b.model(out).subgraphs[0], 3, 1):
        assert run[1].dtype == np.int32 and set(run[1].tolist()) <= {0, 1}
        assert run[2].tolist() == [7, 9]


def test_random_inputs_differ_between_runs() -> None:
    b = Build()
    x = b.input((1, 20), scale=1.0)
    runs = tries(b.model(b.op("RELU", [x], x.shape, scale=1.0)).subgraphs[0], 4, 1)[:4]
    assert len({run[0].tobytes() for run in runs}) == 4


def test_litert_runs_the_lowered_form_of_fused_operators() -> None:
    """TFLM has no TILE, so LiteRT must run a model that also holds a fused operator, which LiteRT does not have."""
    rng = np.random.default_rng(8)
    b = Build()
    x = b.input((1, 12, 12, 4), scale=0.5, zero_point=-3)
    wide, narrow = (b.constant(np.zeros(n, np.int32), scale=[0.01 * s] * n) for n, s in ((32, 0.5), (8, 0.2)))
    y = b.conv(x, b.constant(random_int8(rng, (32, 3, 3, 4)), scale=[0.01] * 32), wide, scale=0.2, zero_point=4)
    y = b.conv(y, b.constant(random_int8(rng, (8, 1, 1, 32)), scale=[0.01] * 8), narrow, scale=0.3, zero_point=1)
    y = b.op("TILE", [y, b.constant(np.array([1, 1, 2, 1], np.int32))], (1, 12, 24, 8), scale=0.3, zero_point=1)
    model = b.bytes(y)
    fused = fuse(model).model
    assert any(o.name.startswith("CUSTOM:") for o in flatbuffer.read(fused).operators)
    found = verify(model, fused, runs=2)
    assert found.interpreter is not None and found.interpreter.startswith("LiteRT") and found.equal
