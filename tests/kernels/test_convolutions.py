"""CONV and DEPTHWISE stages against TFLM's kernels, bit for bit, over sizes at the edges of blocks and planes."""
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .pair import Pair
from .planes import CHANNELS, random_pads, random_plane
from .twin import Geometry, Twin, same_pads

pytestmark = pytest.mark.usefixtures("library")

KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D")
ACTIVATIONS = ("NONE", "RELU", "RELU6")


def convolution(rng: np.random.Generator, g: Geometry, *args: Any, **more: Any) -> Pair:
    twin = Twin(rng)
    twin.convolution(twin.input(g.height, g.width, g.channels), g, *args, **more)
    return twin.pair()


def random_geometry(rng: np.random.Generator, kernel: tuple[int, int], stride: tuple[int, int], channels: int, out: int,
                    dilation: tuple[int, int] = (1, 1)) -> Geometry:
    plane = random_plane(rng)
    spans = (kernel[0] - 1) * dilation[0] + 1, (kernel[1] - 1) * dilation[1] + 1
    return Geometry(*plane, channels, out, kernel, stride, dilation, random_pads(rng, plane, spans))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stride", (1, 2, 3))
@pytest.mark.parametrize("kernel", range(1, 8))
def test_every_kernel_size_and_stride_with_every_channel_count(kernel: int, stride: int, kind: str) -> None:
    """The other side of the kernel, the other stride and the output channels vary at random."""
    rng = np.random.default_rng([kernel, stride, KINDS.index(kind)])
    for channels in CHANNELS:
        sides, strides = [kernel, int(rng.integers(1, 8))], [stride, int(rng.integers(1, 4))]
        if rng.integers(2):
            sides.reverse()
        out = int(rng.choice(CHANNELS[:9])) if kind == "CONV_2D" else channels * int(rng.choice([1, 1, 2, 3]))
        g = random_geometry(rng, (sides[0], sides[1]), (strides[0], strides[1]), channels, out)
        convolution(rng, g, kind, str(rng.choice(ACTIVATIONS)), bias=bool(rng.integers(4))).check(rng)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dilation", [(1, 2), (2, 1), (2, 2), (3, 2), (1, 3)])
def test_dilation_with_any_stride(dilation: tuple[int, int], kind: str) -> None:
    rng = np.random.default_rng([*dilation, 7])
    for channels in (1, 2, 3, 16, 17):
        for stride in (1, 2, 3):
            out = channels if kind != "CONV_2D" else 5
            kernel = int(rng.integers(1, 4)), int(rng.integers(2, 4))
            convolution(rng, random_geometry(rng, kernel, (stride, stride), channels, out, dilation), kind).check(rng)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", range(1, 8))
def test_same_padding_puts_the_odd_row_and_column_last(size: int, kind: str) -> None:
    """Border pixels count as the zero point; at stride 2 an even plane is padded more at the bottom and right."""
    rng = np.random.default_rng(size)
    for kernel in (1, 2, 3, 5):
        for stride in (1, 2, 3):
            for width in (size, size + 1):
                pads = same_pads((size, width), (kernel, 3), (stride, stride))
                g = Geometry(size, width, 3, 3, (kernel, 3), (stride, stride), pads=pads)
                convolution(rng, g, kind, padding="SAME").check(rng)


@pytest.mark.parametrize("multiplier", [1, 2, 3, 5, 8, 16, 17])
def test_depthwise_multiplier_repeats_input_channels(multiplier: int) -> None:
    rng = np.random.default_rng(multiplier)
    for channels in (1, 2, 3, 7):
        g = random_geometry(rng, (3, 3), (1, 1), channels, channels * multiplier)
        convolution(rng, g, "DEPTHWISE_CONV_2D").check(rng)


@pytest.mark.parametrize("channels", [255, 256, 257, 300])
def test_more_than_256_output_channels(channels: int) -> None:
    rng = np.random.default_rng(channels)
    convolution(rng, Geometry(2, 3, 5, channels, (1, 1))).check(rng)
    convolution(rng, Geometry(3, 3, channels, channels, (3, 3)), "DEPTHWISE_CONV_2D").check(rng)


@pytest.mark.parametrize("spread", [1e-7, 1e-4, 0.02, 50.0, 1e6, 1e9])
@pytest.mark.parametrize("kind", KINDS)
def test_multipliers_far_from_one(spread: float, kind: str) -> None:
    """Left shifts, shifts to nothing and multipliers of zero."""
    rng = np.random.default_rng(5)
    for channels in (1, 4, 9):
        g = random_geometry(rng, (3, 2), (1, 1), channels, channels)
        convolution(rng, g, kind, spread=spread).check(rng)


def test_a_changed_weight_changes_the_output() -> None:
    """The comparison compares something: one weight apart, the outputs are not equal."""
    rng = np.random.default_rng(1)
    pair = convolution(rng, Geometry(4, 4, 3, 4, (3, 3)))
    x = [rng.integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)]
    stage = pair.chain.links[0].stage
    before, _ = pair.outputs(x)
    getattr(stage, "weights")[:] += 40
    assert not np.array_equal(before, pair.outputs(x)[1])


def test_library_exports_only_the_registerer(library: Path) -> None:
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listing.splitlines()] == ["TflfuseRegister"]
