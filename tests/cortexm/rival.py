"""The convolutions of a model for CMSIS-NN's kernels, which target/rival.cc calls as TFLM does."""
from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tflite import Padding

from tflfuse import flatbuffer
from tflfuse.ir import Array, Operator, Tensor
from tflfuse.lowering import lower
from tflfuse.numerics import activation_range, convolution_multipliers

from .image import Data
from .replay import values_of
from .stages import convolution_name


@dataclass(frozen=True)
class Layer:
    """name: as a stage of the same work is named. values: what its input and its output hold."""

    name: str
    operator: Operator
    values: tuple[bytes, bytes]


def sources() -> Path | None:
    """The CMSIS-NN sources that the package bakenn carries; None where it is not installed."""
    found = importlib.util.find_spec("bakenn")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "backend/cmsis_nn/vendor"


def layers_of(fused: bytes, inputs: Sequence[Array]) -> list[Layer]:
    """CONV_2D and DEPTHWISE_CONV_2D as the fused model's operators are lowered to."""
    model = flatbuffer.read(fused)
    lower(model)
    lowered = flatbuffer.write(model)
    graph = flatbuffer.read(lowered).subgraphs[0]
    convolutions = [o for o in graph.operators if o.name in ("CONV_2D", "DEPTHWISE_CONV_2D")]
    tensors = list(dict.fromkeys(t for o in convolutions for t in (source_of(o), o.outputs[0])))
    values = dict(zip(tensors, values_of(lowered, [graph.tensors.index(t) for t in tensors], inputs), strict=True))
    return [Layer(name_of(o), o, (values[source_of(o)], values[o.outputs[0]])) for o in convolutions]


def image(layers: Sequence[Layer]) -> bytes:
    data = Data()
    for layer in layers:
        put(data, layer)
    return data.image(len(layers))


def put(data: Data, layer: Layer) -> None:
    o, x, w, y = layer.operator, source_of(layer.operator), operand(layer.operator, 1), layer.operator.outputs[0]
    assert w.quantization is not None and w.quantization.scale is not None
    kernel, plane, out = w.shape[1:3], x.shape[1:], y.shape[1:]
    stride = o.option("stride_h"), o.option("stride_w")
    dilation = o.option("dilation_h_factor"), o.option("dilation_w_factor")
    scales = np.broadcast_to(w.quantization.scale, out[2])
    multipliers, shifts = convolution_multipliers(x.scale, scales, y.scale)
    bias = o.input(2)
    data.words += [int(o.name == "DEPTHWISE_CONV_2D"), *plane, *out, *kernel, *stride, *dilation]
    data.words += pads_of(o, plane, out, kernel, stride, dilation)
    data.words += [-x.zero_point, y.zero_point, *activation_range(o.activation, y.scale, y.zero_point)]
    for array in (layer.values[0], w.array(), np.zeros(out[2], np.int32) if bias is None else bias.array(),
                  multipliers.astype("<i4"), shifts.astype("<i4"), layer.values[1]):
        data.words += data.span(array if isinstance(array, bytes) else array.tobytes())


def pads_of(o: Operator, plane: Sequence[int], out: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
            dilation: Sequence[int]) -> list[int]:
    """Rows above and columns left of the plane."""
    if o.option("padding") == Padding.VALID:
        return [0, 0]
    return [max((out[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - plane[i], 0) // 2 for i in range(2)]


def name_of(o: Operator) -> str:
    if o.name == "DEPTHWISE_CONV_2D":
        return "depthwise"
    return convolution_name(operand(o, 1).shape[1:3], source_of(o).shape[1:], o.outputs[0].shape[1:])


def operand(o: Operator, position: int) -> Tensor:
    tensor = o.input(position)
    assert tensor is not None
    return tensor


def source_of(o: Operator) -> Tensor:
    return operand(o, 0)
