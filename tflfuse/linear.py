"""CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and TRANSPOSE_CONV as what they have in common: out = W x + b.

The weights are handled as a matrix, one row an output channel, whatever axis of the tensor holds the channels.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tflite import FullyConnectedOptionsWeightsFormat, TensorType

from .ir import NAME_OF_TYPE, Array, Buffer, Operator, OperatorCode, Quantization, Table, Tensor, float64
from .pattern import require


@dataclass(frozen=True)
class Kind:
    """Where an operator keeps its operands, which axis of the weights is the output channel, and their rank."""

    x: int
    bias: int
    axis: int
    rank: int
    version_int8: int


KINDS = {"CONV_2D": Kind(0, 2, 0, 4, 3), "DEPTHWISE_CONV_2D": Kind(0, 2, 3, 4, 3),
         "FULLY_CONNECTED": Kind(0, 2, 0, 2, 4), "TRANSPOSE_CONV": Kind(2, 3, 0, 4, 2)}
FLOAT = (TensorType.FLOAT32, TensorType.FLOAT32)
INT8 = (TensorType.INT8, TensorType.INT8)
INT16X8 = (TensorType.INT16, TensorType.INT8)
BIAS16 = {"CONV_2D": (TensorType.INT32, TensorType.INT64), "FULLY_CONNECTED": (TensorType.INT32, TensorType.INT64),
          "DEPTHWISE_CONV_2D": (TensorType.INT64,), "TRANSPOSE_CONV": (TensorType.INT16, TensorType.INT64)}
"""The bias types that TFLM's int16x8 kernels read (Eval of conv.cc, fully_connected.cc and so on in micro/kernels).

Where there is none, CONV_2D and FULLY_CONNECTED go by the option quantized_bias_type, the others sum in 64 bits.
"""


@dataclass(frozen=True)
class Linear:
    """An operator whose weights and bias are constants that TFLM's kernel can read."""

    operator: Operator
    kind: Kind
    x: Tensor
    weights: Tensor
    bias: Tensor | None

    @property
    def is_float(self) -> bool:
        return bool(self.x.type == TensorType.FLOAT32)

    @property
    def out(self) -> Tensor:
        return self.operator.outputs[0]

    @property
    def channels(self) -> int:
        return self.weights.shape[self.kind.axis]

    @property
    def per_tensor(self) -> bool:
        """The weights have one scale."""
        return self.weight_scales().ndim == 0

    @property
    def one_scale(self) -> bool:
        """The weights must keep one scale: older TFLM releases know no FULLY_CONNECTED with a scale per channel."""
        return self.operator.name == "FULLY_CONNECTED" and self.per_tensor

    def weight_scales(self) -> Array:
        """float64 [] or [channels]."""
        assert self.weights.quantization is not None and self.weights.quantization.scale is not None
        scale = float64(self.weights.quantization.scale)
        return scale[0] if len(scale) == 1 else scale

    def scales(self) -> Array:
        """float64 [channels]: the weights' scales."""
        return np.broadcast_to(self.weight_scales(), (self.channels,)).copy()

    def integers(self) -> Array:
        """float64 [channels, weights per channel]: the weights as stored (float weights as they are)."""
        return self.rows(self.weights.array())

    def rows(self, array: Array) -> Array:
        return float64(np.moveaxis(array, self.kind.axis, 0).reshape(self.channels, -1))

    def real_weights(self) -> Array:
        """float64 [channels, weights per channel]."""
        return self.integers() if self.is_float else self.integers() * self.scales()[:, None]

    def real_bias(self) -> Array:
        """float64 [channels]: by the bias's own scale, by s_x * s_w where it has none, zeros where there is no bias."""
        if self.bias is None:
            return np.zeros(self.channels)
        if self.is_float or self.bias.is_quantized:
            return self.bias.real().reshape(-1)
        return self.bias.array().reshape(-1).astype(np.float64) * self.x.scale * self.scales()

    @property
    def bias_type(self) -> int:
        """The type of a bias that the kernel reads with the accumulator it uses now."""
        if self.is_float:
            return int(TensorType.FLOAT32)
        if self.x.type == TensorType.INT8:
            return int(TensorType.INT32)
        if self.bias is None:
            stated = self.operator.option("quantized_bias_type", TensorType.FLOAT32)
            narrow = stated == TensorType.INT32 and TensorType.INT32 in BIAS16[self.operator.name]
            return int(TensorType.INT32 if narrow else TensorType.INT64)
        return int(TensorType.INT32 if self.bias.type == TensorType.INT32 else TensorType.INT64)

    def per_input(self, values: Array) -> Array:
        """Lay a number per input channel over the weights: [input channels] -> [channels, weights per channel]."""
        shape = self.weights.shape
        if self.operator.name == "DEPTHWISE_CONV_2D":
            over = np.repeat(values, shape[3] // len(values))  # output channel = input channel * multiplier + m
            return np.broadcast_to(over[:, None], (self.channels, self.weights.size // self.channels))
        groups = len(values) // shape[-1]
        over = np.repeat(values.reshape(groups, shape[-1]), self.channels // groups, axis=0)
        between = over.reshape(self.channels, *[1] * (len(shape) - 2), shape[-1])
        return np.broadcast_to(between, shape).reshape(self.channels, -1)

    def rebuilt(self, x: Tensor, out: Tensor, activation: int, rows: Array, bias: Array,
                scales: Array | None = None) -> Operator:
        """The operator with other weights and bias, as real numbers (float) or integers (with the weights' scales)."""
        operands = list(self.operator.inputs) + [None] * (self.kind.bias + 1 - len(self.operator.inputs))
        operands[self.kind.x] = x
        operands[1] = self.new_weights(rows, scales)
        if self.bias is not None or np.any(bias):
            operands[self.kind.bias] = self.new_bias(bias, None if scales is None else scales * x.scale)
        while operands[-1] is None and len(operands) > len(self.operator.inputs):
            operands.pop()
        return self.operator.like(code=self.new_code(operands, activation), inputs=operands, outputs=[out],
                                  options=self.new_options(activation))

    def new_weights(self, rows: Array, scales: Array | None) -> Tensor:
        """A new tensor: the old one, or its buffer, may serve another operator. Equal integers keep the buffer."""
        old = self.weights
        around = [old.shape[self.kind.axis], *old.shape[:self.kind.axis], *old.shape[self.kind.axis + 1:]]
        array = np.ascontiguousarray(np.moveaxis(rows.reshape(around), 0, self.kind.axis).astype(old.dtype))
        same = np.array_equal(array, old.array())
        buffer = old.buffer if same else Buffer(np.frombuffer(array.tobytes(), np.uint8))
        return old.like(buffer=buffer, quantization=None if scales is None else self.quantized(scales, self.kind.axis))

    def new_bias(self, bias: Array, scales: Array | None) -> Tensor:
        kind = {TensorType.FLOAT32: np.float32, TensorType.INT32: np.int32, TensorType.INT64: np.int64}[self.bias_type]
        quantization = None if scales is None else self.quantized(scales, 0)
        return Tensor.constant(bias.astype(kind), None if self.bias is None else self.bias.name, quantization)

    def quantized(self, scales: Array, axis: int) -> Quantization:
        """One scale where the weights had one and all are equal still, else a scale per channel."""
        one = self.per_tensor and bool(np.all(scales == scales[0]))
        return Quantization.of(scales[:1] if one else scales, 0, 0 if one else axis)

    def new_code(self, operands: list[Tensor | None], activation: int) -> OperatorCode:
        """The version that knows what the operator now has (TensorFlow's tools/versioning/op_version.cc)."""
        code, version = self.operator.code, self.operator.code.version
        if not self.is_float:
            version = max(version, self.kind.version_int8)
        if self.operator.name == "TRANSPOSE_CONV":
            version = max(version, 4 if activation else 3 if len(operands) == 4 and operands[3] is not None else 1)
        return OperatorCode(code.builtin_code, code.deprecated_builtin_code, version, code.custom_code)

    def new_options(self, activation: int) -> Table:
        changes = {"fused_activation_function": activation}
        if self.operator.name == "DEPTHWISE_CONV_2D":  # TFLM trusts the option where LiteRT goes by the shapes
            changes["depth_multiplier"] = self.channels // self.x.shape[-1]
        assert self.operator.options is not None
        return self.operator.options.with_(**changes)


def linear(operator: Operator) -> Linear:
    """See an operator as Linear; refused where its operands are not what TFLM's kernel computes with."""
    kind = KINDS[operator.name]
    x, weights, bias, out = operator.input(kind.x), operator.input(1), operator.input(kind.bias), operator.outputs[0]
    require(operator.options is not None, "the operator has no options", at=operator)
    assert x is not None and weights is not None
    require(weights.is_constant, "the weights are not constant", at=weights)
    require(bias is None or bias.is_constant, "the bias is not constant", at=bias)
    check_types(x, weights, out)
    require(len(weights.shape) == kind.rank, "the weights have an unusual number of dimensions", at=weights)
    images = kind.rank == 2 or len(x.shape) == len(out.shape) == 4
    require(images, "its input or output is not [batch, height, width, channels]", at=operator)
    require(x.shape[-1:] > (0,), "its input has no known channels", at=x)
    fit = bool(out.shape) and out.shape[-1] == weights.shape[kind.axis]
    require(fit, "the weights do not fit the output", at=weights)
    require(weights.size > 0, "the weights are empty", at=weights)
    if operator.name == "FULLY_CONNECTED":
        stored = operator.option("weights_format", FullyConnectedOptionsWeightsFormat.DEFAULT)
        require(stored == FullyConnectedOptionsWeightsFormat.DEFAULT, "the weights are stored shuffled", at=weights)
    found = Linear(operator, kind, x, weights, bias)
    weights.array()
    if not found.is_float:
        check_quantization(found)
    if bias is not None:
        check_bias(found, bias)
    return found


def check_types(x: Tensor, weights: Tensor, out: Tensor) -> None:
    types = x.type, weights.type
    names = [str(NAME_OF_TYPE.get(t, t)).lower() for t in types]
    require(x.type == out.type, "input and output are of different types", at=out)
    require(weights.type != TensorType.INT4, "int4 weights are not folded", at=weights)
    require(TensorType.UINT8 not in types, "uint8 operators are not folded: TFLM does not run them", at=weights)
    require(x.type != TensorType.FLOAT32 or types == FLOAT,
            f"the weights are {names[1]} and the activations float32 (hybrid): TFLM does not run it", at=weights)
    require(types in (FLOAT, INT8, INT16X8), f"{names[0]} activations with {names[1]} weights are not folded",
            at=weights)


def check_quantization(found: Linear) -> None:
    weights, quantization = found.weights, found.weights.quantization
    require(weights.is_quantized and quantization is not None, "the weights have no scale", at=weights)
    assert quantization is not None and quantization.scale is not None
    require(not np.any(quantization.zeros), "the weights' zero point is not 0", at=weights)
    count = len(quantization.scale)
    along = count == found.channels and quantization.quantized_dimension == found.kind.axis
    require(count == 1 or along, "the weights' scales do not lie along the output channels", at=weights)
    for value in (found.x, found.out):
        require(value.scale > 0 and np.isfinite(value.scale), "the scale is not a positive number", at=value)
        require(value.type != TensorType.INT16 or value.zero_point == 0, "an int16 tensor has a zero point", at=value)
    require(bool(np.all(quantization.scale > 0) and np.all(np.isfinite(quantization.scale))),
            "a weight's scale is not a positive number", at=weights)


def check_bias(found: Linear, bias: Tensor) -> None:
    require(bias.array().size == found.channels, "the bias does not have one number per output channel", at=bias)
    allowed = {TensorType.FLOAT32: (TensorType.FLOAT32,), TensorType.INT8: (TensorType.INT32,)}
    types = allowed.get(found.x.type, BIAS16[found.operator.name])
    require(bias.type in types, f"TFLM does not read a bias of type {NAME_OF_TYPE[bias.type].lower()} here", at=bias)
