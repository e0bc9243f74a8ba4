"""RESHAPE and its special cases: what they say their output's shape is, and how to write one."""
from __future__ import annotations

import numpy as np

from .ir import Operator, OperatorCode, Table, Tensor
from .pattern import require


def shape_operand(out: Tensor) -> tuple[int, ...]:
    """The shape that a RESHAPE to `out` asks for: -1 for an open dimension, refused where there are several."""
    require(len(out.shape) > 0, "a scalar has no shape to write down", at=out)
    dims = out.shape if out.shape_signature is None else out.shape_signature
    require(len(dims) == len(out.shape), "the shape and its signature differ in rank", at=out)
    require(sum(d < 0 for d in dims) <= 1, "more than one dimension is left open until the model runs", at=out)
    require(0 not in dims, "the tensor has no elements", at=out)
    return dims


def reshape_of(x: Tensor, out: Tensor) -> Operator:
    """RESHAPE(x, constant shape) -> out."""
    dims = np.array(shape_operand(out), np.int32)
    shape = Tensor.constant(dims, (out.name or b"") + b"/shape")
    return Operator(OperatorCode.of("RESHAPE"), [x, shape], [out], Table.of("ReshapeOptions", new_shape=dims))


def stated_shape(reshape: Operator) -> tuple[int, ...] | None:
    """What a RESHAPE's constant operand, or its options where it has no operand, say; None where neither does."""
    operand = reshape.input(1)
    if operand is not None:
        return operand.integers() if operand.is_constant else None
    stated = reshape.option("new_shape", None)
    return None if stated is None else tuple(int(d) for d in stated)


def agrees(reshape: Operator) -> bool:
    """False where a RESHAPE states another shape than its output has; -1 stands for any size."""
    stated, out = stated_shape(reshape), reshape.outputs[0]
    if reshape.name != "RESHAPE" or stated is None:
        return True
    if out.shape == () and stated == (0,):
        return True  # how old converters wrote a scalar
    return len(stated) == len(out.shape) and all(s in (-1, d) for s, d in zip(stated, out.shape, strict=True))
