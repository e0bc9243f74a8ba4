"""RESHAPE(RESHAPE(x)) -> RESHAPE(x, constant), also for SQUEEZE and EXPAND_DIMS; RESHAPE(x, computed) likewise."""
from __future__ import annotations

from ..ir import Operator, Tensor
from ..pattern import Match, Replacement, fold, op, replace_by, require, var, where
from ..reshapes import agrees, reshape_of
from ..sameness import require_same_meaning

kinds = op.RESHAPE | op.SQUEEZE | op.EXPAND_DIMS
two = kinds(kinds(var("x"), ..., name="inner"), ..., name="outer")
computed = where(op.RESHAPE(var("x"), var("shape"), name="outer"), lambda m: not m.shape.is_constant)


@fold(two, computed, shared=True)
def reshape_chain(m: Match) -> Replacement:
    """Make one RESHAPE with a constant shape of several, or of one whose shape is computed."""
    out: Tensor = m.outer.outputs[0]
    for reshape in m.operators:
        require_sound(reshape)
    require_same_meaning(m.x, out)
    return replace_by(reshape_of(m.x, out))


def require_sound(reshape: Operator) -> None:
    """Refuse what an interpreter would refuse, or would shape as it runs."""
    x, out = reshape.inputs[0], reshape.outputs[0]
    require(agrees(reshape), "the shape it asks for is not that of its output", at=reshape)
    assert x is not None
    if x.is_static and out.is_static:
        require(x.size == out.size, "the number of elements changes", at=reshape)
