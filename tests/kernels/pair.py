"""One stage twice: as TFLM's own operators and as a chain, both run in the interpreter of the wheel."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflfuse import flatbuffer
from tflfuse.chain import Chain, Convolution, Depthwise, Link, Stage, Value, Window
from tflfuse.ir import Array, Operator, Tensor
from tflfuse.numerics import activation_range, convolution_multipliers
from tflfuse.packing import fused_operator

from ..build import ACTIVATION, Build, random_int8

REGISTERER = "TflfuseRegister"
CHANNELS = (*range(1, 18), 31, 32, 33)
ARENA = 4 << 20


@dataclass
class Pair:
    """builder and y: the model of builtin operators. chain: the same, for the same graph inputs."""

    builder: Build
    y: Tensor
    chain: Chain

    def outputs(self, inputs: Sequence[Array]) -> tuple[Array, Array]:
        return run(self.builder.bytes(self.y), inputs), run(chain_model(self.chain, self.builder.inputs, self.y), inputs)

    def check(self, rng: np.random.Generator) -> None:
        """Equal bits for random inputs and extreme ones."""
        builtin, fused = load(self.builder.bytes(self.y)), load(chain_model(self.chain, self.builder.inputs, self.y))
        for inputs in inputs_for([t.shape for t in self.builder.inputs], rng):
            expected, got = invoked(builtin, inputs), invoked(fused, inputs)
            assert np.array_equal(got, expected), f"{self.chain.links[0].stage} on {self.chain.inputs}"


def inputs_for(shapes: Sequence[Any], rng: np.random.Generator) -> list[list[Array]]:
    """Random ones, the ends of int8 everywhere, and both ends at random."""
    return [[random_int8(rng, s) for s in shapes], [np.full(s, -128, np.int8) for s in shapes],
            [np.full(s, 127, np.int8) for s in shapes], [rng.choice([-128, 127], s).astype(np.int8) for s in shapes]]


def chain_model(chain: Chain, inputs: Sequence[Tensor], output: Tensor) -> bytes:
    """A model of one chain operator, whose graph inputs and output have the shapes of the tensors given."""
    b = Build()
    like = [b.input(t.shape, np.int8, scale=v.scale, zero_point=v.zero_point)
            for t, v in zip(inputs, chain.inputs, strict=True)]
    y = b.tensor(output.shape, np.int8, scale=chain.output.scale, zero_point=chain.output.zero_point)
    return model_of(b, fused_operator(chain, like, y), y)


def model_of(b: Build, operator: Operator, y: Tensor) -> bytes:
    constants = operator.inputs[-1]
    assert constants is not None
    b.tensors.append(constants)
    b.operators.append(operator)
    b.codes[operator.name, 1] = operator.code
    return flatbuffer.write(b.model(y))


def load(model: bytes) -> Any:
    from tflite_micro import runtime
    return runtime.Interpreter.from_bytes(model, custom_op_registerers=[REGISTERER], arena_size=ARENA)


def invoked(interpreter: Any, inputs: Sequence[Array]) -> Array:
    for i, x in enumerate(inputs):
        interpreter.set_input(x, i)
    interpreter.invoke()
    return np.array(interpreter.get_output(0))


def run(model: bytes, inputs: Sequence[Array]) -> Array:
    return invoked(load(model), inputs)


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


def random_plane(rng: np.random.Generator, most: int = 9) -> tuple[int, int]:
    """1x1, 1xN, Nx1 and NxM, each as often."""
    n, m = int(rng.integers(2, most)), int(rng.integers(2, most))
    return ((1, 1), (1, n), (n, 1), (n, m))[int(rng.integers(4))]


def random_pads(rng: np.random.Generator, plane: tuple[int, int], spans: tuple[int, int]) -> tuple[int, int, int, int]:
    """Up to a span on each side, at random where no more is needed than that the plane holds one window."""
    pads: list[int] = []
    for size, span in zip(plane, spans, strict=True):
        before = int(rng.integers(0, span + 1)) if rng.integers(2) else 0
        lacking = max(0, span - size - before)
        after = lacking + (int(rng.integers(0, span + 1)) if rng.integers(2) else 0)
        pads += [before, after]
    return pads[0], pads[1], pads[2], pads[3]


def convolution(rng: np.random.Generator, g: Geometry, kind: str = "CONV_2D", activation: str = "NONE",
                bias: bool = True, padding: str = "VALID", spread: float = 1.0) -> Pair:
    """A convolution with random weights; pads become a PAD in front of TFLM's, unless padding is SAME.

    spread: standard deviations of a sum in the output's 256 steps; large values saturate.
    """
    depthwise = kind == "DEPTHWISE_CONV_2D"
    shape = (1, *g.kernel, g.out) if depthwise else (g.out, *g.kernel, g.channels)
    axis, taps = (3, (0, 1, 2)) if depthwise else (0, (1, 2, 3))
    w = rng.integers(-127, 128, shape).astype(np.int8)
    scale, zero = float(np.float32(rng.uniform(0.001, 0.5))), int(rng.integers(-128, 128))
    w_scale = rng.uniform(0.001, 0.02, g.out).astype(np.float32)
    fan = g.kernel[0] * g.kernel[1] * (1 if depthwise else g.channels)
    out_scale = float(np.float32(scale * 0.01 * 74 * 74 * fan ** 0.5 / 64 * spread))
    out_zero = int(rng.integers(-128, 128))
    b32 = rng.integers(-5000, 5000, g.out).astype(np.int32)

    b = Build()
    x = b.input((1, g.height, g.width, g.channels), np.int8, scale=scale, zero_point=zero)
    padded = pad(b, x, g.pads) if padding == "VALID" and any(g.pads) else x
    y = b.conv(padded, b.constant(w, scale=w_scale, axis=axis),
               b.constant(b32, scale=w_scale * np.float32(scale)) if bias else None, scale=out_scale,
               zero_point=out_zero, padding=padding, stride=g.stride, dilation=g.dilation, kind=kind,
               activation=activation)
    if not bias:
        b.operators[-1].inputs.pop()  # TFLM's depthwise kernel takes no operand number of -1
    multipliers, shifts = convolution_multipliers(scale, w_scale, out_scale)
    total = (b32 if bias else np.zeros_like(b32)) - np.int32(zero) * w.sum(taps, dtype=np.int32)
    out = Value(*g.out_plane, g.out, out_scale, out_zero)
    make = Depthwise if depthwise else Convolution
    stage = make(out, g.window, w[0] if depthwise else w, total.astype(np.int32), multipliers, shifts.astype(np.int8),
                 *activation_range(ACTIVATION[activation], out_scale, out_zero))
    return Pair(b, y, single(Value(g.height, g.width, g.channels, scale, zero), stage))


def pad(b: Build, x: Tensor, pads: tuple[int, int, int, int]) -> Tensor:
    """PAD with the zero point."""
    (n, h, w, c), (top, bottom, left, right) = x.shape, pads
    amounts = b.constant(np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32))
    quantization = x.quantization
    assert quantization is not None and quantization.scale is not None
    return b.op("PAD", [x, amounts], (n, h + top + bottom, w + left + right, c), scale=quantization.scale,
                zero_point=quantization.zeros)


def single(x: Value, stage: Stage) -> Chain:
    return Chain((x,), (Link(stage, (0,)),))
