"""A chain of stages that pass rows on: what one TFLFUSE_CHAIN_1 operator computes, independent of its records.

    Chain(inputs=(x,), links=(Link(conv, reads=(0,)), Link(add, reads=(1, 0))))

Values are numbered: the outside tensors first, then each stage's output; the last one is the chain's output. A stage
does not know what it reads, so that one object serves every chain it may stand in.
"""
from __future__ import annotations

from dataclasses import dataclass

from .ir import Array
from .numerics import INT8_MAX, INT8_MIN, AddParameters
from .schedule import Rows, Stop
from .tables import Program


@dataclass(frozen=True)
class Value:
    """An int8 plane [height][width][channels], real = scale * (q - zero_point). scale: a float32's value."""

    height: int
    width: int
    channels: int
    scale: float
    zero_point: int

    @property
    def plane(self) -> tuple[int, int, int]:
        return self.height, self.width, self.channels

    @property
    def size(self) -> int:
        """Bytes."""
        return self.height * self.width * self.channels


@dataclass(frozen=True)
class Window:
    """Window (y, x) begins at input row y * stride_h - pad_top and column x * stride_w - pad_left.

    What lies outside of the plane reads as the input's zero point (convolutions), or does not count (pools). How far
    windows reach below and right of the plane follows from the output's size.
    """

    kernel_h: int = 1
    kernel_w: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    pad_top: int = 0
    pad_left: int = 0

    @property
    def span_h(self) -> int:
        """Rows from the first tap to the last."""
        return (self.kernel_h - 1) * self.dilation_h + 1

    @property
    def span_w(self) -> int:
        return (self.kernel_w - 1) * self.dilation_w + 1

    @property
    def rows(self) -> Rows:
        return Rows(self.span_h, self.stride_h, self.pad_top)

    def below(self, height: int, out_height: int) -> int:
        """Rows that the last window reaches below a plane; negative where it ends above the last row."""
        return (out_height - 1) * self.stride_h + self.span_h - self.pad_top - height

    def right(self, width: int, out_width: int) -> int:
        """Columns that the last window reaches right of a plane, likewise."""
        return (out_width - 1) * self.stride_w + self.span_w - self.pad_left - width


@dataclass(frozen=True, eq=False)
class Stage:
    """One operator of a chain. out: the value it makes."""

    out: Value

    @property
    def rows(self) -> Rows:
        """Which input rows an output row is made of."""
        return Rows()


@dataclass(frozen=True, eq=False)
class Convolution(Stage):
    """Sums of products over a window, one multiplier a channel: CONV_2D and FULLY_CONNECTED.

    weights: int8 [out][kernel_h][kernel_w][in]. bias: int32 [out], with -input_zero_point * sum(weights) in it.
    multipliers: int32 [out]; shifts: int8 [out]. low, high: the output's clamp.
    """

    window: Window
    weights: Array
    bias: Array
    multipliers: Array
    shifts: Array
    low: int = INT8_MIN
    high: int = INT8_MAX

    @property
    def rows(self) -> Rows:
        return self.window.rows


@dataclass(frozen=True, eq=False)
class Depthwise(Convolution):
    """As Convolution, one input channel each: weights int8 [kernel_h][kernel_w][out], out channel ic * M + m."""


@dataclass(frozen=True, eq=False)
class Add(Stage):
    """TFLM's ADD of two values of one shape, or of one and a constant per channel.

    constant: int32 [channels], already on the scale on which TFLM adds; None where a second value is read.
    """

    parameters: AddParameters
    low: int = INT8_MIN
    high: int = INT8_MAX
    constant: Array | None = None


@dataclass(frozen=True, eq=False)
class Multiply(Stage):
    """TFLM's MUL by a constant per channel: int32 [channels], less its zero point."""

    multiplier: int
    shift: int
    constant: Array
    low: int = INT8_MIN
    high: int = INT8_MAX


@dataclass(frozen=True, eq=False)
class Pad(Stage):
    """The zero point around a plane: rows above it, columns left of it and channels in front of each pixel's."""

    top: int = 0
    left: int = 0
    front: int = 0

    @property
    def rows(self) -> Rows:
        return Rows(pad_top=self.top)


@dataclass(frozen=True, eq=False)
class Slice(Stage):
    """Part of a plane, behind so many rows, columns and channels."""

    top: int = 0
    left: int = 0
    front: int = 0

    @property
    def rows(self) -> Rows:
        return Rows(pad_top=-self.top)


@dataclass(frozen=True, eq=False)
class Pool(Stage):
    """A mean or a maximum over each window; low, high: the clamp."""

    window: Window
    low: int = INT8_MIN
    high: int = INT8_MAX

    @property
    def rows(self) -> Rows:
        return self.window.rows


@dataclass(frozen=True, eq=False)
class AveragePool(Pool):
    """AVERAGE_POOL_2D; the count leaves out what lies outside of the plane."""


@dataclass(frozen=True, eq=False)
class MaxPool(Pool):
    """MAX_POOL_2D."""


@dataclass(frozen=True, eq=False)
class GlobalAverage(Stage):
    """AVERAGE_POOL_2D whose only window holds the whole plane."""

    low: int = INT8_MIN
    high: int = INT8_MAX

    @property
    def rows(self) -> Rows:
        return Rows(accumulates=True)


@dataclass(frozen=True, eq=False)
class Mean(Stage):
    """MEAN over the plane; multiplier and shift hold the count."""

    multiplier: int
    shift: int

    @property
    def rows(self) -> Rows:
        return Rows(accumulates=True)


@dataclass(frozen=True, eq=False)
class Table(Stage):
    """Any function of one int8 number. table: int8 [256], index x + 128; program: the operators it comes from."""

    table: Array
    program: Program


@dataclass(frozen=True, eq=False)
class Transpose(Stage):
    """An outside tensor [C][H][W] as [H][W][C]; that value's record is height C, width H, channels W."""


@dataclass(frozen=True)
class Link:
    """A stage and the numbers of the values it reads: one, or an ADD's two."""

    stage: Stage
    reads: tuple[int, ...]


@dataclass(frozen=True)
class Chain:
    """inputs: the outside tensors. links: in an order in which each stage reads values with smaller numbers only."""

    inputs: tuple[Value, ...]
    links: tuple[Link, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.inputs, *(link.stage.out for link in self.links))

    @property
    def output(self) -> Value:
        return self.links[-1].stage.out

    @property
    def stops(self) -> tuple[Stop, ...]:
        """The chain as the schedule sees it."""
        return tuple(Stop(link.reads, link.stage.rows, link.stage.out.height) for link in self.links)
