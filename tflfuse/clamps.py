"""What an activation does to a value: an interval of real numbers, and one of integers as TFLM computes it.

Clamps that follow each other intersect, clamp(clamp(x, a), b) = clamp(x, a & b), as long as they overlap.
"""
from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from tflite import ActivationFunctionType as Activation
from tflite import TensorType

from .errors import Refused
from .ir import NAME_OF_ACTIVATION, NAME_OF_TYPE, Operator, Tensor
from .numerics import steps_of


@dataclass(frozen=True)
class Clamp:
    """x -> min(max(x, low), high) on real numbers."""

    low: float = -inf
    high: float = inf

    def __and__(self, other: Clamp) -> Clamp:
        """Both, in either order; refused where they do not overlap, for then the order counts."""
        both = Clamp(max(self.low, other.low), min(self.high, other.high))
        if both.low > both.high:
            raise Refused(f"the clamps to {self} and to {other} do not overlap")
        return both

    def contains(self, other: Clamp) -> bool:
        return self.low <= other.low and self.high >= other.high

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


OF_ACTIVATION: dict[int, Clamp] = {Activation.NONE: Clamp(), Activation.RELU_N1_TO_1: Clamp(-1, 1),
                                   Activation.RELU6: Clamp(0, 6), Activation.RELU: Clamp(0, inf)}
"""The fused activations that clamp. The others (TANH, SIGN_BIT) do something else."""

OF_OPERATOR = {"RELU": Clamp(0, inf), "RELU6": Clamp(0, 6), "RELU_N1_TO_1": Clamp(-1, 1), "RELU_0_TO_1": Clamp(0, 1)}

LIMITS = {code: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
          for code, dtype in ((TensorType.INT8, np.int8), (TensorType.INT16, np.int16))}
"""The integers that quantized activations of TFLM are made of."""


def of_activation(operator: Operator) -> Clamp:
    """What the operator's fused activation does; refused where that is no clamp."""
    if operator.activation not in OF_ACTIVATION:
        name = NAME_OF_ACTIVATION.get(operator.activation, operator.activation)
        raise Refused(f"its fused activation {name} is no clamp", at=operator)
    return OF_ACTIVATION[operator.activation]


def of_range(value: Tensor) -> Clamp:
    """What the ends of a quantized value's range do on purpose.

    Converters leave an activation out where the range does its work: a zero point at an end clamps at 0, and 255 steps
    from 0 that end at 6 are a RELU6. Every other end is what calibration saw: saturating there is an error, not a wish.
    """
    least, most = limits(value)
    low = 0.0 if value.zero_point == least else -inf
    top = (most - value.zero_point) * value.scale
    if value.zero_point == most:
        return Clamp(low, 0.0)
    return Clamp(low, 6.0 if low == 0 and abs(top - 6) <= value.scale / 2 else inf)


def limits(value: Tensor) -> tuple[int, int]:
    """The smallest and the largest integer of a quantized value; its zero point is refused outside of them."""
    if value.type not in LIMITS:
        raise Refused(f"a {NAME_OF_TYPE.get(value.type, value.type)} value is not clamped by TFLM", at=value)
    least, most = LIMITS[value.type]
    if not least <= value.zero_point <= most:
        raise Refused("the zero point lies outside of the type's range", at=value)
    return least, most


def integers(clamp: Clamp, value: Tensor) -> tuple[int, int] | None:
    """The clamp in the integers of a quantized value; None where TFLM refuses to compute it.

    As CalculateActivationRangeQuantized of tensorflow/lite/kernels/kernel_util.cc: max(least, zp + round(low / scale))
    and min(most, zp + round(high / scale)), divided in float32, halves rounded away from zero.
    """
    least, most = limits(value)
    low, high = (_steps(end, value) if isfinite(end) else 0 for end in (clamp.low, clamp.high))
    if low is None or high is None:
        return None
    return (max(least, value.zero_point + low) if isfinite(clamp.low) else least,
            min(most, value.zero_point + high) if isfinite(clamp.high) else most)


def _steps(number: float, value: Tensor) -> int | None:
    """round(number / scale), None where it does not fit 32 bits."""
    scale = np.float32(value.scale)
    if not (scale > 0 and np.isfinite(scale)):
        raise Refused("the scale is not a positive number", at=value)
    return steps_of(number, value.scale)


def activation_for(clamp: Clamp, out: Tensor) -> int:
    """The fused activation that does exactly this to a float32 value, or to the integers of a quantized one.

    Among several that do, the one that says most about the real numbers: that is what later steps go by.
    """
    if out.type == TensorType.FLOAT32:
        fits = [a for a, c in OF_ACTIVATION.items() if c == clamp]
    else:
        wanted = integers(clamp, out)
        if wanted is None:
            raise Refused(f"the ends of {clamp} in steps of the scale do not fit 32 bits", at=out)
        fits = [a for a, c in OF_ACTIVATION.items() if integers(c, out) == wanted]
    if not fits:
        raise Refused(f"no fused activation clamps to {clamp}", at=out)
    return min(fits, key=lambda a: _distance(OF_ACTIVATION[a], clamp))


def _distance(candidate: Clamp, clamp: Clamp) -> tuple[bool, bool, float]:
    """The same clamp first, then those that hold it, the tightest first."""
    return candidate != clamp, not candidate.contains(clamp), candidate.high - candidate.low
