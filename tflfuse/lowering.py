"""A fused operator as the builtin operators that compute the same bits, so that a fused file runs anywhere.

Weights, biases and scales are recovered from what the chain holds (recover.py); a table's operators stand in its
program. Fusing what comes out gives the same chain.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tflite import Padding, TensorType

from .chain import (Add, Chain, Convolution, Depthwise, GlobalAverage, Link, MaxPool, Mean, Multiply, Pad, Pool,
                    Slice, Table, Transpose, Value, Window)
from .errors import Refused
from .ir import BUILTIN_OF_NAME, Array, Model, Operator, OperatorCode, Quantization, Tensor
from .ir import Table as Options
from .numerics import INT32_MAX, INT32_MIN, add_parameters, mean_multiplier
from .packing import CUSTOM, chain_of
from .pattern import Match, Node, Replacement, fold, replace_by, require
from .plan import rewrite
from .recover import activation_for, addend, dense_scale, factor, weight_scales
from .stages_plane import NCHW_TO_NHWC
from .tables import CONSTANT, Scalar
from .windows import out_size, pad_before

VERSIONS = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 5, "RESHAPE": 1, "PRELU": 1, "HARD_SWISH": 1,
            "ELU": 1, "RELU_0_TO_1": 1, "RELU_N1_TO_1": 1}
"""From which version on a runtime knows the operator at int8; 2 for all others."""
OPTIONS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "LEAKY_RELU": "LeakyReluOptions"}


def lower(model: Model) -> None:
    """Replace every fused operator, in place. Refused where one cannot be expressed, which those that this package
    wrote always can."""
    plan = rewrite(model, (lower_chain,))
    for refusal in plan.refusals:
        raise Refused(refusal.reason, refusal.at)


@fold(Node(frozenset({CUSTOM}), (), rest=True))
def lower_chain(m: Match) -> Replacement:
    """Turn a chain back into builtin operators."""
    return replace_by(*lowered(m.root))


def lowered(operator: Operator) -> list[Operator]:
    """The operators of one fused operator, in order; the last one's output is its own output tensor."""
    chain = chain_of(operator)
    inputs = [t for t in operator.inputs[:-1] if t is not None]
    return _Lowering(chain, inputs, operator.outputs[0]).operators


class _Lowering:
    """tensors: of the chain's values so far. What FULLY_CONNECTED makes is [1, channels], all else an image.

    images: those of them that an operator wanted as [1, height, width, channels].
    """

    def __init__(self, chain: Chain, inputs: Sequence[Tensor], output: Tensor) -> None:
        for tensor, value in (*zip(inputs, chain.inputs, strict=True), (output, chain.output)):
            same = (tensor.scale, tensor.zero_point) == (value.scale, value.zero_point)
            require(same, "the fused operator's tensors are quantized otherwise than its options say", at=tensor)
        self.operators: list[Operator] = []
        self.chain, self.output, self.empty = chain, output, output.buffer
        self.tensors = list(inputs)
        self.images: dict[int, Tensor] = {}
        for link in chain.links:
            self.add(link, link is chain.links[-1])

    def add(self, link: Link, last: bool) -> None:
        stage, read = link.stage, link.reads
        source = self.chain.values[read[0]]
        scale = self.dense_scale(stage, source)
        if scale is not None and isinstance(stage, Convolution) and is_dense(stage, source):
            out = self.out(stage.out, last, (1, stage.out.channels))
            x = self.tensors[read[0]]
            same = (1,) * (4 - len(x.shape)) + x.shape == (1, *source.plane)
            self.dense(stage, source, x if same else self.image(read[0]), out, scale, False)
        elif isinstance(stage, Mean):
            flat = last and len(self.output.shape) == 2
            out = self.out(stage.out, last, (1, stage.out.channels) if flat else (1, *stage.out.plane))
            self.mean(stage, source, self.image(read[0]), out, not flat)
        elif isinstance(stage, Table):
            x = self.tensors[read[0]]
            out = self.out(stage.out, last, x.shape)
            self.table(stage, x, out)
        else:
            images = [self.image(v) for v in read]
            out = self.out(stage.out, last, (1, *stage.out.plane))
            self.of_images(stage, [self.chain.values[v] for v in read], images, out, scale)
        self.tensors.append(out)
        if last and out is not self.output:
            self.reshape(out, self.output)

    def of_images(self, stage: Any, sources: Sequence[Value], images: Sequence[Tensor], out: Tensor,
                  scale: float | None) -> None:
        if isinstance(stage, Convolution) and scale is not None:
            self.dense(stage, sources[0], images[0], out, scale, True)
        elif isinstance(stage, Convolution):
            self.convolution(stage, sources[0], images[0], out)
        elif isinstance(stage, Pool | GlobalAverage):
            self.pool(stage, sources[0], images[0], out)
        elif isinstance(stage, Add):
            self.sum(stage, sources, images, out)
        elif isinstance(stage, Transpose):
            self.op("TRANSPOSE", [images[0], integers(NCHW_TO_NHWC)], out, Options.of("TransposeOptions"))
        elif isinstance(stage, Multiply):
            self.product(stage, sources[0], images[0], out)
        elif isinstance(stage, Pad):
            before = (0, stage.top, stage.left, stage.front)
            around = [(b, o - b - i) for b, i, o in zip(before, images[0].shape, (1, *stage.out.plane), strict=True)]
            self.op("PAD", [images[0], integers(around)], out, Options.of("PadOptions"))
        elif isinstance(stage, Slice):
            begin = (0, stage.top, stage.left, stage.front)
            end = [b + o for b, o in zip(begin, (1, *stage.out.plane), strict=True)]
            self.op("STRIDED_SLICE", [images[0], integers(begin), integers(end), integers([1, 1, 1, 1])], out,
                    Options.of("StridedSliceOptions"))

    def dense_scale(self, stage: Any, source: Value) -> float | None:
        """The weight scale where a convolution is a FULLY_CONNECTED; over rows, where it is no CONV_2D besides."""
        if not isinstance(stage, Convolution) or not (is_dense(stage, source) or is_rows(stage, source)):
            return None
        if not is_dense(stage, source) and weight_scales(source.scale, stage.out.scale, stage.multipliers,
                                                         stage.shifts) is not None:
            return None
        return dense_scale(source.scale, stage.out.scale, int(stage.multipliers[0]), int(stage.shifts[0]))

    def out(self, value: Value, last: bool, shape: tuple[int, ...]) -> Tensor:
        """The tensor that an operator writes in this shape: the chain's output where that has it."""
        return self.output if last and self.output.shape == shape else self.value(value, shape)

    def value(self, value: Value, shape: tuple[int, ...] | None = None) -> Tensor:
        """A new tensor of a value's quantization."""
        return Tensor(shape or (1, *value.plane), TensorType.INT8, self.empty,
                      quantization=Quantization.of(value.scale, value.zero_point))

    def image(self, number: int) -> Tensor:
        """A value as [1, height, width, channels]."""
        tensor, value = self.tensors[number], self.chain.values[number]
        if tensor.shape == (1, *value.plane):
            return tensor
        if number not in self.images:
            self.images[number] = self.value(value)
            self.reshape(tensor, self.images[number])
        return self.images[number]

    def op(self, name: str, inputs: Sequence[Tensor | None], out: Tensor, options: Options | None = None) -> None:
        code = OperatorCode.of(name, VERSIONS.get(name, 2))
        self.operators.append(Operator(code, list(inputs), [out], options))

    def reshape(self, source: Tensor, out: Tensor) -> None:
        shape = np.array(out.shape, np.int32)
        self.op("RESHAPE", [source, integers(shape)], out, Options.of("ReshapeOptions", new_shape=shape))

    def convolution(self, stage: Convolution, source: Value, x: Tensor, out: Tensor) -> None:
        scales = weight_scales(source.scale, stage.out.scale, stage.multipliers, stage.shifts)
        if scales is None:
            raise Refused("no scales of weights give the multipliers of a convolution")
        depthwise = isinstance(stage, Depthwise)
        padding, x = self.padded(stage.window, source, stage.out, x)
        w = stage.window
        options: dict[str, Any] = dict(padding=padding, stride_w=w.stride_w, stride_h=w.stride_h,
                                       dilation_w_factor=w.dilation_w, dilation_h_factor=w.dilation_h,
                                       fused_activation_function=activation(stage))
        weights = stage.weights[np.newaxis] if depthwise else stage.weights
        quantization = Quantization.of(scales, 0, 3 if depthwise else 0)
        if depthwise:
            options["depth_multiplier"] = stage.out.channels // source.channels
        self.op("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
                [x, Tensor.constant(weights, None, quantization), bias_of(stage, source, scales)], out,
                Options.of("DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **options))

    def dense(self, stage: Convolution, source: Value, x: Tensor, out: Tensor, scale: float, keep: bool) -> None:
        weights = stage.weights.reshape(stage.out.channels, -1)
        self.op("FULLY_CONNECTED", [x, Tensor.constant(weights, None, Quantization.of(scale)),
                                    bias_of(stage, source, np.array([scale], np.float32))], out,
                Options.of("FullyConnectedOptions", fused_activation_function=activation(stage), weights_format=0,
                           keep_num_dims=keep))

    def padded(self, window: Window, source: Value, out: Value, x: Tensor) -> tuple[int, Tensor]:
        """SAME or VALID where TFLM's own padding is the window's, else VALID behind a PAD."""
        padding = padding_of(window, source, out)
        if padding is not None:
            return padding, x
        below, right = (max(n, 0) for n in (window.below(source.height, out.height),
                                            window.right(source.width, out.width)))
        inside = Value(source.height + window.pad_top + below, source.width + window.pad_left + right, source.channels,
                       source.scale, source.zero_point)
        bare = Window(*(getattr(window, n) for n in ("kernel_h", "kernel_w", "stride_h", "stride_w", "dilation_h",
                                                     "dilation_w")))
        require(padding_of(bare, inside, out) == Padding.VALID, "a window stops before the end of its input")
        padded = self.value(inside)
        around = np.array([[0, 0], [window.pad_top, below], [window.pad_left, right], [0, 0]], np.int32)
        self.op("PAD", [x, integers(around)], padded, Options.of("PadOptions"))
        return int(Padding.VALID), padded

    def pool(self, stage: Any, source: Value, x: Tensor, out: Tensor) -> None:
        whole = Window(source.height, source.width, source.height, source.width)
        window = whole if isinstance(stage, GlobalAverage) else stage.window
        padding = padding_of(window, source, stage.out)
        if padding is None:
            raise Refused("a pool has padding that no builtin one has")
        self.op("MAX_POOL_2D" if isinstance(stage, MaxPool) else "AVERAGE_POOL_2D", [x], out, Options.of(
            "Pool2DOptions", padding=padding, stride_w=window.stride_w, stride_h=window.stride_h,
            filter_width=window.kernel_w, filter_height=window.kernel_h, fused_activation_function=activation(stage)))

    def sum(self, stage: Add, sources: Sequence[Value], tensors: Sequence[Tensor], out: Tensor) -> None:
        options = dict(fused_activation_function=activation(stage))
        if stage.constant is None:
            expected = add_parameters(sources[0].scale, sources[1].scale, stage.out.scale)
            require(stage.parameters == expected, "the multipliers of a sum do not fit its scales")
            self.op("ADD", tensors, out, Options.of("AddOptions", **options))
            return
        found = addend(stage.parameters, sources[0].scale, stage.out.scale, stage.constant)
        if found is None:
            raise Refused("no constant gives the numbers that a sum adds")
        name, scale, zero_point, numbers = found
        constant = Tensor.constant(numbers, None, Quantization.of(scale, zero_point))
        self.op(name, [tensors[0], constant], out, Options.of(OPTIONS[name], **options))

    def product(self, stage: Multiply, source: Value, x: Tensor, out: Tensor) -> None:
        found = factor(stage.multiplier, stage.shift, source.scale, stage.out.scale, stage.constant)
        if found is None:
            raise Refused("no constant gives the numbers that a product multiplies with")
        scale, zero_point, numbers = found
        constant = Tensor.constant(numbers, None, Quantization.of(scale, zero_point))
        self.op("MUL", [x, constant], out, Options.of(OPTIONS["MUL"], fused_activation_function=activation(stage)))

    def mean(self, stage: Mean, source: Value, x: Tensor, out: Tensor, keep: bool) -> None:
        expected = mean_multiplier(source.scale, stage.out.scale, source.height * source.width)
        require((stage.multiplier, stage.shift) == expected, "the multiplier of a mean does not fit its scales")
        self.op("MEAN", [x, integers([1, 2])], out, Options.of("ReducerOptions", keep_dims=keep))

    def table(self, stage: Table, x: Tensor, out: Tensor) -> None:
        require(bool(stage.program), "a table does not say what it computes")
        values = [x]
        for number, step in enumerate(stage.program, 1):
            plane = Value(*stage.out.plane, step.scale, step.zero_point)
            values.append(out if number == len(stage.program) else self.value(plane, x.shape))
            operands = [scalar(step.name, step.constant) if o == CONSTANT else values[o] for o in step.operands]
            extra: dict[str, Any] = {"alpha": step.alpha} if step.name == "LEAKY_RELU" else {
                "fused_activation_function": step.activation}
            options = Options.of(OPTIONS[step.name], **extra) if step.name in OPTIONS else None
            require(step.name in BUILTIN_OF_NAME, f"{step.name} is no builtin operator")
            self.op(step.name, operands, values[-1], options)


def is_dense(stage: Convolution, source: Value) -> bool:
    """One window, the whole plane, one multiplier: a FULLY_CONNECTED of everything."""
    window = stage.window
    whole = (window.kernel_h, window.kernel_w) == (source.height, source.width) and stage.out.plane[:2] == (1, 1)
    return whole and window.pad_top == window.pad_left == 0 and one_multiplier(stage)


def is_rows(stage: Convolution, source: Value) -> bool:
    """A product with every pixel, one multiplier: a FULLY_CONNECTED over the last dimension."""
    return stage.window == Window() and stage.out.plane[:2] == source.plane[:2] and one_multiplier(stage)


def one_multiplier(stage: Convolution) -> bool:
    return (not isinstance(stage, Depthwise) and bool(np.all(stage.multipliers == stage.multipliers[0]))
            and bool(np.all(stage.shifts == stage.shifts[0])))


def activation(stage: Any) -> int:
    return activation_for(stage.low, stage.high, stage.out.scale, stage.out.zero_point)


def padding_of(window: Window, source: Value, out: Value) -> int | None:
    """The Padding with which TFLM computes exactly these windows."""
    sides = ((source.height, window.span_h, window.stride_h, window.pad_top, out.height),
             (source.width, window.span_w, window.stride_w, window.pad_left, out.width))
    for padding in (Padding.VALID, Padding.SAME):
        if all(out_size(padding, size, span, stride) == count and pad_before(size, span, stride, count) == before
               for size, span, stride, before, count in sides):
            return int(padding)
    return None


def bias_of(stage: Convolution, source: Value, scales: Array) -> Tensor:
    """The int32 bias without the zero point's share, with the scale of the sums."""
    axes = (0, 1) if isinstance(stage, Depthwise) else (1, 2, 3)
    bias = stage.bias.astype(np.int64) + source.zero_point * stage.weights.astype(np.int64).sum(axis=axes)
    fits = bool(np.all((bias >= INT32_MIN) & (bias <= INT32_MAX)))
    require(fits, "a bias without the zero point's share does not fit 32 bits")
    return Tensor.constant(bias.astype("<i4"), None, Quantization.of(source.scale * scales.astype(np.float64)))


def integers(numbers: Any) -> Tensor:
    return Tensor.constant(np.array(numbers, "<i4"))


def scalar(name: str, constant: Scalar | None) -> Tensor:
    """A table's constant as a tensor; a slope has one dimension less than what it is for."""
    if constant is None:
        raise Refused("a table's operator has no constant")
    shape = (1, 1, 1) if name == "PRELU" else (1,)
    return Tensor.constant(np.full(shape, constant.q, np.int8), None,
                           Quantization.of(constant.scale, constant.zero_point))
