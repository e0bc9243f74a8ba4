"""Pages of models that others made, from the folder that TFLFUSE_MODELS names."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.html_report.page import parsed
from tests.html_report.test_page import MOST_BYTES, number
from tflfuse.html_report import render
from tflfuse.proof import fuse_and_prove

FOLDER = os.environ.get("TFLFUSE_MODELS")


@pytest.mark.skipif(not FOLDER, reason="TFLFUSE_MODELS names no folder with .tflite files")
@pytest.mark.parametrize("name", ["tinyengine_vww", "tflm_mobilenet_v2_quantized_1x3x224x224"])
def test_the_page_of_a_real_model_says_the_arena_that_the_interpreter_measured(name: str) -> None:
    result = fuse_and_prove((Path(FOLDER or "") / f"{name}.tflite").read_bytes(), runs=1)
    proof = result.report.proof
    assert proof is not None and proof.arena_before is not None and proof.arena_after is not None
    text = render(result, f"{name}.tflite")
    assert len(text.encode()) < MOST_BYTES
    page = parsed(text)
    measured = next(f for f in page.all("div", class_="figure") if f.one("dt").text == "Arena, 64-bit")
    assert number(measured.one("strong").text) == proof.arena_after.total
    assert number(measured.one("span", class_="was").text.split()[1]) == proof.arena_before.total
    for key, arena in (("before", proof.arena_before), ("after", proof.arena_after)):
        assert f"peak {arena.head:,} bytes" in page.one("figure", id=f"arena-{key}").one("text", class_="peak").text
