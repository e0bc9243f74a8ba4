"""A chain and the builtin operators that compute the same, built side by side with random constants."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tflfuse.chain import (Add, AveragePool, Chain, Convolution, Depthwise, GlobalAverage, Link, MaxPool, Mean,
                           Multiply, Pad, Slice, Stage, Table, Value, Window)
from tflfuse.ir import Tensor
from tflfuse.numerics import (activation_range, add_parameters, convolution_multipliers, mean_multiplier, quantize_one,
                              requantized, scaled_addend)

from ..build import ACTIVATION, PADDING, Build, random_int8
from .pair import Pair


@dataclass(frozen=True)
class Geometry:
    """height, width: the plane. channels: of the input; out: of the output. pads: top, bottom, left, right."""

    height: int
    width: int
    channels: int
    out: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def window(self) -> Window:
        return Window(*self.kernel, *self.stride, *self.dilation, self.pads[0], self.pads[2])

    @property
    def out_plane(self) -> tuple[int, int]:
        top, bottom, left, right = self.pads
        return ((self.height + top + bottom - self.window.span_h) // self.stride[0] + 1,
                (self.width + left + right - self.window.span_w) // self.stride[1] + 1)


def same_pads(plane: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int]) -> tuple[int, int, int, int]:
    """What SAME comes to: the odd row and column last."""
    totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(plane, kernel, stride, strict=True)]
    return totals[0] // 2, totals[0] - totals[0] // 2, totals[1] // 2, totals[1] - totals[1] // 2


def some_scale(rng: np.random.Generator, low: float = 0.01, high: float = 0.5) -> float:
    return float(np.float32(rng.uniform(low, high)))


def some_zero(rng: np.random.Generator) -> int:
    """The ends and the middle of int8 as often as all the rest."""
    return int(rng.choice([-128, -10, 0, 5, 127, *rng.integers(-128, 128, 5)]))


@dataclass
class Twin:
    """Stages are named by the Points they make; one with a place before that of another may be read by it."""

    rng: np.random.Generator
    builder: Build = field(default_factory=Build)
    points: list[Point] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    outside: int = 0

    def input(self, height: int, width: int, channels: int) -> Point:
        """An outside tensor; all of them come before the first stage."""
        assert not self.links
        value = Value(height, width, channels, some_scale(self.rng), some_zero(self.rng))
        x = self.builder.input((1, *value.plane), np.int8, scale=value.scale, zero_point=value.zero_point)
        self.outside += 1
        return self.point(x, value)

    def point(self, tensor: Tensor, value: Value) -> Point:
        self.points.append(Point(tensor, value, len(self.points)))
        return self.points[-1]

    def stage(self, tensor: Tensor, stage: Stage, *reads: Point) -> Point:
        self.links.append(Link(stage, tuple(r.number for r in reads)))
        return self.point(tensor, stage.out)

    def pair(self) -> Pair:
        """Up to the last point."""
        inputs = tuple(p.value for p in self.points[:self.outside])
        return Pair(self.builder, self.points[-1].tensor, Chain(inputs, tuple(self.links)))

    def convolution(self, x: Point, g: Geometry, kind: str = "CONV_2D", activation: str = "NONE", bias: bool = True,
                    padding: str = "VALID", spread: float = 1.0) -> Point:
        """Pads become a PAD in front of TFLM's, unless padding is SAME.

        spread: standard deviations of a sum in the output's 256 steps; large values shrink, small ones saturate.
        """
        rng, b, (scale, zero) = self.rng, self.builder, (x.value.scale, x.value.zero_point)
        depthwise = kind == "DEPTHWISE_CONV_2D"
        shape = (1, *g.kernel, g.out) if depthwise else (g.out, *g.kernel, g.channels)
        w = rng.integers(-127, 128, shape).astype(np.int8)
        w_scale = rng.uniform(0.001, 0.02, g.out).astype(np.float32)
        fan = g.kernel[0] * g.kernel[1] * (1 if depthwise else g.channels)
        out_scale, out_zero = float(np.float32(scale * 0.85 * fan ** 0.5 * spread)), some_zero(rng)
        b32 = rng.integers(-5000, 5000, g.out).astype(np.int32) if bias else np.zeros(g.out, np.int32)
        padded = self.pad(x.tensor, g.pads) if padding == "VALID" and any(g.pads) else x.tensor
        y = b.conv(padded, b.constant(w, scale=w_scale, axis=3 if depthwise else 0),
                   b.constant(b32, scale=w_scale * np.float32(scale)) if bias else None, scale=out_scale,
                   zero_point=out_zero, padding=padding, stride=g.stride, dilation=g.dilation, kind=kind,
                   activation=activation)
        if not bias:
            b.operators[-1].inputs.pop()  # TFLM's depthwise kernel takes no operand number of -1
        multipliers, shifts = convolution_multipliers(scale, w_scale, out_scale)
        total = b32 - np.int32(zero) * w.sum((0, 1, 2) if depthwise else (1, 2, 3), dtype=np.int32)
        make = Depthwise if depthwise else Convolution
        stage = make(Value(*g.out_plane, g.out, out_scale, out_zero), g.window, w[0] if depthwise else w,
                     total.astype(np.int32), multipliers, shifts.astype(np.int8),
                     *activation_range(ACTIVATION[activation], out_scale, out_zero))
        return self.stage(y, stage, x)

    def pad(self, x: Tensor, pads: tuple[int, int, int, int]) -> Tensor:
        """PAD with the zero point."""
        (n, h, w, c), (top, bottom, left, right) = x.shape, pads
        amounts = self.builder.constant(np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32))
        assert x.quantization is not None
        return self.builder.op("PAD", [x, amounts], (n, h + top + bottom, w + left + right, c),
                               scale=x.quantization.scale, zero_point=x.quantization.zeros)

    def add(self, x: Point, other: Point, activation: str = "NONE", out_scale: float | None = None) -> Point:
        scale, zero = out_scale or float(np.float32(2 * max(x.value.scale, other.value.scale))), some_zero(self.rng)
        y = self.builder.op("ADD", [x.tensor, other.tensor], x.tensor.shape, scale=scale, zero_point=zero,
                            activation=activation)
        stage = Add(Value(*x.value.plane, scale, zero), add_parameters(x.value.scale, other.value.scale, scale),
                    *activation_range(ACTIVATION[activation], scale, zero))
        return self.stage(y, stage, x, other)

    def add_constant(self, x: Point, constant: Any, activation: str = "NONE") -> Point:
        """constant: int8 [channels] or [1], with a random quantization."""
        rng, (other, other_zero) = self.rng, (some_scale(self.rng), some_zero(self.rng))
        scale, zero = some_scale(rng), some_zero(rng)
        y = self.builder.op("ADD", [x.tensor, self.builder.constant(constant, scale=other, zero_point=other_zero)],
                            x.tensor.shape, scale=scale, zero_point=zero, activation=activation)
        p = add_parameters(x.value.scale, other, scale)
        steps = np.broadcast_to(constant.astype(np.int64) - other_zero, (x.value.channels,))
        addend = scaled_addend(steps, p.other_multiplier, p.other_shift).astype(np.int32)
        low_high = activation_range(ACTIVATION[activation], scale, zero)
        return self.stage(y, Add(Value(*x.value.plane, scale, zero), p, *low_high, addend), x)

    def multiply(self, x: Point, constant: Any, activation: str = "NONE") -> Point:
        """constant: int8 [channels], with a random quantization."""
        (other, other_zero), (scale, zero) = ((some_scale(self.rng), some_zero(self.rng)) for _ in range(2))
        y = self.builder.op("MUL", [x.tensor, self.builder.constant(constant, scale=other, zero_point=other_zero)],
                            x.tensor.shape, scale=scale, zero_point=zero, activation=activation)
        low_high = activation_range(ACTIVATION[activation], scale, zero)
        stage = Multiply(Value(*x.value.plane, scale, zero), *quantize_one(x.value.scale * other / scale),
                         constant.astype("<i4") - np.int32(other_zero), *low_high)
        return self.stage(y, stage, x)

    def surround(self, x: Point, before: tuple[int, int, int], after: tuple[int, int, int]) -> Point:
        """PAD by so many rows, columns and channels on both sides."""
        height, width, channels = (b + n + a for b, n, a in zip(before, x.value.plane, after, strict=True))
        out = Value(height, width, channels, x.value.scale, x.value.zero_point)
        around = self.builder.constant(np.array([(0, 0), *zip(before, after, strict=True)], np.int32))
        y = self.builder.op("PAD", [x.tensor, around], (1, *out.plane), scale=out.scale, zero_point=out.zero_point)
        return self.stage(y, Pad(out, *before), x)

    def slice(self, x: Point, before: tuple[int, int, int], plane: tuple[int, int, int]) -> Point:
        """A part of these sizes behind so many rows, columns and channels."""
        out = Value(*plane, x.value.scale, x.value.zero_point)
        begin, size = (self.builder.constant(np.array(n, np.int32)) for n in ((0, *before), (1, *plane)))
        y = self.builder.op("SLICE", [x.tensor, begin, size], (1, *plane), scale=out.scale, zero_point=out.zero_point)
        return self.stage(y, Slice(out, *before), x)

    def random_slice(self, x: Point) -> Point:
        rng, sizes = self.rng, x.value.plane
        h, w, c = (int(rng.integers(1, size + 1)) for size in sizes)
        top, left, front = (int(rng.integers(size - n + 1)) for size, n in zip(sizes, (h, w, c), strict=True))
        return self.slice(x, (top, left, front), (h, w, c))

    def random_surround(self, x: Point) -> Point:
        a, b, c, d, e, f = (int(n) for n in self.rng.integers(0, 4, 6) * self.rng.integers(0, 2, 6))
        return self.surround(x, (a, b, c), (d, e, f))

    def pool(self, x: Point, kind: str, kernel: tuple[int, int], stride: tuple[int, int], padding: str,
             activation: str = "NONE") -> Point:
        value, plane = x.value, (x.value.height, x.value.width)
        pads = same_pads(plane, kernel, stride) if padding == "SAME" else (0, 0, 0, 0)
        g = Geometry(*plane, value.channels, value.channels, kernel, stride, pads=pads)
        y = self.builder.op(kind, [x.tensor], (1, *g.out_plane, value.channels), scale=value.scale,
                            zero_point=value.zero_point, activation=activation, padding=PADDING[padding],
                            stride_h=stride[0], stride_w=stride[1], filter_height=kernel[0], filter_width=kernel[1])
        make = AveragePool if kind == "AVERAGE_POOL_2D" else MaxPool
        out = Value(*g.out_plane, value.channels, value.scale, value.zero_point)
        low, high = activation_range(ACTIVATION[activation], value.scale, value.zero_point)
        return self.stage(y, make(out, g.window, low, high), x)

    def global_average(self, x: Point, activation: str = "NONE") -> Point:
        """AVERAGE_POOL_2D over the whole plane, as the stage that takes it row by row."""
        value, plane = x.value, (x.value.height, x.value.width)
        made = self.pool(x, "AVERAGE_POOL_2D", plane, (1, 1), "VALID", activation)
        stage = self.links.pop().stage
        assert isinstance(stage, AveragePool)
        self.links.append(Link(GlobalAverage(Value(1, 1, value.channels, value.scale, value.zero_point), stage.low,
                                             stage.high), (x.number,)))
        return made

    def mean(self, x: Point, ratio: float = 1.0) -> Point:
        """With a scale of ratio times the input's and a zero point of its own."""
        value, zero = x.value, some_zero(self.rng)
        scale = float(np.float32(value.scale * ratio))
        y = self.builder.op("MEAN", [x.tensor, self.builder.constant(np.array([1, 2], np.int32))],
                            (1, 1, 1, value.channels), scale=scale, zero_point=zero, keep_dims=True)
        stage = Mean(Value(1, 1, value.channels, scale, zero),
                     *mean_multiplier(value.scale, scale, value.height * value.width))
        return self.stage(y, stage, x)

    def requantize(self, x: Point) -> Point:
        """QUANTIZE to another scale, as a table."""
        scale, zero = some_scale(self.rng), some_zero(self.rng)
        y = self.builder.op("QUANTIZE", [x.tensor], x.tensor.shape, scale=scale, zero_point=zero)
        steps = np.arange(-128, 128) - x.value.zero_point
        multiplier, shift = convolution_multipliers(x.value.scale, np.ones(1), scale)
        table = requantized(steps, multiplier, shift, zero)
        return self.stage(y, Table(Value(*x.value.plane, scale, zero), table, ()), x)

    def random_int8(self, *shape: int) -> Any:
        return random_int8(self.rng, shape)


@dataclass(frozen=True)
class Point:
    """A value in both: the tensor, and the value with its number in the chain."""

    tensor: Tensor
    value: Value
    number: int
