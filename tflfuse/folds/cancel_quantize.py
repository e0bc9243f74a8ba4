"""QUANTIZE(DEQUANTIZE(q)) -> q; with another scale: QUANTIZE(q), from integers to integers. QUANTIZE(q) as it is -> q.

What the pair does is worked out for every integer there is, so nothing is left to belief: the pair of one scale must
give each integer back, and the QUANTIZE of integers, which TFLM rounds twice where the scale more than doubles, must
not go further from the real numbers than the pair did.
"""
from __future__ import annotations

import numpy as np
from tflite import TensorType

from ..clamps import LIMITS, limits
from ..ir import Array, Tensor
from ..pattern import Match, Replacement, alias, fold, op, replace_by, require, var, where
from ..quantizing import dequantize, quantize, requantize
from ..sameness import same_meaning

WIDEST_RATIO = 2 ** 14
"""17 bits of integer times this fit 32 bits: TFLM does not check."""

A_TIE = 1e-6
"""Steps of the output by which errors may differ where both round a half."""


def changes_nothing(m: Match) -> bool:
    q, out = m.q, m.root.outputs[0]
    return q.type in LIMITS and q.is_quantized and out.is_quantized and same_meaning(q, out)


@fold(op.QUANTIZE(op.DEQUANTIZE(var("q"), name="dequantize")), where(op.QUANTIZE(var("q")), changes_nothing),
      shared=True)
def cancel_quantize(m: Match) -> Replacement:
    """Keep integers instead of making real numbers of them and integers again."""
    q, out = m.q, m.root.outputs[0]
    if "dequantize" not in m.names:
        return alias(q)
    require(m.dequantize.outputs[0].type == TensorType.FLOAT32, "the value in between is not float32", at=m.dequantize)
    least, most = limits(q)
    limits(out)
    integers = np.arange(least, most + 1)
    check_scales(q, out, integers)
    pair = quantize(dequantize(integers, q), out)
    if same_meaning(q, out):
        require(np.array_equal(pair, integers), "the pair does not give every integer back", at=q)
        return alias(q)
    direct = requantize(integers, q, out)
    require(no_worse(direct, pair, integers, q, out),
            "a QUANTIZE of integers rounds twice here and would be less exact than the pair", at=m.root)
    return replace_by(m.root.like(inputs=[q]), exact=np.array_equal(direct, pair))


def check_scales(q: Tensor, out: Tensor, integers: Array) -> None:
    """Refuse scales with which float32 or 32 bits do not hold what lies in between."""
    smallest = float(np.finfo(np.float32).tiny)
    for value in (q, out):
        require(np.isfinite(value.scale), "the scale is not a positive number", at=value)
        require(value.scale >= smallest, "the scale is so small that some processors take it for zero", at=value)
    require(bool(np.isfinite(dequantize(integers, q)).all()), "the real numbers overflow float32", at=q)
    require(q.scale / out.scale < WIDEST_RATIO, "the scales are too far apart for 32 bits", at=out)


def no_worse(direct: Array, pair: Array, integers: Array, q: Tensor, out: Tensor) -> bool:
    """The largest and the mean error, in steps of the output, against the real numbers that the integers stand for."""
    exact = (integers - q.zero_point) * (q.scale / out.scale) + out.zero_point
    new, old = np.abs(direct - exact), np.abs(pair - exact)
    return bool(new.max() <= old.max() + A_TIE and new.mean() <= old.mean() + A_TIE)
