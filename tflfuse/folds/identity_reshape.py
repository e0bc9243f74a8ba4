"""RESHAPE(x), SQUEEZE(x), EXPAND_DIMS(x) -> x, where the shape stays as it is."""
from __future__ import annotations

from ..pattern import Match, Replacement, alias, fold, op, var, where
from ..sameness import require_same_meaning, require_static

reshape = (op.RESHAPE | op.SQUEEZE | op.EXPAND_DIMS)(var("x"), ..., name="root")
unchanged = where(reshape, lambda m: bool(m.x.shape == m.root.outputs[0].shape))


@fold(unchanged)
def identity_reshape(m: Match) -> Replacement:
    """Leave out a RESHAPE that keeps the shape."""
    require_static(m.x, m.root.outputs[0])
    require_same_meaning(m.x, m.root.outputs[0])
    return alias(m.x)
