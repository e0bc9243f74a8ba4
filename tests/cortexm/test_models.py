"""The fused operators of real models on every board: the genuine interpreter's outputs, with little stack."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tflfuse import flatbuffer
from tflfuse.inputs import tries
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse

from . import emulator
from .boards import BOARDS
from .conftest import Harness
from .image import image
from .replay import program_of

FOLDER = os.environ.get("TFLFUSE_MODELS")
FILES = [f for f in sorted(Path(FOLDER).rglob("*.tflite")) if "BROKEN" not in f.name] if FOLDER else []
UNFUSED = {"mlperftiny_pretrainedResnet", "tinymaix_mnist_dw_f", "coral_mobilenet_v1_0.25_128_quant", "tflm_conv0",
           "gotflite_face_detection_front", "mediapipe_hand_recrop", "tflm_conv16", "tflm_person_detect_vela",
           "tflm_transpose_conv0"}
"""Models of float32, uint8 or int16, or of nothing that a chain can do; and the small ones of converters' tests."""

pytestmark = pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_fused_operators_give_equal_outputs(file: Path, harness: Harness, tmp_path: Path) -> None:
    fused = fuse(file.read_bytes()).model
    graph = flatbuffer.read(fused).subgraphs[0]
    runs = sum(o.name == CUSTOM for o in graph.operators)
    if runs == 0:
        assert file.stem in UNFUSED or file.parent != Path(FOLDER or "")
        return
    data = tmp_path / "image"
    data.write_bytes(image([program_of(fused, tries(graph, 1, 1)[0])]))
    for cpu in BOARDS:
        outcome = emulator.run(cpu, harness(cpu), data)
        assert len(outcome.stack) == runs, cpu
        assert outcome.deepest < emulator.STACK, cpu
