"""A short run of the fuzzer, always the same: it finds nothing, and its inputs get far."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.findings import Findings
from tests.fuzz.mutator import mutated
from tests.fuzz.target import Reached

PROJECT = Path(__file__).resolve().parents[2]
RUNS = 1200


def test_fuzzing_finds_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="there is no wheel of atheris for this machine")
    command = [sys.executable, "-m", "tests.fuzz", str(tmp_path), f"-runs={RUNS}", "-seed=1"]
    done = subprocess.run(command, cwd=PROJECT, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True,
                          text=True)
    assert done.returncode == 0 and f"Done {RUNS} runs" in done.stderr, done.stderr[-2000:]
    state = json.loads((tmp_path / "figures.json").read_text())
    tracebacks = [path.read_text() for path in tmp_path.glob("*.txt")]
    assert not state["findings"], "\n".join(tracebacks)
    tried, reached = state["executions"], state["reached"]
    assert tried > RUNS / 3  # the state was written some seconds before the end
    assert reached["FUSE"] + reached["REWRITTEN"] + reached["LOWERED"] > 0.3 * tried
    assert reached["REWRITTEN"] + reached["LOWERED"] > 0.1 * tried


def test_the_counts_of_a_process_go_on_in_the_next(tmp_path: Path) -> None:
    for _ in range(2):
        findings = Findings(tmp_path)
        findings.passed(Reached.FUSE)
        try:
            raise ValueError("no")
        except ValueError as error:
            findings.failed(b"", error)
        findings.write()
    state = json.loads((tmp_path / "figures.json").read_text())
    assert state["executions"] == 4 and state["reached"]["FUSE"] == 2
    assert list(state["findings"].values()) == [2]


@pytest.mark.parametrize("size", range(13))
def test_files_of_a_few_bytes_are_changed_too(size: int) -> None:
    others = {mutated(bytes(size), seed, 5120, lambda data: data + b"x") for seed in range(500)}
    assert len(others) > 1
