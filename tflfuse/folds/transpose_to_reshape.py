"""TRANSPOSE(x, p) -> RESHAPE(x), where p moves only axes of size 1."""
from __future__ import annotations

from ..pattern import Match, Replacement, const, fold, op, replace_by, require, var, where
from ..permutations import permutation
from ..reshapes import reshape_of
from ..sameness import require_same_meaning, require_static


def keeps_elements_in_place(m: Match) -> bool:
    """The axes that have more than one element stand in the same order; some other axis moves."""
    perm, shape = permutation(m.perm), m.x.shape
    if len(perm) != len(shape) or perm == tuple(range(len(shape))):
        return False
    large = [a for a in perm if shape[a] != 1]
    return large == sorted(large)


unmoved = where(op.TRANSPOSE(var("x"), const("perm"), name="root"), keeps_elements_in_place)


@fold(unmoved)
def transpose_to_reshape(m: Match) -> Replacement:
    """Make a TRANSPOSE that only moves axes of size 1 a RESHAPE."""
    out = m.root.outputs[0]
    require_static(m.x, out)
    require(tuple(m.x.shape[a] for a in permutation(m.perm)) == out.shape,
            "the output's shape is not the permuted one", at=out)
    require_same_meaning(m.x, out)
    return replace_by(reshape_of(m.x, out))
