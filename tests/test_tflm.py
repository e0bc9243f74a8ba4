"""The TFLM interpreter of the wheel behind tflfuse.tflm: outputs, arena, errors, and what it leaves alone."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tflfuse import tflm

from .build import Build

pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")

MODELS = os.environ.get("TFLFUSE_MODELS")
needs_models = pytest.mark.skipif(not MODELS, reason="TFLFUSE_MODELS names no folder of models")


def model(name: str) -> bytes:
    assert MODELS is not None
    return (Path(MODELS) / name).read_bytes()


@needs_models
def test_hello_world_computes_a_sine() -> None:
    """The model was trained on sin(x), x in [0, 2 pi]; its scales are those in the file."""
    interpreter = tflm.Interpreter(model("tflm_hello_world_int8.tflite"))
    scale_in, scale_out, zero_out = 0.024480115622282, 0.00836281106, 4
    for x in (0.5, 1.5, 3.0, 4.5, 6.0):
        q = np.array([[round(x / scale_in) - 128]], np.int8)
        y, = interpreter.run([q])
        assert y.dtype == np.int8 and y.shape == (1, 1)
        assert abs((int(y[0, 0]) - zero_out) * scale_out - np.sin(x)) < 0.12


@needs_models
def test_arena_is_what_the_interpreter_prints(capfd: pytest.CaptureFixture[str]) -> None:
    interpreter = tflm.Interpreter(model("mlperftiny_vww_96_int8.tflite"))
    arena = interpreter.arena
    assert capfd.readouterr() == ("", "")
    interpreter._interpreter.print_allocations()
    printed = capfd.readouterr().err
    assert arena.total == arena.head + arena.tail
    for part, size in vars(arena).items():
        assert f"Arena allocation {part} {size} bytes" in printed


@needs_models
def test_an_unknown_operator_is_one_line_in_tflms_words() -> None:
    with pytest.raises(tflm.TflmError) as caught:
        tflm.Interpreter(model("tiny/litert_testdata_custom_op.tflite"))
    assert str(caught.value) == "TFLM cannot load the model: Failed to get registration from op code CUSTOM"


@needs_models
def test_an_operator_that_fails_when_run_is_one_line() -> None:
    interpreter = tflm.Interpreter(model("tiny/tflite2onnx_depthwise-conv.uint8.tflite"))
    with pytest.raises(tflm.TflmError, match="Input type UINT8 .* failed to invoke") as caught:
        interpreter.run([np.zeros((1, 5, 5, 2), np.uint8)])
    assert "\n" not in str(caught.value)


@needs_models
@pytest.mark.parametrize("arrays, message", [
    ([], "has 1 inputs, 0 arrays"),
    ([np.zeros((1, 1), np.float32)], "FLOAT32 but expected type INT8"),
    ([np.zeros((1, 2), np.int8)], "Got 2 but expected 1 for dimension 1"),
    ([np.zeros(1, np.int8)], "Dimension mismatch"),
])
def test_arrays_that_do_not_fit_are_refused(arrays: list[np.ndarray], message: str) -> None:
    interpreter = tflm.Interpreter(model("tflm_hello_world_int8.tflite"))
    with pytest.raises(tflm.TflmError, match=message):
        interpreter.run(arrays)


@needs_models
def test_the_arena_grows_when_the_model_needs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    data = model("mlperftiny_vww_96_int8.tflite")
    image = np.random.default_rng(1).integers(-128, 128, (1, 96, 96, 3), np.int8)
    roomy = tflm.Interpreter(data).run([image])
    monkeypatch.setattr(tflm, "ARENA_SIZES", (60_000, 1_000_000))
    assert np.array_equal(tflm.Interpreter(data).run([image])[0], roomy[0])
    monkeypatch.setattr(tflm, "ARENA_SIZES", (20_000, 60_000))
    with pytest.raises(tflm.TflmError, match="missing|too small|Failed to allocate"):
        tflm.Interpreter(data)


def test_a_graph_input_with_data_leaves_the_callers_bytes_alone() -> None:
    """Where a graph input has constant data, setting it writes into the model."""
    b = Build()
    x, k = b.input((1, 4)), b.constant(np.ones((1, 4), np.float32))
    b.inputs.append(k)
    data = b.bytes(b.op("ADD", [x, k], (1, 4)))
    before = bytes(bytearray(data))
    y, = tflm.Interpreter(data).run([np.zeros((1, 4), np.float32), np.full((1, 4), 7, np.float32)])
    assert y.tolist() == [[7, 7, 7, 7]] and data == before


@needs_models
def test_variables_live_from_run_to_run_and_start_anew_with_an_interpreter() -> None:
    data = model("mww_okay_nabu.tflite")
    rng = np.random.default_rng(3)
    inputs = [rng.integers(-128, 128, (1, 3, 40), np.int8) for _ in range(20)]
    once, again = tflm.Interpreter(data), tflm.Interpreter(data)
    first = [once.run([x])[0] for x in inputs]
    assert all(np.array_equal(a, again.run([x])[0]) for a, x in zip(first, inputs, strict=True))
    alone = [tflm.Interpreter(data).run([x])[0] for x in inputs]
    assert not all(np.array_equal(a, b) for a, b in zip(first, alone, strict=True))


@pytest.mark.parametrize("data", [b"", b"TFL3", b"\xff" * 64])
def test_bytes_that_are_no_model_are_an_error(data: bytes) -> None:
    with pytest.raises(tflm.TflmError):
        tflm.Interpreter(data)


def test_a_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite_micro", None)
    with pytest.raises(tflm.TflmError, match=r"pip install 'tflfuse\[tflm\]', or '\.\[tflm\]' in its folder"):
        tflm.name()


def test_what_was_printed_before_goes_where_it_was_going(tmp_path: Path) -> None:
    """C code's buffered output from before the interpreter ran is not swallowed with the interpreter's own."""
    script = tmp_path / "script.py"
    script.write_text("import ctypes\nfrom tflfuse import tflm\nctypes.CDLL(None).puts(b'before')\n"
                      "with tflm._captured() as text:\n    ctypes.CDLL(None).puts(b'inside')\n    caught = text()\n"
                      "assert caught == 'inside\\n', caught\nctypes.CDLL(None).puts(b'after')\n")
    env = {**os.environ, "PYTHONPATH": str(Path(tflm.__file__).parents[1])}
    env.pop("PYTHONUNBUFFERED", None)  # C's buffer too would be off
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr) == ("before\nafter\n", "")
