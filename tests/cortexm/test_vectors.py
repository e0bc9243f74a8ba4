"""Every kernel, alone and in chains, on every CPU that QEMU has a board for: as TFLM computes it on the host."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.test_sanitized import vectors

from . import emulator
from .boards import BOARDS
from .conftest import Harness, once
from .image import Program, image


def strings_of(vector: bytes) -> Iterator[bytes]:
    """The byte strings behind the number of inputs, each behind its length."""
    at = 4
    while at < len(vector):
        length, = struct.unpack_from("<I", vector, at)
        yield vector[at + 4:at + 4 + length]
        at += 4 + length


def program_of(vector: bytes) -> Program:
    """One chain, its outside tensors at odd addresses."""
    options, constants, *inputs, output = strings_of(vector)
    program, at = Program(), 1
    numbers = []
    for value in [*inputs, output]:
        numbers.append(program.tensor(at, (1, len(value))))
        at += len(value) + (len(value) + 1) % 2 + 1
    for number, value in zip(numbers, inputs):
        program.load(number, value)
    *operands, result = numbers
    program.run(options, [*operands, program.constant(constants, (len(constants),))], result, output)
    return program


def write_images(folder: Path) -> None:
    folder.mkdir()
    programs = [program_of(vector) for vector in vectors(np.random.default_rng(3))]
    assert len(programs) > 100
    (folder / "image").write_bytes(image(programs))


@pytest.mark.usefixtures("host_kernels")
@pytest.mark.parametrize("cpu", BOARDS)
def test_every_vector_gives_equal_outputs(cpu: str, harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = once(tmp_path_factory, "vectors", write_images) / "image"
    outcome = emulator.run(cpu, harness(cpu), data)
    assert len(outcome.stack) > 100
    assert f"equal: {len(outcome.stack)} programs" in outcome.text
    assert outcome.deepest < emulator.STACK
