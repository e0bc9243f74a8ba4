"""SHAPE(x), RANK(x) -> a constant, where the shape of x is known."""
from __future__ import annotations

import numpy as np

from ..pattern import Match, Replacement, constant, fold, op, require, var
from ..sameness import require_static

shape = (op.SHAPE | op.RANK)(var("x"), name="root")


@fold(shape)
def shape_of_static(m: Match) -> Replacement:
    """Write down the shape or the rank of a tensor whose shape is known."""
    require(m.x.has_shape and (m.x.has_rank or m.x.shape != ()), "the tensor's rank is not known", at=m.x)
    require_static(m.x)
    dtype = m.root.outputs[0].dtype
    require(dtype in (np.int32, np.int64), f"{m.root.name} is written as {dtype}", at=m.root)
    return constant(np.array(len(m.x.shape) if m.root.name == "RANK" else m.x.shape, dtype))
