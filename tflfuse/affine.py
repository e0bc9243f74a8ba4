"""Constant MUL, ADD, SUB and DIV, and towers of them, as x * gain + offset with a number per channel."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from tflite import ActivationFunctionType

from .clamps import of_activation, of_range
from .ir import Array, Operator, Tensor
from .pattern import HOLE, Match, Node, const, op, require

STEPS: tuple[Node, ...] = (
    op.MUL(HOLE, const("k"), name="step"), op.ADD(HOLE, const("k"), name="step"), op.SUB(HOLE, const("k"), name="step"),
    op.SUB(const("k"), HOLE, name="step"), op.DIV(HOLE, const("k"), name="step"))
"""The operators that are affine in their other operand. k / x is none."""


@dataclass(frozen=True)
class Step:
    """operator(value) = value * gain + offset; gain and offset: float64 [channels]."""

    operator: Operator
    value: Tensor
    gain: Array
    offset: Array

    @property
    def out(self) -> Tensor:
        return self.operator.outputs[0]


def read_steps(matches: Sequence[Match], channels: int, which: str) -> list[Step]:
    """The steps of a chain over STEPS, the innermost first.

    which: "output" or "input", the channels that the constants must go by, for the refusal.
    """
    return [read_step(m.step, m.chain_value, m.k, channels, which) for m in matches]


def read_step(operator: Operator, value: Tensor, constant: Tensor, channels: int, which: str) -> Step:
    out = operator.outputs[0]
    require(value.type == constant.type == out.type, "the operands are of different types", at=operator)
    of_activation(operator)
    require(out.shape == value.shape, "the constant makes the tensor larger", at=constant)
    whole = constant.size == 1 or constant.shape[-1] == channels == constant.size and value.shape[-1] == channels
    require(whole, f"the constant is not per {which} channel", at=constant)
    k = np.broadcast_to(constant.real().reshape(-1), (channels,))
    require(bool(np.isfinite(k).all()), "the constant holds NaN or infinity", at=constant)
    ones, zeros = np.ones(channels), np.zeros(channels)
    if operator.name == "MUL":
        return Step(operator, value, k, zeros)
    if operator.name == "DIV":
        require(bool(np.all(k != 0)), "the constant divides by zero", at=constant)
        return Step(operator, value, 1 / k, zeros)
    if operator.name == "ADD":
        return Step(operator, value, ones, k)
    return Step(operator, value, ones, -k) if operator.inputs[1] is constant else Step(operator, value, -ones, k)


def composed(steps: Sequence[Step]) -> tuple[Array, Array]:
    """gain and offset, float64 [channels], of all steps in turn."""
    gain, offset = np.ones_like(steps[0].gain), np.zeros_like(steps[0].gain)
    for step in steps:
        gain, offset = gain * step.gain, offset * step.gain + step.offset
    return gain, offset


def require_no_clamp(value: Tensor, producer: Operator, low: float = -inf, high: float = inf) -> None:
    """Refuse a value between two operators that is clamped by an activation or by where its integers end.

    low, high: bounds of the real value where they are known. A range that ends there clips nothing.

    A converter that leaves out a RELU where the range does its work leaves a zero point at the end of the integers.
    Elsewhere saturation at the range's ends is taken to be an error of the quantization, no part of the function:
    ranges are chosen to hold the values that occur.
    """
    require(producer.activation == ActivationFunctionType.NONE, "an activation lies between", at=producer)
    if value.dtype.kind == "f":
        return
    require_scale(value)
    clamp, half = of_range(value), value.scale / 2
    require(clamp.low - half <= low and high <= clamp.high + half,
            "the inner tensor's range ends at zero and clips like a RELU", at=value)


def require_scale(value: Tensor) -> None:
    require(value.scale > 0 and np.isfinite(value.scale), "the scale is not a positive number", at=value)
    require(value.dtype.itemsize == 1 or value.zero_point == 0, "an int16 tensor has a zero point", at=value)


def require_finite(*arrays: Array) -> None:
    """Refuse real weights or biases that float32 cannot hold."""
    limit = float(np.finfo(np.float32).max)
    require(all(bool(np.all(np.abs(a) <= limit)) for a in arrays), "the folded constants would be infinite or NaN")
