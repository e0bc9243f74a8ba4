"""DEPTHWISE_CONV_2D(x, w, none) -> DEPTHWISE_CONV_2D(x, w)."""
from __future__ import annotations

from ..pattern import Match, Replacement, fold, op, replace_by, var, where

depthwise = op.DEPTHWISE_CONV_2D(var("x"), var("w"), ..., name="root")
listed = where(depthwise, lambda m: m.root.inputs[2:] == [None])


@fold(listed)
def empty_bias(m: Match) -> Replacement:
    """Do not list a bias that is not there: TFLM's kernel would read it."""
    return replace_by(m.root.like(inputs=m.root.inputs[:2]))
