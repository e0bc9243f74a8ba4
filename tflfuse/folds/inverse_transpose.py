"""TRANSPOSE(TRANSPOSE(x, p), q) -> TRANSPOSE(x, p[q]), or x where nothing moves in the end."""
from __future__ import annotations

import numpy as np

from ..ir import Tensor
from ..pattern import Match, Replacement, alias, const, fold, op, replace_by, require, var
from ..permutations import permutation
from ..sameness import require_same_meaning

inner = op.TRANSPOSE(var("x"), const("p"), name="inner")
outer = op.TRANSPOSE(inner, const("q"), name="outer")


@fold(outer, shared=True)
def inverse_transpose(m: Match) -> Replacement:
    """Make one TRANSPOSE of two, or none where they cancel out."""
    p, q, out = permutation(m.p), permutation(m.q), m.outer.outputs[0]
    require(len(p) == len(q) == len(m.x.shape), "the permutations do not fit the rank of the input", at=m.x)
    axes = tuple(p[a] for a in q)
    require(tuple(m.x.shape[a] for a in axes) == out.shape, "the output's shape is not the permuted one", at=out)
    require_same_meaning(m.x, out)
    if axes == tuple(range(len(axes))):
        return alias(m.x)
    perm = Tensor.constant(np.array(axes, np.int32), m.q.name)
    return replace_by(m.outer.like(inputs=[m.x, perm], outputs=list(m.outer.outputs)))
