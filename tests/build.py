"""Small models, built in code.

    b = Build()
    x = b.input((1, 8, 8, 3), scale=0.5, zero_point=-3)              # int8 where a scale is given, else float32
    w = b.constant(array, scale=[...], axis=0)                       # an integer array with its quantization
    y = b.conv(x, w, bias, scale=0.1, zero_point=4, padding="SAME")  # shapes and options are worked out
    z = b.op("MUL", [y, gamma], y.shape, scale=0.2)
    model, data = b.model(z), b.bytes(z)
"""
from __future__ import annotations

from typing import Any

import numpy as np
import tflite

from tflfuse import flatbuffer
from tflfuse.ir import (DTYPE, Array, Buffer, Model, Operator, OperatorCode, Quantization, Signature, Subgraph, Table,
                        Tensor)

OPTIONS = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "ADD": "AddOptions",
           "FULLY_CONNECTED": "FullyConnectedOptions", "MUL": "MulOptions", "SUB": "SubOptions", "DIV": "DivOptions",
           "TRANSPOSE_CONV": "TransposeConvOptions", "MAX_POOL_2D": "Pool2DOptions", "PACK": "PackOptions",
           "AVERAGE_POOL_2D": "Pool2DOptions", "RESHAPE": "ReshapeOptions", "SQUEEZE": "SqueezeOptions",
           "CONCATENATION": "ConcatenationOptions", "GATHER": "GatherOptions", "SHAPE": "ShapeOptions",
           "STRIDED_SLICE": "StridedSliceOptions", "CAST": "CastOptions", "LEAKY_RELU": "LeakyReluOptions",
           "MEAN": "ReducerOptions", "REDUCE_PROD": "ReducerOptions", "SOFTMAX": "SoftmaxOptions",
           "UNPACK": "UnpackOptions", "SPLIT": "SplitOptions", "BATCH_MATMUL": "BatchMatMulOptions",
           "SUM": "ReducerOptions", "REDUCE_MAX": "ReducerOptions", "REDUCE_MIN": "ReducerOptions",
           "MIRROR_PAD": "MirrorPadOptions", "CALL_ONCE": "CallOnceOptions",
           "SVDF": "SVDFOptions"}
VERSIONS = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "TRANSPOSE_CONV": 3}
ACTIVATION: dict[str, int] = {k: v for k, v in vars(tflite.ActivationFunctionType).items() if not k.startswith("_")}
PADDING = {"SAME": tflite.Padding.SAME, "VALID": tflite.Padding.VALID}
TYPE_OF = {dtype: code for code, dtype in DTYPE.items()}


def quantization(scale: Any, zero_point: Any, axis: int) -> Quantization | None:
    return None if scale is None else Quantization.of(scale, zero_point, axis)


def same(size: int, stride: int) -> int:
    return -(-size // stride)


def valid(size: int, extent: int, stride: int) -> int:
    return (size - extent) // stride + 1


class Build:
    """One subgraph under construction; every tensor gets the name t<number> unless told otherwise."""

    def __init__(self) -> None:
        self.empty = Buffer()
        self.inputs: list[Tensor] = []
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.codes: dict[tuple[str, int], OperatorCode] = {}

    def tensor(self, shape: Any, dtype: Any = None, scale: Any = None, zero_point: Any = 0, **more: Any) -> Tensor:
        """A value without data: int8 where a scale is given and no dtype, else float32."""
        kind = np.dtype(dtype or (np.float32 if scale is None else np.int8))
        more.setdefault("name", f"t{len(self.tensors)}".encode())
        t = Tensor(tuple(shape), TYPE_OF[kind], self.empty, quantization=quantization(scale, zero_point, 0), **more)
        self.tensors.append(t)
        return t

    def input(self, shape: Any, dtype: Any = None, scale: Any = None, zero_point: Any = 0, **more: Any) -> Tensor:
        t = self.tensor(shape, dtype, scale, zero_point, **more)
        self.inputs.append(t)
        return t

    def constant(self, array: Any, scale: Any = None, zero_point: Any = 0, axis: int = 0, **more: Any) -> Tensor:
        """A constant of the array's dtype on a buffer of its own."""
        more.setdefault("name", f"t{len(self.tensors)}".encode())
        t = Tensor.constant(np.asarray(array), more.pop("name"), quantization(scale, zero_point, axis)).like(**more)
        self.tensors.append(t)
        return t

    def op(self, name: str, inputs: Any, shape: Any, dtype: Any = None, scale: Any = None, zero_point: Any = 0,
           version: int | None = None, activation: str = "NONE", **options: Any) -> Tensor:
        """An operator with one output of the first input's dtype unless told otherwise."""
        first = next((t for t in inputs if t is not None), None)
        out = self.tensor(shape, dtype or (first and DTYPE[first.type]), scale, zero_point)
        if activation != "NONE":
            options["fused_activation_function"] = ACTIVATION[activation]
        self.add(name, inputs, [out], version, **options)
        return out

    def add(self, name: str, inputs: Any, outputs: Any, version: int | None = None, **options: Any) -> Operator:
        version = version or VERSIONS.get(name, 1)
        code = self.codes.setdefault((name, version), OperatorCode.of(name, version))
        table = Table.of(OPTIONS[name], **options) if name in OPTIONS else None
        operator = Operator(code, list(inputs), list(outputs), table)
        self.operators.append(operator)
        return operator

    def conv(self, x: Tensor, w: Tensor, bias: Tensor | None = None, scale: Any = None, zero_point: Any = 0,
             padding: str = "SAME", stride: tuple[int, int] = (1, 1), dilation: tuple[int, int] = (1, 1),
             kind: str = "CONV_2D", **more: Any) -> Tensor:
        """CONV_2D or DEPTHWISE_CONV_2D; stride and dilation are (h, w)."""
        (n, h, wide, c), (_, kh, kw, _) = x.shape, w.shape
        extent = (kh - 1) * dilation[0] + 1, (kw - 1) * dilation[1] + 1
        if padding == "SAME":
            out = same(h, stride[0]), same(wide, stride[1])
        else:
            out = valid(h, extent[0], stride[0]), valid(wide, extent[1], stride[1])
        channels = w.shape[0] if kind == "CONV_2D" else w.shape[3]
        options = dict(padding=PADDING[padding], stride_h=stride[0], stride_w=stride[1], dilation_h_factor=dilation[0],
                       dilation_w_factor=dilation[1])
        if kind == "DEPTHWISE_CONV_2D":
            options["depth_multiplier"] = more.pop("depth_multiplier", w.shape[3] // c)
        return self.op(kind, [x, w, bias], (n, *out, channels), None, scale, zero_point, **options, **more)

    def depthwise(self, x: Tensor, w: Tensor, bias: Tensor | None = None, **more: Any) -> Tensor:
        return self.conv(x, w, bias, kind="DEPTHWISE_CONV_2D", **more)

    def dense(self, x: Tensor, w: Tensor, bias: Tensor | None = None, scale: Any = None, zero_point: Any = 0,
              **more: Any) -> Tensor:
        return self.op("FULLY_CONNECTED", [x, w, bias], (x.shape[0], w.shape[0]), None, scale, zero_point, **more)

    def pool(self, kind: str, x: Tensor, size: int = 2, padding: str = "VALID", scale: Any = None, zero_point: Any = 0,
             **more: Any) -> Tensor:
        """Windows of size x size at stride size."""
        n, h, w, c = x.shape
        out = (same(h, size), same(w, size)) if padding == "SAME" else (valid(h, size, size), valid(w, size, size))
        return self.op(kind, [x], (n, *out, c), None, scale, zero_point, padding=PADDING[padding], stride_h=size,
                       stride_w=size, filter_height=size, filter_width=size, **more)

    def model(self, *outputs: Tensor, signature: bool = False) -> Model:
        graph = Subgraph(self.tensors, self.inputs, list(outputs), self.operators, b"main")
        for number, operator in enumerate(self.operators):
            operator.place = f"#{number}"
        buffers = list(dict.fromkeys([self.empty, *(t.buffer for t in self.tensors)]))
        named: list[list[tuple[bytes | None, Tensor]]] = [
            [(b"x%d" % i, t) for i, t in enumerate(ts)] for ts in (self.inputs, outputs)]
        signatures = [Signature(b"serving_default", named[0], named[1])] if signature else None
        return Model([graph], list(self.codes.values()), buffers, description=b"built in a test", signatures=signatures)

    def bytes(self, *outputs: Tensor, signature: bool = False) -> bytes:
        return flatbuffer.write(self.model(*outputs, signature=signature))


def names(model: Model) -> list[str]:
    """The operators of the first subgraph, in order."""
    return [o.name for o in model.subgraphs[0].operators]


def random_int8(rng: np.random.Generator, shape: Any) -> Array:
    return np.asarray(rng.integers(-128, 128, shape), np.int8)
