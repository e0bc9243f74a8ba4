"""When one tensor may stand for another."""
from __future__ import annotations

from .ir import NAME_OF_TYPE, Tensor
from .pattern import require


def same_meaning(a: Tensor, b: Tensor) -> bool:
    """True where the same bytes mean the same numbers: one type, and for integers one quantization or none at all."""
    if a.type != b.type:
        return False
    if NAME_OF_TYPE.get(a.type, "").startswith(("FLOAT", "BOOL", "COMPLEX")):
        return True
    given = [t.quantization for t in (a, b) if t.quantization is not None]
    if any(q.details is not None for q in given):
        return False
    scaled = [q for q in given if q.scale is not None and len(q.scale) > 0]
    return not scaled or len(scaled) == 2 and scaled[0].same_as(scaled[1])


def require_static(*tensors: Tensor) -> None:
    """Refuse where a dimension is left open."""
    for tensor in tensors:
        require(tensor.is_static, "a dimension is left open until the model runs", at=tensor)


def require_same_meaning(a: Tensor, b: Tensor) -> None:
    """Refuse where a's bytes read as b would be other numbers."""
    require(a.type == b.type, "the type changes", at=b)
    require(same_meaning(a, b), "the quantization changes", at=b)
