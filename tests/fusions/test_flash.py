"""How much longer a file gets by a run: the estimate against files."""
from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from tests.build import Build, names, random_int8
from tests.fused import fused_model
from tflfuse import flatbuffer
from tflfuse.flash import growth
from tflfuse.layout import laid_out
from tflfuse.pipeline import fuse
from tflfuse.stages import run_of

MODELS = os.environ.get("TFLFUSE_MODELS")


@pytest.mark.parametrize("scales", [1, 24])
@pytest.mark.parametrize("channels", [8, 64])
def test_the_estimate_is_near(scales: int, channels: int) -> None:
    rng = np.random.default_rng(scales + channels)
    b = Build()
    x = b.input((1, 8, 8, channels), scale=0.1)
    bias = b.constant(np.zeros(24, np.int32), scale=[0.001] * scales)
    w = b.constant(random_int8(rng, (24, 1, 1, channels)), scale=[0.01] * scales)
    y = b.conv(x, w, bias, scale=0.2, zero_point=4, activation="RELU")
    y = b.op("LEAKY_RELU", [y], y.shape, scale=0.1, alpha=0.1)
    run = run_of(b.operators)
    found = len(flatbuffer.write(fused_model(run, b.inputs))) - len(b.bytes(y))
    assert abs(growth(run, laid_out(run.chain)) - found) < 400


def test_an_addition_of_few_numbers_is_not_worth_its_flash() -> None:
    b = Build()
    x, other, large = (b.input((1, n), scale=0.1) for n in (4, 4, 4096))
    first = b.op("SOFTMAX", [large], large.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    y = b.op("ADD", [x, other], (1, 4), scale=0.3)
    result = fuse(b.bytes(first, y))
    assert sorted(names(flatbuffer.read(result.model))) == ["ADD", "SOFTMAX"]
    reason, = [r.reason for r in result.report.plan.refusals if "ADD" in r.label]
    assert re.fullmatch(r"fused, it would save \d+ bytes of the arena for \d+ of flash", reason)


@pytest.mark.skipif(MODELS is None, reason="TFLFUSE_MODELS names no folder with .tflite files")
def test_no_real_model_grows_by_more_than_three_percent() -> None:
    files = sorted(Path(MODELS or "").glob("*.tflite"))
    assert files
    grown = {f.name: len(fuse(f.read_bytes()).model) / f.stat().st_size for f in files}
    assert {name: ratio for name, ratio in grown.items() if ratio > 1.03} == {}
