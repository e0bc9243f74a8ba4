"""TFLM's QUANTIZE and DEQUANTIZE in numpy, bit for bit (reference/quantize.h, requantize.h and dequantize.h)."""
from __future__ import annotations

import numpy as np

from .ir import Array, Tensor
from .numerics import multiply_by_quantized_multiplier, quantize_one, rounded


def requantize(values: Array, q: Tensor, out: Tensor) -> Array:
    """Integers of q as integers of out: the arithmetic of a QUANTIZE between them."""
    multiplier, shift = quantize_one(q.scale / out.scale)
    moved = multiply_by_quantized_multiplier(values.astype(np.int64) - q.zero_point, multiplier, shift)
    return saturated(moved + out.zero_point, out)


def dequantize(values: Array, q: Tensor) -> Array:
    """Integers of q as float32: computed in float64, rounded once."""
    with np.errstate(over="ignore"):
        return (q.scale * (values.astype(np.int64) - q.zero_point)).astype(np.float32)


def quantize(reals: Array, out: Tensor) -> Array:
    """float32 as integers of out, divided in float32; the quotients must fit 32 bits."""
    quotients = reals / np.float32(out.scale)
    return saturated(rounded(quotients.astype(np.float64)).astype(np.int64) + out.zero_point, out)


def saturated(values: Array, out: Tensor) -> Array:
    kind = np.iinfo(out.dtype)
    return np.clip(values, kind.min, kind.max).astype(out.dtype)
