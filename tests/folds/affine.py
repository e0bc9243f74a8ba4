"""Constant multiplications and additions around an operator, in the operator's kind of numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from tflfuse.ir import Array, Model, Operator, Tensor

from ..build import Build

GAINS = np.array([1.5, -0.75, 0.5, 1.25, -1.0, 0.6])
OFFSETS = np.array([0.5, -1.0, 0.25, 1.5, -0.5, 0.75])


def constant(b: Build, like: Tensor, values: Any) -> Tensor:
    """Real numbers as a constant of a tensor's type; quantized with a scale and zero point of its own."""
    values = np.asarray(values, np.float64)
    if like.quantization is None:
        return b.constant(values.astype(np.float32))
    limits = np.iinfo(like.dtype)
    scale = max(float(np.abs(values).max()), 1e-30) / (limits.max - 8)
    zero = 0 if like.dtype == np.int16 else 5
    whole: Array = np.clip(np.round(values / scale) + zero, limits.min, limits.max)
    return b.constant(whole.astype(like.dtype), scale, zero)


def step(b: Build, name: str, x: Tensor, values: Any, scale: float = 1 / 24, first: bool = False,
         **more: Any) -> Tensor:
    """An operator on x and a constant, its result scaled by `scale` (int16x8: by that over 256)."""
    k = constant(b, x, values)
    shape = more.pop("shape", x.shape)
    if x.quantization is not None:
        wide = x.dtype == np.int16
        more = {"scale": scale / 256 if wide else scale, "zero_point": 0 if wide else 3, **more}
    return b.op(name, [k, x] if first else [x, k], shape, **more)


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def i8(values: Any) -> Array:
    return np.asarray(values, np.int8)


def i32(values: Any) -> Array:
    return np.asarray(values, np.int32)


def read(operator: Operator, position: int) -> Tensor:
    tensor = operator.inputs[position]
    assert tensor is not None
    return tensor


def operand(model: Model, position: int) -> Tensor:
    """What the last operator reads."""
    return read(model.subgraphs[0].operators[-1], position)


def scales(tensor: Tensor) -> Array:
    assert tensor.quantization is not None and tensor.quantization.scale is not None
    return tensor.quantization.scale
