"""Real models that others made, from the folder that TFLFUSE_MODELS names: folded and proved."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tflfuse.errors import BadModel
from tflfuse.pipeline import fuse
from tflfuse.proof import fuse_and_prove

FOLDER = os.environ.get("TFLFUSE_MODELS")
FILES = sorted(Path(FOLDER).rglob("*.tflite")) if FOLDER else []
BROKEN = [f for f in FILES if "BROKEN" in f.name]
WHOLE = [f for f in FILES if f not in BROKEN]
RUNS = 2
SLOW = {"cfu_hps_model_2022_01_05_74ops", "tflm_mobilenet_v2_quantized_1x3x224x224"}
"""Hundreds of millions of multiplications in the interpreter's reference kernels: one random input must do."""

LEFT = {"cfu_hps_model_2022_01_05_74ops": 67, "gotflite_face_detection_front": 73, "mww_okay_nabu": 65,
        "mltk_keyword_spotting_mobilenetv2": 67, "stm32_miniresnetv2_1stacks_64x50_tl_int8": 23,
        "tflm_mobilenet_v2_quantized_1x3x224x224": 71}
"""How many operators are left of those with something to fold, at most."""

pytestmark = pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")


@pytest.mark.parametrize("file", WHOLE, ids=lambda f: f.stem)
def test_a_real_model_folds_and_gives_the_same_outputs(file: Path) -> None:
    data = file.read_bytes()
    result = fuse_and_prove(data, 1 if file.stem in SLOW else RUNS, custom_ops=False)
    report, proof = result.report, result.report.proof
    assert report.operators_after.total() <= min(report.operators_before.total(), LEFT.get(file.stem, 10 ** 6))
    assert fuse(result.model, custom_ops=False).model == result.model
    assert proof is not None
    if proof.whole.interpreter is None or not proof.whole.interpreter.startswith("TFLM"):
        assert proof.whole.reasons, "it does not say why TFLM did not run it"
    if proof.whole.interpreter is None:
        assert proof.whole.summary.startswith("not verified: ")
    elif report.plan.exact:
        assert proof.whole.equal and proof.whole.summary.startswith("all outputs equal, ")
    else:
        assert proof.exact_part is None or proof.exact_part.equal


@pytest.mark.parametrize("file", BROKEN, ids=lambda f: f.stem)
def test_a_broken_file_is_refused(file: Path) -> None:
    with pytest.raises(BadModel):
        fuse_and_prove(file.read_bytes())
