"""scripts/bench_cortexm prints the figures of a model, and says what it cannot read."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import meter, rival

ROOT = Path(__file__).resolve().parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "scripts/bench_cortexm", *arguments], capture_output=True, text=True)


@pytest.mark.skipif(meter.missing() is not None, reason=str(meter.missing()))
def test_it_prints_what_a_model_costs() -> None:
    done = bench("--stages", "--functions", str(ROOT / "examples/residual_net.tflite"))
    assert done.returncode == 0, done.stderr
    whole = int(re.findall(r"instructions +([\d,]+)", done.stdout)[0].replace(",", ""))
    kinds = re.findall(r"^  ([a-z1][a-z0-9 ]*?) +\d+ +([\d,]+) +[\d.]+% ", done.stdout, re.MULTILINE)
    assert {"depthwise", "1x1 to more", "add"} <= {name for name, _ in kinds}
    assert 0 < whole - sum(int(count.replace(",", "")) for _, count in kinds) < 1000
    assert re.search(r"^ +[\d,]+ +[\d.]+%  tflfuse_\w+_row$", done.stdout, re.MULTILINE), "one of the pack's functions"
    assert re.search(r"stack \d+ bytes; Prepare takes \d+", done.stdout)


@pytest.mark.skipif(meter.missing() is not None, reason=str(meter.missing()))
def test_a_missing_file_is_told() -> None:
    done = bench("nowhere.tflite")
    assert done.returncode == 2 and done.stderr == "scripts/bench_cortexm: there is no file nowhere.tflite\n"


@pytest.mark.skipif(rival.sources() is None, reason="bakenn is not installed, whose CMSIS-NN sources this compiles")
@pytest.mark.skipif(meter.missing() is not None, reason=str(meter.missing()))
def test_cmsis_nn_computes_the_same_layers() -> None:
    """It gives the same outputs, or the script would end in an error, for each layer of a kind."""
    done = bench(str(ROOT / "examples/residual_net.tflite"))
    assert done.returncode == 0, done.stderr
    beside = re.findall(r"^  (\S.*?) +(\d+) +[\d,]+ +[\d.]+x of +[\d,]+ ", done.stdout, re.MULTILINE)
    assert dict(beside) == {"convolution": "4", "depthwise": "1", "1x1": "1", "1x1 to more": "1", "dense": "2",
                            "max pool": "1", "average pool": "1"}
