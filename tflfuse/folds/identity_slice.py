"""STRIDED_SLICE(x, ...), SLICE(x, ...) -> x, where all of x is taken in order."""
from __future__ import annotations

import math

import numpy as np

from ..errors import Refused
from ..evaluate import slice_index, strided_slice_index
from ..ir import Array
from ..pattern import Match, Replacement, alias, const, fold, op, require, var, where
from ..sameness import require_same_meaning, require_static

strided = op.STRIDED_SLICE(var("x"), const("begin"), const("end"), const("strides"), name="root")
plain = op.SLICE(var("x"), const("begin"), const("size"), name="root")


def keeps_shape(m: Match) -> bool:
    return bool(m.x.shape == m.root.outputs[0].shape)


@fold(where(strided, keeps_shape), where(plain, keeps_shape))
def identity_slice(m: Match) -> Replacement:
    """Leave out a slice that takes everything."""
    require_static(m.x, m.root.outputs[0])
    require(takes_all(m), "it does not take the elements in order", at=m.root)
    require_same_meaning(m.x, m.root.outputs[0])
    return alias(m.x)


def takes_all(m: Match) -> bool:
    """True where every axis is taken from its first element to its last; axes of size 1 may go and be made anew."""
    if m.root.name == "SLICE":
        index = slice_index(m.x.shape, m.begin.array(), m.size.array())
    else:
        index = strided_slice_index(m.root, m.begin.array(), m.end.array(), m.strides.array())
    whole = only_strides(m.x.shape)
    try:
        taken = whole[index]
    except IndexError as error:
        raise Refused(f"its operands do not fit together ({error})", at=m.root) from error
    return taken.shape == whole.shape and bool(taken.flags.c_contiguous)


def only_strides(shape: tuple[int, ...]) -> Array:
    """An array that lies in order and takes no memory, however large it claims to be: its elements are never read."""
    strides = tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), shape, strides, writeable=False)
