"""RELU(CONV(x)) -> CONV(x) with a fused activation; the same for every operator whose kernel clamps.

Also for RELU6, RELU_N1_TO_1, RELU_0_TO_1, MINIMUM and MAXIMUM with a constant, and towers of them.
"""
from __future__ import annotations

from math import inf

import numpy as np
from tflite import TensorType

from ..clamps import LIMITS, OF_OPERATOR, Clamp, activation_for, of_activation, of_range
from ..ir import Tensor
from ..pattern import HOLE, Match, Replacement, chain, const, fold, op, replace_by, require, var
from ..producers import CLAMPING, check_rescales, writing

ACTIVATION = op.RELU | op.RELU6 | op.RELU_N1_TO_1 | op.RELU_0_TO_1
BOUND = (op.MINIMUM | op.MAXIMUM)(HOLE, const("bound"), name="clamp")

tower = chain(CLAMPING(..., name="producer"), ACTIVATION(HOLE, name="clamp"), BOUND, name="steps")
alone = ACTIVATION(var("x"))


@fold(tower, alone)
def activation_into_producer(m: Match) -> Replacement:
    """Let the operator that computes a value clamp it."""
    require("producer" in m.names, "no operator that takes a fused activation computes its input", at=m.root)
    values: list[Tensor] = [m.producer.outputs[0], *(s.clamp.outputs[0] for s in m.steps)]
    out = values[-1]
    require(out.type == TensorType.FLOAT32 or out.type in LIMITS, "only float32, int8 and int16 are clamped", at=out)
    require(all(v.type == out.type for v in values), "the clamp changes the type", at=out)
    require(all(v.shape == out.shape for v in values), "the clamp changes the shape", at=out)
    alike = out.type == TensorType.FLOAT32 or all(same(v, out) for v in values)
    clamp = of_activation(m.producer)
    for step, value in zip(m.steps, values):
        clamp &= of_step(step) if alike else of_step(step) & of_range(value)
    activation = activation_for(clamp, out)
    if not alike:
        check_rescales(m.producer, out)
    require(all(keeps_bits(s) for s in m.steps), "a NaN, or a zero of the other sign, would come out otherwise")
    return replace_by(writing(m.producer, out, activation), exact=alike)


def of_step(step: Match) -> Clamp:
    """What one clamping operator does to real numbers."""
    if step.clamp.name in OF_OPERATOR:
        return OF_OPERATOR[step.clamp.name]
    bound, out = step.bound, step.clamp.outputs[0]
    require(bound.size == 1, "the bound is not one number", at=bound)
    if out.type != TensorType.FLOAT32:
        require(same(bound, out) and same(step.chain_value, out), "the bound has a scale of its own", at=bound)
    number = float(bound.real().ravel()[0])
    require(bool(np.isfinite(number)), "the bound is not a finite number", at=bound)
    return Clamp(-inf, number) if step.clamp.name == "MINIMUM" else Clamp(number, inf)


def keeps_bits(step: Match) -> bool:
    """False where the result is another NaN or zero than an activation's, which lets NaN and -0.0 through.

    TFLM's MAXIMUM(a, b) is a > b ? a : b, so that a bound in second place stands for NaN and for a zero of either sign.
    """
    if step.clamp.name in OF_OPERATOR or step.clamp.outputs[0].type != TensorType.FLOAT32:
        return True
    negative_zero = bool((step.bound.array() == 0).all() and np.signbit(step.bound.array()).all())
    return step.clamp.inputs[0] is step.bound and not negative_zero


def same(one: Tensor, other: Tensor) -> bool:
    """Both are quantized, and alike."""
    return one.quantization is not None and one.quantization.same_as(other.quantization)
