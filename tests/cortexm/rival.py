"""The layers of a model for CMSIS-NN's kernels, which target/rival.cc calls as TFLM does."""
from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from tflite import Padding, TensorType

from tflfuse import flatbuffer
from tflfuse.chain_codec import ADD_LEFT_SHIFT
from tflfuse.ir import Array, Operator, Tensor
from tflfuse.lowering import lower
from tflfuse.numerics import activation_range, add_parameters, convolution_multipliers, dense_multiplier

from .image import Data
from .replay import values_of
from .stages import convolution_name

ADDITION = "arm_elementwise_add_s8.c"


@dataclass(frozen=True)
class Layer:
    """name: as a stage of the same work is named. values: what its inputs that are no constants and its output hold."""

    name: str
    operator: Operator
    values: tuple[bytes, ...]


def sources() -> Path | None:
    """The CMSIS-NN sources that the package bakenn carries; None where it is not installed."""
    found = importlib.util.find_spec("bakenn")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "backend/cmsis_nn/vendor"


def layers_of(fused: bytes, inputs: Sequence[Array], additions: bool) -> list[Layer]:
    """What CMSIS-NN has kernels for, of that which the fused model's operators are lowered to."""
    model = flatbuffer.read(fused)
    lower(model)
    lowered = flatbuffer.write(model)
    graph = flatbuffer.read(lowered).subgraphs[0]
    operators = [o for o in graph.operators if is_computed(o) and (additions or o.name != "ADD")]
    tensors = list(dict.fromkeys(t for o in operators for t in variables(o)))
    values = dict(zip(tensors, values_of(lowered, [graph.tensors.index(t) for t in tensors], inputs), strict=True))
    return [Layer(name_of(o), o, tuple(values[t] for t in variables(o))) for o in operators]


def is_computed(o: Operator) -> bool:
    """int8; where it is fully connected, one row with one scale; where it adds, of two tensors."""
    if o.name not in LAYERS or any(t.type != TensorType.INT8 for t in variables(o)):
        return False
    shape = o.outputs[0].shape
    if o.name == "FULLY_CONNECTED":
        w = operand(o, 1)
        return w.is_constant and scales_of(w).size == 1 and prod(shape) == w.shape[0]
    return o.name != "ADD" or all(t.shape == shape and not t.is_constant for t in o.inputs if t is not None)


def variables(o: Operator) -> list[Tensor]:
    """In order, the output last; an operand that is added to itself twice."""
    return [*(t for t in o.inputs if t is not None and not t.is_constant), *o.outputs]


def image(layers: Sequence[Layer]) -> bytes:
    data = Data()
    for layer in layers:
        number, put = LAYERS[layer.operator.name]
        data.words.append(number)
        for part in put(layer):
            data.words += data.span(part) if isinstance(part, bytes) else map(int, part)
    return data.image(len(layers))


Parts = Iterator[Sequence[int] | bytes]
"""The words of a layer in the order of target/rival.cc, the bytes where a pointer to them stands."""


def convolution(layer: Layer) -> Parts:
    o, x, w, y = layer.operator, operand(layer.operator, 0), operand(layer.operator, 1), layer.operator.outputs[0]
    plane, out, kernel = x.shape[1:], y.shape[1:], w.shape[1:3]
    stride, dilation = stride_of(o), (o.option("dilation_h_factor"), o.option("dilation_w_factor"))
    multipliers, shifts = convolution_multipliers(x.scale, np.broadcast_to(scales_of(w), out[2]), y.scale)
    yield [*plane, *out, *kernel, *stride, *dilation, *pads_of(o, plane, out, kernel, stride, dilation)]
    yield [-x.zero_point, y.zero_point, *clamps_of(o)]
    yield layer.values[0]
    yield w.array().tobytes()
    yield bias_of(o, out[2])
    yield multipliers.astype("<i4").tobytes()
    yield shifts.astype("<i4").tobytes()
    yield layer.values[1]


def dense(layer: Layer) -> Parts:
    o, x, w, y = layer.operator, operand(layer.operator, 0), operand(layer.operator, 1), layer.operator.outputs[0]
    out, window = w.shape
    yield [window, out, -x.zero_point, y.zero_point, *dense_multiplier(x.scale, float(scales_of(w)[0]), y.scale)]
    yield clamps_of(o)
    yield layer.values[0]
    yield w.array().tobytes()
    yield bias_of(o, out)
    yield layer.values[1]


def addition(layer: Layer) -> Parts:
    o, a, b, y = layer.operator, operand(layer.operator, 0), operand(layer.operator, 1), layer.operator.outputs[0]
    p = add_parameters(a.scale, b.scale, y.scale)
    yield [-a.zero_point, p.input_multiplier, p.input_shift, -b.zero_point, p.other_multiplier, p.other_shift]
    yield [ADD_LEFT_SHIFT, y.zero_point, p.multiplier, p.shift, *clamps_of(o)]
    yield from layer.values


def pooling(layer: Layer) -> Parts:
    o, plane, out = layer.operator, operand(layer.operator, 0).shape[1:], layer.operator.outputs[0].shape[1:]
    kernel, stride = filter_of(o), stride_of(o)
    yield [*plane, *out, *kernel, *stride, *pads_of(o, plane, out, kernel, stride, (1, 1)), *clamps_of(o)]
    yield from layer.values


LAYERS: dict[str, tuple[int, Callable[[Layer], Parts]]] = {
    "CONV_2D": (0, convolution), "DEPTHWISE_CONV_2D": (1, convolution), "FULLY_CONNECTED": (2, dense),
    "ADD": (3, addition), "AVERAGE_POOL_2D": (4, pooling), "MAX_POOL_2D": (5, pooling)}


def clamps_of(o: Operator) -> tuple[int, int]:
    return activation_range(o.activation, o.outputs[0].scale, o.outputs[0].zero_point)


def stride_of(o: Operator) -> tuple[int, int]:
    return o.option("stride_h"), o.option("stride_w")


def filter_of(o: Operator) -> tuple[int, int]:
    return o.option("filter_height"), o.option("filter_width")


def bias_of(o: Operator, channels: int) -> bytes:
    bias = o.input(2) if len(o.inputs) > 2 else None
    return (np.zeros(channels, np.int32) if bias is None else bias.array()).tobytes()


def scales_of(weights: Tensor) -> Array:
    assert weights.quantization is not None and weights.quantization.scale is not None
    return weights.quantization.scale


def pads_of(o: Operator, plane: Sequence[int], out: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
            dilation: Sequence[int]) -> list[int]:
    """Rows above and columns left of the plane."""
    if o.option("padding") == Padding.VALID:
        return [0, 0]
    return [max((out[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - plane[i], 0) // 2 for i in range(2)]


def name_of(o: Operator) -> str:
    plane, out = operand(o, 0).shape[1:], o.outputs[0].shape[1:]
    match o.name:
        case "CONV_2D":
            return convolution_name(operand(o, 1).shape[1:3], plane, out)
        case "DEPTHWISE_CONV_2D":
            return "depthwise"
        case "FULLY_CONNECTED":
            return "dense"
        case "AVERAGE_POOL_2D":
            return "global average" if filter_of(o) == tuple(plane[:2]) and out[:2] == (1, 1) else "average pool"
        case "MAX_POOL_2D":
            return "max pool"
    return "add"


def operand(o: Operator, position: int) -> Tensor:
    tensor = o.input(position)
    assert tensor is not None
    return tensor
