"""The permutation operand of a TRANSPOSE."""
from __future__ import annotations

from .ir import Tensor
from .pattern import require


def permutation(perm: Tensor) -> tuple[int, ...]:
    """The axes of the input in the order of the output; refused where the constant is no permutation."""
    axes = perm.integers()
    require(sorted(axes) == list(range(len(axes))), "the operand is no permutation", at=perm)
    return axes
