"""PAD(x, 0), PADV2(x, 0, value), MIRROR_PAD(x, 0) -> x."""
from __future__ import annotations

from ..pattern import Match, Replacement, alias, const, fold, op, require, var, where
from ..sameness import require_same_meaning

pads = (op.PAD | op.PADV2 | op.MIRROR_PAD)(var("x"), const("paddings"), ..., name="root")
nothing = where(pads, lambda m: not any(m.paddings.integers()))


@fold(nothing)
def identity_pad(m: Match) -> Replacement:
    """Leave out padding by nothing."""
    require(m.x.shape == m.root.outputs[0].shape, "the output's shape is not that of the input", at=m.root.outputs[0])
    require_same_meaning(m.x, m.root.outputs[0])
    return alias(m.x)
