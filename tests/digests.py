"""Digests of what models are rewritten to: the same on every machine, so that other bytes are meant, or a mistake."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tflfuse.pipeline import fuse

ROOT = Path(__file__).resolve().parent.parent
PINNED = Path(__file__).parent / "data" / "digests.json"
"""SHA-256 of each fused file, by the model's name; scripts/pin_digests writes it."""
MODELS = ("examples/residual_net.tflite", "tests/data/conv_bn_relu6.tflite", "tests/data/preactivation.tflite",
          "tests/data/squeeze_excite_open_batch.tflite", "tests/data/bn_after_add_float32.tflite",
          "tests/data/bn_after_leaky_relu_int16x8.tflite")


def digests() -> dict[str, str]:
    """Nothing is measured for them: an interpreter's version does not count."""
    return {name: hashlib.sha256(fuse((ROOT / name).read_bytes()).model).hexdigest() for name in MODELS}


def pin() -> None:
    PINNED.write_text(json.dumps(digests(), indent=1) + "\n")


def pinned() -> dict[str, str]:
    found: dict[str, str] = json.loads(PINNED.read_text())
    return found
