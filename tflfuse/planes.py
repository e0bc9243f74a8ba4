"""Tensors as the int8 planes of a chain, and the constants that go with them: what fits and what does not."""
from __future__ import annotations

from math import prod

import numpy as np
from tflite import TensorType

from .chain import Value
from .errors import Refused
from .ir import NAME_OF_TYPE, Array, Operator, Tensor, float64
from .numerics import INT8_MAX, INT8_MIN
from .pattern import require

Plane = tuple[int, int, int]


def plane_of(tensor: Tensor) -> Plane:
    """Height, width, channels: the shape without ones in front, filled up to three dimensions. Refused for a batch."""
    shape = tensor.shape
    require(len(shape) > 0 and min(shape) > 0, "the tensor has no elements in rows", at=tensor)
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    require(len(shape) <= 3, "the batch is larger than 1", at=tensor)
    height, width, channels = (1,) * (3 - len(shape)) + shape
    return height, width, channels


def image_of(tensor: Tensor) -> Plane:
    """The plane of a tensor [1, height, width, channels]; refused for any other rank."""
    require(len(tensor.shape) == 4, "the tensor is not of the form [batch, height, width, channels]", at=tensor)
    require(tensor.shape[0] == 1, "the batch is larger than 1", at=tensor)
    height, width, channels = tensor.shape[1:]
    require(min(height, width, channels) > 0, "the tensor has no elements in rows", at=tensor)
    return height, width, channels


def check_int8(tensor: Tensor) -> None:
    require(tensor.type == TensorType.INT8, f"{_type(tensor)} values are not computed by a chain, only INT8", at=tensor)


def value_of(tensor: Tensor, plane: Plane) -> Value:
    """A value of the chain for a tensor that holds int8 activations; refused for any other."""
    check_int8(tensor)
    require(not tensor.is_variable, "the tensor is a variable", at=tensor)
    require(not tensor.is_constant, "the tensor is constant", at=tensor)
    require(tensor.is_static, "a dimension is left open", at=tensor)
    require(prod(plane) == tensor.size, "the tensor's shape does not fit what the operator computes", at=tensor)
    return Value(*plane, *per_tensor(tensor))


def per_tensor(tensor: Tensor) -> tuple[float, int]:
    """Scale and zero point of an int8 tensor; refused where TFLM would not find one of each."""
    q = tensor.quantization
    require(tensor.is_quantized and q is not None and q.zero_point is not None and len(q.zero_point) > 0,
            "the tensor has no scale and zero point", at=tensor)
    scale, zero_point = tensor.scale, tensor.zero_point
    require(bool(np.isfinite(scale)) and scale > 0, "the scale is not a positive number", at=tensor)
    require(INT8_MIN <= zero_point <= INT8_MAX, "the zero point lies outside of the type's range", at=tensor)
    return scale, zero_point


def scalar_or_channels(tensor: Tensor, channels: int) -> Array:
    """A constant int8 operand as int64 [1] or [channels]; refused where it is neither."""
    require(tensor.type == TensorType.INT8, "the constant is not INT8", at=tensor)
    array = tensor.array().astype(np.int64)
    require(array.size == 1 or array.size == channels == array.shape[-1],
            "the constant is neither one number nor one number for each channel", at=tensor)
    return array.reshape(-1)


def weights_of(operator: Operator, channels_axis: int) -> tuple[Array, Array]:
    """The int8 filter and its scales, float64 [1] or [channels]; refused unless both are constant."""
    tensor = operator.input(1)
    if tensor is None:
        raise Refused("the operator has no weights", at=operator)
    require(tensor.is_constant, "the weights are not constant", at=tensor)
    require(tensor.type == TensorType.INT8, f"the weights are {_type(tensor)}, not INT8", at=tensor)
    q = tensor.quantization
    require(tensor.is_quantized and q is not None and q.zero_point is not None and len(q.zero_point) > 0,
            "the weights have no scale and zero point", at=tensor)
    assert q is not None and q.scale is not None
    require(not np.any(q.zeros), "the weights have a zero point other than 0", at=tensor)
    array = tensor.array()
    require(array.ndim > channels_axis and min(array.shape) > 0, "the weights have too few dimensions", at=tensor)
    channels = array.shape[channels_axis]
    require(len(q.scale) in (1, channels), "the weights have scales for another number of channels", at=tensor)
    if len(q.scale) > 1:
        axis = q.quantized_dimension
        require(0 <= axis < array.ndim and array.shape[axis] == channels, "the weights' scales lie along another axis",
                at=tensor)
    require(bool(np.all(np.isfinite(q.scale)) and np.all(q.scale >= 0)), "a scale of the weights is no positive number",
            at=tensor)
    return array, float64(q.scale)


def bias_of(operator: Operator, channels: int) -> Array:
    """int64 [channels]: the bias, 0 where there is none."""
    tensor = operator.input(2)
    if tensor is None:
        return np.zeros(channels, np.int64)
    require(tensor.is_constant, "the bias is not constant", at=tensor)
    require(tensor.type == TensorType.INT32, f"the bias is {_type(tensor)}, not INT32", at=tensor)
    require(tensor.size == channels, "the bias has another number of channels", at=tensor)
    return tensor.array().reshape(-1).astype(np.int64)


def integers_of(operator: Operator, position: int, what: str) -> list[int]:
    """A constant int32 operand, flat: axes, a permutation, paddings."""
    tensor = operator.input(position)
    if tensor is None or not tensor.is_constant or tensor.type != TensorType.INT32:
        raise Refused(f"the {what} are not constant 32-bit integers", at=operator)
    return [int(x) for x in tensor.array().reshape(-1)]


def _type(tensor: Tensor) -> str:
    return NAME_OF_TYPE.get(tensor.type, str(tensor.type))
