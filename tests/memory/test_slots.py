"""Rings of one row that share memory."""
from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.chains import random_chain
from tflfuse import flatbuffer
from tflfuse.chain import Chain
from tflfuse.errors import Refused
from tflfuse.layout import Layout, laid_out
from tflfuse.packing import CUSTOM, unpack
from tflfuse.pipeline import fuse
from tflfuse.slots import slots

from .rings import overwritten

FOLDER = os.environ.get("TFLFUSE_MODELS")
FILES = sorted(Path(FOLDER).glob("*.tflite")) if FOLDER else []
CHAINS = 300


def random_chains() -> list[Chain]:
    made = []
    for seed in range(CHAINS):
        try:
            made.append(random_chain(np.random.default_rng(seed), 2 + seed % 11).pair().chain)
        except Refused:
            continue
    return made


def sharing(layout: Layout) -> list[tuple[int, int]]:
    """Pairs of values whose rings begin at one place, but for those of tables in place."""
    rings = [(v, p) for v, p in enumerate(layout.places) if p.rows]
    return [(a, b) for a, p in rings for b, q in rings if a < b and p.offset == q.offset]


def test_rows_that_share_memory_are_read_in_time() -> None:
    shared = 0
    for chain in random_chains():
        layout = laid_out(chain)
        shared += bool(sharing(layout))
        assert overwritten(chain, layout) is None
    assert shared > 50


def test_a_stage_that_would_write_over_what_it_reads_is_found() -> None:
    """All rings at one place: the replay finds it in nearly every chain with two rings."""
    found = tried = 0
    for chain in random_chains():
        layout = laid_out(chain)
        rings = [p for p in layout.places if p.rows]
        if len({p.offset for p in rings}) > 1:
            tried += 1
            crushed = replace(layout, places=tuple(replace(p, offset=rings[0].offset) for p in layout.places))
            found += overwritten(chain, crushed) is not None
    assert found > tried * 0.9 > 50


def test_what_is_read_and_what_is_made_of_it_lie_apart() -> None:
    of, room = slots({1: 40, 2: 64, 3: 8, 4: 60}, [(1, 2), (2, 3), (3, 4)])
    assert of[1] != of[2] != of[3] != of[4]
    assert room == [64, 60] or sum(room) == 64 + 40


@pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_chains_of_a_real_model(file: Path) -> None:
    for operator in flatbuffer.read(fuse(file.read_bytes()).model).operators:
        constants = operator.inputs[-1] if operator.name == CUSTOM else None
        if constants is not None and operator.custom_options is not None:
            chain = unpack(operator.custom_options.tobytes(), constants.array())
            if sum(p.value.size for p in laid_out(chain).places) < 1 << 19:  # the others take too long byte by byte
                assert overwritten(chain) is None
