"""The kernels for the DSP instructions at the edges of what they do together, in both ways of rounding."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.test_sanitized import vector

from . import emulator, layers
from .conftest import Harness, once
from .image import image
from .test_vectors import program_of

pytestmark = pytest.mark.usefixtures("host_kernels")


def write_images(folder: Path) -> None:
    folder.mkdir()
    rng = np.random.default_rng(5)
    programs = [program_of(vector(pair, rng)) for pair in layers.edges(rng)]
    assert len(programs) > 300
    (folder / "image").write_bytes(image(programs))


@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"])
def test_edges_give_equal_outputs(cpu: str, harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = once(tmp_path_factory, "layers", write_images) / "image"
    outcome = emulator.run(cpu, harness(cpu), data)
    assert len(outcome.stack) > 300
    assert f"equal: {len(outcome.stack)} programs" in outcome.text
    assert outcome.deepest < emulator.STACK
