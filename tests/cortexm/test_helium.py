"""The vector kernels of Cortex-M55 over the sizes at which they change their way: as TFLM computes it on the host."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels.pair import Pair, inputs_for, run
from tests.kernels.planes import random_pads
from tests.kernels.twin import Geometry, Twin
from tflfuse.packing import pack

from . import emulator
from .conftest import Harness
from .image import Program, image
from .test_vectors import program_of

pytestmark = pytest.mark.usefixtures("host_kernels")

CPU = "cortex-m55"
LOWEST = -128


class LowestWeights(np.random.Generator):
    """Makes all weights -128, two of whose products with -128 do not fit int16 together."""

    def integers(self, low: Any, high: Any = None, size: Any = None, *args: Any, **more: Any) -> Any:
        if (low, high) == (-127, 128):
            return np.full(size, LOWEST)
        return super().integers(low, high, size, *args, **more)


def programs_of(pair: Pair, rng: np.random.Generator) -> Iterator[Program]:
    """One for each sort of inputs."""
    options, constants = pack(pair.chain)
    for inputs in inputs_for([t.shape for t in pair.builder.inputs], rng):
        strings = [options, constants.tobytes(), *(x.tobytes() for x in inputs), run(pair.builtin, inputs).tobytes()]
        yield program_of(struct.pack("<I", len(inputs)) + b"".join(struct.pack("<I", len(s)) + s for s in strings))


def convolution(rng: np.random.Generator, g: Geometry, kind: str = "CONV_2D", clamped: bool = False) -> Pair:
    """clamped: negative results become -128, as behind a RELU, for which there are shorter ways."""
    while True:
        twin = Twin(rng)
        y = twin.convolution(twin.input(g.height, g.width, g.channels), g, kind)
        if not clamped or y.value.zero_point == LOWEST:
            return twin.pair()


def check(pairs: Iterator[Pair], harness: Harness, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    programs = [program for pair in pairs for program in programs_of(pair, rng)]
    (tmp_path / "image").write_bytes(image(programs))
    outcome = emulator.run(CPU, harness(CPU), tmp_path / "image")
    assert f"equal: {len(programs)} programs" in outcome.text
    assert outcome.deepest < emulator.STACK


def padded(rng: np.random.Generator, plane: tuple[int, int], channels: int, out: int, kernel: tuple[int, int],
           stride: int = 1, dilation: int = 1) -> Geometry:
    spans = (kernel[0] - 1) * dilation + 1, (kernel[1] - 1) * dilation + 1
    pads = random_pads(rng, plane, spans)
    return Geometry(*plane, channels, out, kernel, (stride, stride), (dilation, dilation), pads)


@pytest.mark.parametrize("clamped", [False, True])
def test_windows_of_one_row(clamped: bool, harness: Harness, tmp_path: Path) -> None:
    """Registers half filled, filled and more; two, three and four windows left over, computed twice or not."""
    rng = np.random.default_rng(2)
    check((convolution(rng, Geometry(1, width, channels, int(rng.choice([1, 3, 4, 5, 8, 18])), (1, 1)), clamped=clamped)
           for channels in (1, 15, 16, 17, 33, 160, 161) for width in range(1, 9)), harness, tmp_path)


@pytest.mark.parametrize("clamped", [False, True])
def test_windows_of_several_rows(clamped: bool, harness: Harness, tmp_path: Path) -> None:
    """Pieces that are laid side by side and such that are not, at borders and away from them, taps apart."""
    rng = np.random.default_rng(3)
    shapes = [padded(rng, (int(rng.integers(5, 8)), width), channels, int(rng.choice([3, 4, 6])), kernel, stride,
                     dilation)
              for kernel, channels in [((3, 3), 1), ((3, 3), 3), ((3, 3), 4), ((3, 3), 5), ((2, 3), 8), ((3, 2), 16),
                                       ((5, 4), 2), ((1, 3), 9)]
              for width in (5, 8, 9) for stride, dilation in [(1, 1), (2, 1), (1, 2)]
              if kernel[0] <= 3 or dilation == 1]
    check((convolution(rng, g, clamped=clamped) for g in shapes), harness, tmp_path)


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("multiplier", [1, 2, 16])
def test_depthwise(multiplier: int, clamped: bool, harness: Harness, tmp_path: Path) -> None:
    """Blocks of 16 channels that are incomplete, complete and overlap; kernels of odd and even width."""
    rng = np.random.default_rng([4, multiplier])
    shapes = [padded(rng, (6, 7), channels, channels * multiplier, kernel, stride, dilation)
              for kernel in [(3, 3), (5, 5), (1, 4), (2, 1)] for channels in (1, 8, 15, 16, 17, 40)
              for stride, dilation in [(1, 1), (2, 1), (1, 2)] if kernel != (5, 5) or dilation == 1]
    check((convolution(rng, g, "DEPTHWISE_CONV_2D", clamped) for g in shapes), harness, tmp_path)


def test_weights_of_the_lowest_value(harness: Harness, tmp_path: Path) -> None:
    """With inputs of the lowest value their products are the largest there are."""
    rng = LowestWeights(np.random.PCG64(5))
    check((convolution(rng, Geometry(5, 5, channels, channels, (3, 3)), kind)
           for kind in ("CONV_2D", "DEPTHWISE_CONV_2D") for channels in (8, 16, 20)), harness, tmp_path)
