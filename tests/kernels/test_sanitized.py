"""Kernels, executor and check under ASan and UBSan: right chains in memory of exact size, and malformed ones."""
from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tflfuse.packing import pack

from .chains import random_chain
from .conftest import GLUE, KERNELS, PACK, build
from .pair import Pair, inputs_for, run
from .planes import CHANNELS
from .twin import Geometry, Twin

HERE = Path(__file__).parent
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", f"-I{PACK}/src/kernels")


def vector(pair: Pair, rng: np.random.Generator) -> bytes:
    """The chain with one input of each sort of values in turn, and TFLM's output of the builtin operators."""
    options, constants = pack(pair.chain)
    inputs = inputs_for([t.shape for t in pair.builder.inputs], rng)[int(rng.integers(4))]
    strings = [options, constants.tobytes(), *(x.tobytes() for x in inputs), run(pair.builtin, inputs).tobytes()]
    return struct.pack("<I", len(inputs)) + b"".join(struct.pack("<I", len(s)) + s for s in strings)


def pairs_of_kinds(rng: np.random.Generator) -> list[Pair]:
    """Every kind alone at the edges of blocks."""
    pairs = []
    for channels in CHANNELS:
        for kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            twin = Twin(rng)
            g = Geometry(5, 4, channels, channels, (3, 2), (2, 1), (1, 2), (2, 1, 0, 2))
            twin.convolution(twin.input(5, 4, channels), g, kind)
            pairs.append(twin.pair())
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            twin = Twin(rng)
            twin.pool(twin.input(5, 4, channels), kind, (3, 4), (2, 1), "SAME")
            pairs.append(twin.pair())
        twin = Twin(rng)
        twin.add(twin.input(3, 3, channels), twin.input(3, 3, channels))
        pairs.append(twin.pair())
        twin = Twin(rng)
        twin.mean(twin.input(3, 3, channels))
        pairs.append(twin.pair())
        twin = Twin(rng)
        twin.multiply(twin.input(3, 3, channels), twin.random_int8(channels))
        pairs.append(twin.pair())
        twin = Twin(rng)
        twin.surround(twin.input(3, 3, channels), (1, 2, 3), (2, 0, 1))
        pairs.append(twin.pair())
        twin = Twin(rng)
        twin.random_slice(twin.input(5, 4, channels))
        pairs.append(twin.pair())
    return pairs


def vectors(rng: np.random.Generator) -> list[bytes]:
    """Every kind alone, then chains."""
    pairs = pairs_of_kinds(rng) + [random_chain(rng, int(rng.integers(2, 9))).pair() for _ in range(60)]
    return [vector(pair, rng) for pair in pairs]


@pytest.fixture(scope="module")
def vector_file(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "vectors"
    path.write_bytes(b"".join(vectors(np.random.default_rng(3))))
    return path


def test_chains_stay_inside_their_memory(vector_file: Path, tmp_path: Path) -> None:
    """Equal outputs, options at any address, every truncation, wrong operands, 300 mutations of each chain."""
    program = build(tmp_path / "host", [HERE / "chain_host.cc", *KERNELS], *SANITIZERS)
    done = subprocess.run([program, vector_file, "300"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    ran, refused, accepted = map(int, re.findall(r"\d+", done.stdout))
    assert ran == 4 * (9 * len(CHANNELS) + 60)
    assert refused > 60_000 and accepted > 10_000  # both are worth having: what is accepted has run


def test_glue_fails_with_a_message_and_otherwise_runs(vector_file: Path, tmp_path: Path) -> None:
    """Init, Prepare and Eval in an interpreter of our own: null pointers, failing allocations, wrong operands."""
    program = build(tmp_path / "host", [HERE / "glue_host.cc", *GLUE, *KERNELS], *SANITIZERS)
    done = subprocess.run([program, vector_file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == 9 * len(CHANNELS) + 60
