"""The kernels for the DSP instructions at the edges of what they do together, in both ways of rounding."""
from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.kernels import conftest as host
from tests.kernels.test_sanitized import vector
from tests.kernels.twin import Geometry

from . import emulator, layers
from .conftest import Harness, once
from .image import image
from .test_helium import LowestWeights, programs_of
from .test_vectors import program_of, strings_of

pytestmark = pytest.mark.usefixtures("host_kernels")

SINGLE_ROUNDING = "-DTFLITE_SINGLE_ROUNDING=1"
CPUS = ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"]


def edges() -> list[bytes]:
    rng = np.random.default_rng(5)
    vectors = [vector(pair, rng) for pair in layers.edges(rng)]
    assert len(vectors) > 300
    return vectors


def rounded_once(vectors: list[bytes], folder: Path) -> list[bytes]:
    """The vectors with the outputs of the portable kernels: the interpreter of the wheel rounds twice."""
    program = host.build(folder / "outputs", [Path(host.__file__).with_name("outputs_host.cc"), *host.KERNELS],
                         f"-I{host.PACK}/src/kernels", SINGLE_ROUNDING)
    (folder / "vectors").write_bytes(b"".join(vectors))
    outputs = subprocess.run([program, folder / "vectors"], check=True, capture_output=True).stdout
    made, at = [], 0
    for given in vectors:
        *_, output = strings_of(given)
        made.append(given[:len(given) - len(output)] + outputs[at:at + len(output)])
        at += len(output)
    assert at == len(outputs)
    assert 20 < sum(a != b for a, b in zip(made, vectors, strict=True)) < len(vectors)
    return made


def write_images(folder: Path) -> None:
    folder.mkdir()
    twice = edges()
    for name, vectors in (("twice", twice), ("once", rounded_once(twice, folder))):
        (folder / name).write_bytes(image([program_of(v) for v in vectors]))


def check(harness: Path, cpu: str, data: Path) -> emulator.Outcome:
    outcome = emulator.run(cpu, harness, data)
    assert len(outcome.stack) > 300
    assert f"equal: {len(outcome.stack)} programs" in outcome.text
    return outcome


@pytest.mark.parametrize("cpu", CPUS)
def test_edges_give_equal_outputs(cpu: str, harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = check(harness(cpu), cpu, once(tmp_path_factory, "layers", write_images) / "twice")
    assert outcome.deepest < emulator.STACK


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m33", "cortex-m55"])
def test_edges_give_equal_outputs_where_sums_are_rounded_once(
        cpu: str, harness: Harness, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    harness(cpu)  # skips where a tool is missing
    once_rounding = emulator.build(cpu, tmp_path / "harness", f"-O2 {SINGLE_ROUNDING}")
    check(once_rounding, cpu, once(tmp_path_factory, "layers", write_images) / "once")


def test_weights_of_the_lowest_value(harness: Harness, tmp_path: Path) -> None:
    """With inputs of the lowest value their products are the largest there are."""
    rng = LowestWeights(np.random.PCG64(5))
    shapes = [(layers.CONV, 8, 8, (3, 3)), (layers.CONV, 3, 16, (3, 3)), (layers.CONV, 20, 24, (3, 3)),
              (layers.CONV, 128, 40, (1, 1)), (layers.CONV, 300, 9, (1, 1)), (layers.DEPTHWISE, 8, 8, (3, 3)),
              (layers.DEPTHWISE, 9, 9, (5, 5)), (layers.DEPTHWISE, 4, 4, (4, 4))]
    pairs = [layers.layer(rng, kind, Geometry(5, 5, channels, out, kernel)) for kind, channels, out, kernel in shapes]
    given = np.random.default_rng(1)
    (tmp_path / "image").write_bytes(image([program for pair in pairs for program in programs_of(pair, given)]))
    outcome = emulator.run("cortex-m4", harness("cortex-m4"), tmp_path / "image")
    assert f"equal: {len(outcome.stack)} programs" in outcome.text
    assert len(outcome.stack) >= 4 * len(shapes)
