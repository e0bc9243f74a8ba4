"""Every stage kind but the convolutions against TFLM's kernels, bit for bit."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tflfuse.chain import Chain, Convolution, Link, Stage, Table, Transpose, Value
from tflfuse.numerics import convolution_multipliers

from ..build import Build, random_int8
from .pair import Pair
from .planes import CHANNELS, random_plane
from .twin import Geometry, Twin, some_scale, some_zero

pytestmark = pytest.mark.usefixtures("library")

ACTIVATIONS = ("NONE", "RELU", "RELU6")


def single(x: Value, stage: Stage) -> Chain:
    return Chain((x,), (Link(stage, (0,)),))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_add_of_two_values(activation: str) -> None:
    rng = np.random.default_rng(ACTIVATIONS.index(activation))
    for channels in CHANNELS:
        twin, (h, w) = Twin(rng), random_plane(rng)
        twin.add(twin.input(h, w, channels), twin.input(h, w, channels), activation, some_scale(rng))
        twin.pair().check(rng)


def test_add_of_a_value_and_itself() -> None:
    rng = np.random.default_rng(4)
    twin = Twin(rng)
    x = twin.input(3, 4, 5)
    twin.add(x, x)
    twin.pair().check(rng)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_add_of_a_constant_per_channel_or_of_one_number(activation: str) -> None:
    rng = np.random.default_rng(10 + ACTIVATIONS.index(activation))
    for channels in CHANNELS:
        for size in (1, channels):
            twin = Twin(rng)
            twin.add_constant(twin.input(*random_plane(rng), channels), twin.random_int8(size), activation)
            twin.pair().check(rng)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_product_with_a_constant_per_channel(activation: str) -> None:
    """Numbers from one end of int8 to the other: less a zero point at an end they take nine bits."""
    rng = np.random.default_rng(20 + ACTIVATIONS.index(activation))
    for channels in CHANNELS:
        twin = Twin(rng)
        constant = np.resize(np.append([-128, 127], twin.random_int8(16)), channels).astype(np.int8)
        twin.multiply(twin.input(*random_plane(rng), channels), constant, activation)
        twin.pair().check(rng)


def test_paddings_of_rows_columns_and_channels() -> None:
    """Each side alone, then all at once."""
    rng = np.random.default_rng(21)
    for channels in CHANNELS:
        for side in range(7):
            a, b, c, d, e, f = (int(n) if side in (k, 6) else 0 for k, n in enumerate(rng.integers(1, 4, 6)))
            twin = Twin(rng)
            twin.surround(twin.input(*random_plane(rng), channels), (a, b, c), (d, e, f))
            twin.pair().check(rng)


def test_slices_of_rows_columns_and_channels() -> None:
    rng = np.random.default_rng(22)
    for channels in CHANNELS:
        for _ in range(4):
            twin = Twin(rng)
            twin.random_slice(twin.input(*random_plane(rng), channels))
            twin.pair().check(rng)


@pytest.mark.parametrize("ratio", [1.0, 1e-3, 1e-6, 1e-9, 1e3, 1e6])
def test_add_of_operands_on_very_different_scales(ratio: float) -> None:
    """Shifts far to the right, and a scale of exactly the other's."""
    rng = np.random.default_rng(6)
    twin = Twin(rng)
    x = twin.input(2, 3, 4)
    scale = float(np.float32(x.value.scale * ratio))
    other = twin.builder.input((1, 2, 3, 4), np.int8, scale=scale, zero_point=-2)
    twin.outside += 1
    twin.add(x, twin.point(other, Value(2, 3, 4, scale, -2)), out_scale=max(x.value.scale, scale))
    twin.pair().check(rng)


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("stride", (1, 2, 3))
@pytest.mark.parametrize("kernel", range(1, 8))
def test_pools_of_every_size_and_stride(kernel: int, stride: int, kind: str) -> None:
    """SAME with kernels larger than the plane too; what lies outside neither counts nor wins."""
    rng = np.random.default_rng([kernel, stride])
    for channels in CHANNELS:
        plane, sides = random_plane(rng, 11), (kernel, int(rng.integers(1, 8)))
        fits = sides[0] <= plane[0] and sides[1] <= plane[1]
        for padding in ("SAME", "VALID") if fits else ("SAME",):
            twin = Twin(rng)
            twin.pool(twin.input(*plane, channels), kind, sides, (stride, int(rng.integers(1, 4))), padding,
                      str(rng.choice(ACTIVATIONS)))
            twin.pair().check(rng)


def test_average_pool_over_the_whole_plane_row_by_row() -> None:
    rng = np.random.default_rng(8)
    for channels in CHANNELS:
        twin = Twin(rng)
        twin.global_average(twin.input(*random_plane(rng, 12), channels), str(rng.choice(ACTIVATIONS)))
        twin.pair().check(rng)


@pytest.mark.parametrize("ratio", [0.003, 0.5, 1.0, 1.7, 300.0])
def test_mean_over_the_plane(ratio: float) -> None:
    """With a scale and a zero point of its own."""
    rng = np.random.default_rng(9)
    for channels in CHANNELS:
        twin = Twin(rng)
        twin.mean(twin.input(*random_plane(rng, 12), channels), ratio)
        twin.pair().check(rng)


@pytest.mark.parametrize("plane", [(1, 1), (1, 9), (7, 1), (5, 6)])
def test_transpose_of_planes_to_pixels(plane: tuple[int, int]) -> None:
    rng = np.random.default_rng(plane)
    h, w = plane
    for channels in (1, 2, 3, 4, 17):
        b = Build()
        x = b.input((1, channels, h, w), np.int8, scale=0.5, zero_point=3)
        y = b.op("TRANSPOSE", [x, b.constant(np.array([0, 2, 3, 1], np.int32))], (1, h, w, channels), scale=0.5,
                 zero_point=3)
        Pair(b, y, single(Value(channels, h, w, 0.5, 3), Transpose(Value(h, w, channels, 0.5, 3)))).check(rng)


def test_table_of_requantization() -> None:
    rng = np.random.default_rng(12)
    for channels in CHANNELS:
        twin = Twin(rng)
        twin.requantize(twin.input(*random_plane(rng), channels))
        twin.pair().check(rng)


def test_table_of_leaky_relu() -> None:
    """The table is what TFLM's kernel says to each of the 256 numbers, alone; then on planes, in any order."""
    rng = np.random.default_rng(11)
    scale, zero, out_scale, out_zero = 0.1, 4, 0.07, -20

    def leaky(shape: Any) -> tuple[Build, Any]:
        b = Build()
        x = b.input(shape, np.int8, scale=scale, zero_point=zero)
        return b, b.op("LEAKY_RELU", [x], shape, scale=out_scale, zero_point=out_zero, alpha=0.3)

    q = np.arange(-128, 128).astype(np.int8)
    identity = single(Value(1, 1, 256, scale, zero), Table(Value(1, 1, 256, out_scale, out_zero), q, ()))
    table, unchanged = Pair(*leaky((1, 1, 1, 256)), identity).outputs([q.reshape(1, 1, 1, 256)])
    assert np.array_equal(unchanged.ravel(), q) and not np.array_equal(table.ravel(), q)
    for channels in (1, 3, 16, 33):
        h, w = random_plane(rng)
        stage = Table(Value(h, w, channels, out_scale, out_zero), table.ravel(), ())
        Pair(*leaky((1, h, w, channels)), single(Value(h, w, channels, scale, zero), stage)).check(rng)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("plane", [(1, 1), (3, 2), (1, 7)])
def test_fully_connected_is_a_convolution_whose_kernel_is_the_plane(plane: tuple[int, int], per_channel: bool) -> None:
    rng = np.random.default_rng([*plane, per_channel])
    for channels in CHANNELS:
        (h, w), out = plane, int(rng.choice(CHANNELS))
        n = h * w * channels
        scale, zero, out_scale, out_zero = some_scale(rng), some_zero(rng), some_scale(rng, 0.2, 3.0), some_zero(rng)
        w_scale = rng.uniform(0.001, 0.02, out if per_channel else 1).astype(np.float32)
        weights = random_int8(rng, (out, n))
        bias = rng.integers(-5000, 5000, out).astype(np.int32)
        b = Build()
        x = b.input((1, n), np.int8, scale=scale, zero_point=zero)
        y = b.dense(x, b.constant(weights, scale=w_scale), b.constant(bias, scale=w_scale * np.float32(scale)),
                    scale=out_scale, zero_point=out_zero)
        if per_channel:
            multipliers, shifts = convolution_multipliers(scale, w_scale, out_scale)
        else:
            product = float(np.float32(scale) * w_scale[0])  # FULLY_CONNECTED rounds the product of the scales
            multipliers, shifts = convolution_multipliers(product, np.ones(out), out_scale)
        total = (bias - np.int32(zero) * weights.sum(1, dtype=np.int32)).astype(np.int32)
        window = Geometry(h, w, channels, out, plane).window
        stage = Convolution(Value(1, 1, out, out_scale, out_zero), window, weights.reshape(out, h, w, channels), total,
                            multipliers, shifts.astype(np.int8))
        Pair(b, y, single(Value(h, w, channels, scale, zero), stage)).check(rng)
