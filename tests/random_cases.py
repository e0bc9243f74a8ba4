"""A random model for each seed, of one of three families, and the options to rewrite it with."""
from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from tflfuse import flatbuffer
from tflfuse.errors import Refused

from .kernels.chains import random_chain
from .memory.graphs import random_graph
from .random_models import Recipe

FAMILIES = ("grown",) * 6 + ("branching",) * 2 + ("chain",) * 2
"""grown: every operator that folds and chains look for, in float32, int8 and int16x8. branching: int8 graphs whose
tensors live long and short. chain: int8 operators in a row, with sums of earlier values, 2 to 12 of them."""
ROOM = 1 << 22
"""Bytes of an arena into which everything fits, so that as much is fused as can be: that moves the fewest bytes."""


@dataclass(frozen=True)
class Case:
    """data: the model. options: for pipeline.fuse."""

    seed: int
    data: bytes
    family: str = "given"
    options: dict[str, Any] = field(default_factory=dict)


def case_of(seed: int) -> Case:
    family = FAMILIES[seed % len(FAMILIES)]
    rng = np.random.default_rng([seed, 7])
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        options["arena"] = ROOM if rng.random() < 0.7 else int(rng.integers(1, 20_000))
    if rng.random() < 0.1:
        options["memory_plan"] = False
    if family == "grown" and rng.random() < 0.3:
        options["keep_dynamic"] = True
    return Case(seed, {"grown": grown, "branching": branching, "chain": chain}[family](seed), family, options)


def grown(seed: int) -> bytes:
    return Recipe.of(seed).bytes()


def branching(seed: int) -> bytes:
    return flatbuffer.write(random_graph(seed))


def chain(seed: int) -> bytes:
    """The first that TFLM would run: some draw scales that are too far apart."""
    for number in count():
        try:
            return random_chain(np.random.default_rng([seed, number]), 2 + seed // len(FAMILIES) % 11).pair().builtin
        except Refused:
            continue
    raise AssertionError("there is always another one")
