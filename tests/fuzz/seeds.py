"""What fuzzing starts from: real files, the converter's, and small models of every kind of operator, fused ones too."""
from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.random_models import Recipe
from tflfuse import flatbuffer
from tflfuse.errors import TflfuseError
from tflfuse.pipeline import fuse, lower

LARGEST = 5120
"""Bytes of an input: small files run fast, and a claim that is too large needs no large file."""
DATA = Path(__file__).resolve().parents[1] / "data"
RECIPES = 150
"""Random models looked at."""


def seeds() -> list[bytes]:
    """Each once, in an order that is always the same. With TFLFUSE_MODELS, the tiny ones of those too."""
    found = dict.fromkeys((*files(), *generated()))
    for data in [*found]:
        found.update(dict.fromkeys(rewritten(data)))
    return [data for data in found if len(data) <= LARGEST]


def files() -> Iterator[bytes]:
    folders = [DATA]
    if "TFLFUSE_MODELS" in os.environ:
        folders.append(Path(os.environ["TFLFUSE_MODELS"]) / "tiny")
    for folder in folders:
        for path in sorted(folder.glob("*.tflite")):
            yield path.read_bytes()


def generated() -> Iterator[bytes]:
    """The random models that have a kind of operator, or meet a rule, that none before had, the smallest first."""
    models = [data for seed in range(RECIPES) if len(data := Recipe.of(seed).bytes()) <= LARGEST]
    known: set[str] = set()
    for data in sorted(models, key=len):
        names = {f"{o.name} {o.inputs[0].type if o.inputs and o.inputs[0] else ''}"
                 for o in flatbuffer.read(data).operators}
        names |= {step.rule for step in fuse(data).report.plan.steps}
        if not names <= known:
            known |= names
            yield data


def rewritten(data: bytes) -> Iterator[bytes]:
    """What becomes of a file."""
    try:
        fused = fuse(data).model
        yield fused
        yield lower(fused).model
        yield fuse(data, custom_ops=False).model
    except TflfuseError:
        return
