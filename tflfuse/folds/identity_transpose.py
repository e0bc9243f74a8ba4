"""TRANSPOSE(x, [0, 1, 2, ...]) -> x."""
from __future__ import annotations

from ..pattern import Match, Replacement, alias, const, fold, op, require, var, where
from ..permutations import permutation
from ..sameness import require_same_meaning


def keeps_order(m: Match) -> bool:
    return permutation(m.perm) == tuple(range(len(m.x.shape)))


unchanged = where(op.TRANSPOSE(var("x"), const("perm"), name="root"), keeps_order)


@fold(unchanged)
def identity_transpose(m: Match) -> Replacement:
    """Leave out a TRANSPOSE that moves no axis."""
    require(m.x.shape == m.root.outputs[0].shape, "the output's shape is not that of the input", at=m.root.outputs[0])
    require_same_meaning(m.x, m.root.outputs[0])
    return alias(m.x)
