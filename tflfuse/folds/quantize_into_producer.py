"""QUANTIZE(CONV(x)) -> CONV(x) that writes the other scale at once; the same for FULLY_CONNECTED, ADD, SUB, MUL, ..."""
from __future__ import annotations

from ..clamps import LIMITS, activation_for, of_activation, of_range
from ..ir import NAME_OF_TYPE, Operator
from ..pattern import Match, Replacement, fold, op, replace_by, require, where
from ..producers import RESCALING, check_rescales, writing
from ..sameness import same_meaning

FIXED = (op.SOFTMAX | op.LOGISTIC | op.TANH | op.AVERAGE_POOL_2D | op.MAX_POOL_2D | op.DIV | op.CONCATENATION
         | op.RESHAPE | op.TRANSPOSE | op.PAD | op.PADV2)
"""Operators whose kernels want certain scales, or the scale of what they read."""


def changes_something(m: Match) -> bool:
    return not same_meaning(m.producer.outputs[0], m.root.outputs[0])


@fold(where(op.QUANTIZE((RESCALING | FIXED)(..., name="producer")), changes_something))
def quantize_into_producer(m: Match) -> Replacement:
    """Let the operator that computes a value write the scale that a QUANTIZE gives it."""
    producer: Operator = m.producer
    value, out = producer.outputs[0], m.root.outputs[0]
    require(value.type in LIMITS, "it turns real numbers into integers", at=m.root)
    require(out.type == value.type, f"TFLM's {producer.name} cannot turn {NAME_OF_TYPE[value.type]} into "
            f"{NAME_OF_TYPE.get(out.type, out.type)}", at=m.root)
    require(value.is_quantized and out.is_quantized, "a value has no scale", at=m.root)
    check_rescales(producer, out)
    activation = activation_for(of_activation(producer) & of_range(value), out)
    return replace_by(writing(producer, out, activation), exact=False)
