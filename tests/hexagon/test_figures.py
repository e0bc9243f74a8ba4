"""The figures in BACKENDS.md are what the kernels for Hexagon and the portable ones execute."""
from __future__ import annotations

import re

import numpy as np
import pytest

from . import emulator, layers
from .conftest import Harness
from .emulator import KERNELS, PORTABLE, VECTORS

pytestmark = pytest.mark.usefixtures("host_kernels")

BACKENDS = KERNELS.parents[1] / "BACKENDS.md"
NEAR = 0.03
"""Of a figure: the executor's part changes it a little, and nobody should have to write it again for that."""


@pytest.mark.parametrize(("kind", "name"), [(layers.CONV, "1x1"), (layers.DEPTHWISE, "depthwise")])
def test_the_table_shows_what_layers_take(kind: str, name: str, harness: Harness) -> None:
    rows = re.findall(rf"^\| {name}, (.*) \|$", BACKENDS.read_text(), re.MULTILINE)
    given = layers.of_networks(np.random.default_rng(5), kind)
    for row, vector in zip(rows, given, strict=True):
        shown = [[int(n.replace(",", "")) for n in cell.split(", ")] for cell in row.split(" | ")[1:]]
        portable, hvx = (emulator.run(harness(*backend), [vector]) for backend in (PORTABLE, VECTORS))
        measured = [[o.instructions, o.packets] for o in (portable, hvx)]
        assert np.allclose(shown[:2], measured, rtol=NEAR), row
        assert all(abs(ratio - a / b) < 0.6 for ratio, a, b in zip(shown[2], *measured, strict=True)), row
