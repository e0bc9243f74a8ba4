"""Neither interpreter installed: once exit 2 for every quantized model with a re-quantizing fold."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.build import Build, random_int8
from tflfuse import flatbuffer, proof
from tflfuse.errors import TflfuseError
from tflfuse.part import Unmeasured, part_error
from tflfuse.pattern import Match, Replacement, fold, op, replace_by, var


def batch_norm(reader: str = "") -> bytes:
    """int8 CONV_2D -> MUL by a constant per channel, and perhaps an operator that reads it."""
    rng = np.random.default_rng(1)
    b = Build()
    x = b.input((1, 4, 4, 4), scale=0.05)
    y = b.conv(x, b.constant(random_int8(rng, (4, 1, 1, 4)), scale=[0.01] * 4), scale=0.1)
    y = b.op("MUL", [y, b.constant(np.array([100, 90, 80, 70], np.int8), scale=0.01)], y.shape, scale=0.1)
    return b.bytes(b.op(reader, [y], y.shape, scale=0.1) if reader else y)


def test_it_is_written_and_said_that_nothing_was_run(tmp_path: Path) -> None:
    for package in ("tflite_micro", "ai_edge_litert"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "in.tflite").write_bytes(batch_norm())
    command = [sys.executable, "-m", "tflfuse", "in.tflite", "out.tflite", "--builtin-only", "--json", "report.json"]
    path = os.pathsep.join([str(tmp_path), *(p or "." for p in sys.path)])
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert (done.returncode, done.stderr) == (0, "")
    assert "not verified: the TFLM interpreter is not installed (not here): pip install" in done.stdout
    assert "1 re-quantizing step not measured" in done.stdout
    assert [o.name for o in flatbuffer.read((tmp_path / "out.tflite").read_bytes()).operators] == ["CONV_2D"]
    (step,) = json.loads((tmp_path / "report.json").read_text())["verification"]["re_quantizing"]
    assert step["error_in_steps"] is None and "not installed" in step["not_measured"]


def test_a_part_that_ran_before_and_not_after_is_another_matter() -> None:
    with pytest.raises(Unmeasured):
        part_error(batch_norm("CUSTOM:Nobody"), batch_norm(), runs=1)
    with pytest.raises(TflfuseError) as caught:
        part_error(batch_norm(), batch_norm("CUSTOM:Nobody"), runs=1)
    assert not isinstance(caught.value, Unmeasured)


def test_a_fold_whose_result_does_not_run_is_not_taken_for_one_that_cannot_be_measured(
        monkeypatch: pytest.MonkeyPatch) -> None:
    @fold(op.MUL(var("x"), var("k"), name="mul"))
    def breaks(m: Match) -> Replacement:
        """Leave a MUL without its second operand."""
        return replace_by(m.mul.like(inputs=[m.x]), exact=False)

    monkeypatch.setattr("tflfuse.pipeline.FOLDS", (breaks,))
    with pytest.raises(TflfuseError, match="MUL|crashed"):
        proof.fuse_and_prove(batch_norm(), custom_ops=False)
