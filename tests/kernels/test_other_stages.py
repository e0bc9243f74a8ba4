"""Every stage kind but the convolutions against TFLM's kernels, bit for bit."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tflfuse.chain import Add, AveragePool, Chain, Convolution, GlobalAverage, Link, MaxPool, Mean, Table, Transpose, Value
from tflfuse.numerics import (activation_range, add_parameters, convolution_multipliers, mean_multiplier, scaled_addend)

from ..build import ACTIVATION, PADDING, Build, random_int8, same, valid
from .pair import CHANNELS, Geometry, Pair, random_plane, single

pytestmark = pytest.mark.usefixtures("library")

ACTIVATIONS = ("NONE", "RELU", "RELU6")


def some_scale(rng: np.random.Generator, low: float = 0.01, high: float = 0.5) -> float:
    return float(np.float32(rng.uniform(low, high)))


def zero_point(rng: np.random.Generator) -> int:
    return int(rng.choice([-128, -10, 0, 5, 127, int(rng.integers(-128, 128))]))


def addition(rng: np.random.Generator, shape: tuple[int, int, int], activation: str, constant: Any = None,
             twice: bool = False) -> Pair:
    """Of two graph inputs, of one and itself, or of one and a constant int8 of a shape that broadcasts."""
    scales = [some_scale(rng) for _ in range(3)]
    zeros = [zero_point(rng) for _ in range(3)]
    b = Build()
    x = b.input((1, *shape), np.int8, scale=scales[0], zero_point=zeros[0])
    if twice:
        scales[1], zeros[1] = scales[0], zeros[0]
    if constant is not None:
        other = b.constant(constant, scale=scales[1], zero_point=zeros[1])
    else:
        other = x if twice else b.input((1, *shape), np.int8, scale=scales[1], zero_point=zeros[1])
    y = b.op("ADD", [x, other], x.shape, scale=scales[2], zero_point=zeros[2], activation=activation)
    p = add_parameters(*scales)
    addend = None
    if constant is not None:
        steps = np.broadcast_to(constant.astype(np.int64) - zeros[1], (shape[2],))
        addend = scaled_addend(steps, p.other_multiplier, p.other_shift).astype(np.int32)
    stage = Add(Value(*shape, scales[2], zeros[2]), p, *activation_range(ACTIVATION[activation], scales[2], zeros[2]),
                addend)
    values = [Value(*shape, s, z) for s, z in zip(scales[:len(b.inputs)], zeros, strict=False)]
    reads = (0,) if constant is not None else (0, 0) if twice else (0, 1)
    return Pair(b, y, Chain(tuple(values), (Link(stage, reads),)))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_add_of_two_values(activation: str) -> None:
    rng = np.random.default_rng(ACTIVATIONS.index(activation))
    for channels in CHANNELS:
        addition(rng, (*random_plane(rng), channels), activation).check(rng)


def test_add_of_a_value_and_itself() -> None:
    rng = np.random.default_rng(4)
    addition(rng, (3, 4, 5), "NONE", twice=True).check(rng)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_add_of_a_constant_per_channel_or_of_one_number(activation: str) -> None:
    rng = np.random.default_rng(10 + ACTIVATIONS.index(activation))
    for channels in CHANNELS:
        shape = (*random_plane(rng), channels)
        addition(rng, shape, activation, random_int8(rng, (channels,))).check(rng)
        addition(rng, shape, activation, random_int8(rng, (1,))).check(rng)


@pytest.mark.parametrize("ratio", [1.0, 1e-3, 1e-6, 1e-9, 1e3, 1e6])
def test_add_of_operands_on_very_different_scales(ratio: float) -> None:
    """Shifts far to the right, and a scale of exactly the other's."""
    rng = np.random.default_rng(6)
    shape, scales, zeros = (2, 3, 4), (0.25, float(np.float32(0.25 * ratio)), 0.375), (1, -2, 3)
    b = Build()
    x, other = (b.input((1, *shape), np.int8, scale=s, zero_point=z) for s, z in zip(scales[:2], zeros, strict=False))
    out = max(scales[2], scales[1])
    y = b.op("ADD", [x, other], x.shape, scale=out, zero_point=zeros[2])
    stage = Add(Value(*shape, out, zeros[2]), add_parameters(scales[0], scales[1], out))
    values = tuple(Value(*shape, s, z) for s, z in zip(scales[:2], zeros, strict=False))
    Pair(b, y, Chain(values, (Link(stage, (0, 1)),))).check(rng)


def pooling(rng: np.random.Generator, kind: str, size: tuple[int, int, int], kernel: tuple[int, int],
            stride: tuple[int, int], padding: str, activation: str) -> Pair | None:
    """None where VALID leaves no window."""
    height, width, channels = size
    scale, zero = some_scale(rng), zero_point(rng)
    if padding == "VALID" and (kernel[0] > height or kernel[1] > width):
        return None
    out = [same(n, s) if padding == "SAME" else valid(n, k, s) for n, k, s in zip(size, kernel, stride, strict=False)]
    before = [max((o - 1) * s + k - n, 0) // 2 for o, s, k, n in zip(out, stride, kernel, size, strict=False)]
    b = Build()
    x = b.input((1, *size), np.int8, scale=scale, zero_point=zero)
    y = b.op(kind, [x], (1, *out, channels), scale=scale, zero_point=zero, activation=activation,
             padding=PADDING[padding], stride_h=stride[0], stride_w=stride[1], filter_height=kernel[0],
             filter_width=kernel[1])
    window = Geometry(height, width, channels, channels, kernel, stride, pads=(before[0], 0, before[1], 0)).window
    make = AveragePool if kind == "AVERAGE_POOL_2D" else MaxPool
    stage = make(Value(out[0], out[1], channels, scale, zero), window,
                 *activation_range(ACTIVATION[activation], scale, zero))
    return Pair(b, y, single(Value(*size, scale, zero), stage))


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("stride", (1, 2, 3))
@pytest.mark.parametrize("kernel", range(1, 8))
def test_pools_of_every_size_and_stride(kernel: int, stride: int, kind: str) -> None:
    """SAME with kernels larger than the plane too; what lies outside neither counts nor wins."""
    rng = np.random.default_rng([kernel, stride])
    for channels in CHANNELS:
        sides = kernel, int(rng.integers(1, 8))
        for padding in ("SAME", "VALID"):
            pair = pooling(rng, kind, (*random_plane(rng, 11), channels), sides, (stride, int(rng.integers(1, 4))),
                           padding, str(rng.choice(ACTIVATIONS)))
            if pair is not None:
                pair.check(rng)


def test_average_pool_over_the_whole_plane_row_by_row() -> None:
    rng = np.random.default_rng(8)
    for channels in CHANNELS:
        h, w = random_plane(rng, 12)
        activation = str(rng.choice(ACTIVATIONS))
        pair = pooling(rng, "AVERAGE_POOL_2D", (h, w, channels), (h, w), (1, 1), "VALID", activation)
        assert pair is not None
        pool = pair.chain.links[0].stage
        assert isinstance(pool, AveragePool)
        stage = GlobalAverage(pool.out, pool.low, pool.high)
        Pair(pair.builder, pair.y, single(pair.chain.inputs[0], stage)).check(rng)


@pytest.mark.parametrize("ratio", [0.003, 0.5, 1.0, 1.7, 300.0])
def test_mean_over_the_plane(ratio: float) -> None:
    """With a scale and a zero point of its own."""
    rng = np.random.default_rng(9)
    for channels in CHANNELS:
        h, w = random_plane(rng, 12)
        scale, zero, out_zero = some_scale(rng), zero_point(rng), zero_point(rng)
        out_scale = float(np.float32(scale * ratio))
        b = Build()
        x = b.input((1, h, w, channels), np.int8, scale=scale, zero_point=zero)
        y = b.op("MEAN", [x, b.constant(np.array([1, 2], np.int32))], (1, channels), scale=out_scale,
                 zero_point=out_zero)
        stage = Mean(Value(1, 1, channels, out_scale, out_zero), *mean_multiplier(scale, out_scale, h * w))
        Pair(b, y, single(Value(h, w, channels, scale, zero), stage)).check(rng)


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


def test_table_of_leaky_relu() -> None:
    """The table is what TFLM's kernel says to each of the 256 numbers, alone; then on planes, in any order."""
    rng = np.random.default_rng(11)
    for channels in (1, 3, 16, 33):
        h, w = random_plane(rng)
        scale, zero, out_scale, out_zero = 0.1, 4, 0.07, -20

        def leaky(shape: Any) -> tuple[Build, Any]:
            b = Build()
            x = b.input(shape, np.int8, scale=scale, zero_point=zero)
            return b, b.op("LEAKY_RELU", [x], shape, scale=out_scale, zero_point=out_zero, alpha=0.3)

        b, y = leaky((1, 1, 1, 256))
        q = np.arange(-128, 128).astype(np.int8)
        any_table = single(Value(1, 1, 256, scale, zero), Table(Value(1, 1, 256, out_scale, out_zero), q, ()))
        table, unchanged = Pair(b, y, any_table).outputs([q.reshape(1, 1, 1, 256)])
        assert np.array_equal(unchanged.ravel(), q) and not np.array_equal(table.ravel(), q)
        b, y = leaky((1, h, w, channels))
        stage = Table(Value(h, w, channels, out_scale, out_zero), table.ravel(), ())
        Pair(b, y, single(Value(h, w, channels, scale, zero), stage)).check(rng)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("plane", [(1, 1), (3, 2), (1, 7)])
def test_fully_connected_is_a_convolution_whose_kernel_is_the_plane(plane: tuple[int, int], per_channel: bool) -> None:
    rng = np.random.default_rng([*plane, per_channel])
    for channels in CHANNELS:
        (h, w), out = plane, int(rng.choice(CHANNELS))
        n = h * w * channels
        scale, zero, out_scale, out_zero = some_scale(rng), zero_point(rng), some_scale(rng, 0.2, 3.0), zero_point(rng)
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
        g = Geometry(h, w, channels, out, plane)
        stage = Convolution(Value(1, 1, out, out_scale, out_zero), g.window, weights.reshape(out, h, w, channels), total,
                            multipliers, shifts.astype(np.int8))
        Pair(b, y, single(Value(h, w, channels, scale, zero), stage)).check(rng)
