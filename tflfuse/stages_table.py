"""Operators that compute each int8 number from one number as steps of a table's program."""
from __future__ import annotations

from .ir import Operator, Tensor
from .pattern import require
from .planes import per_tensor, scalar_or_channels
from .tables import CONSTANT, Elementwise, Program, Scalar

OF_ONE = frozenset({"QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LEAKY_RELU", "PRELU", "LOGISTIC",
                    "TANH", "HARD_SWISH", "ABS", "ELU"})
"""Operators of one value, PRELU's slope aside."""
OF_TWO = frozenset({"ADD", "SUB", "MUL"})


def step_of(operator: Operator, operands: tuple[int, ...]) -> Elementwise:
    """One step of a program; operands: the numbers of its values in order, CONSTANT for a constant of one number.

    Refused where a constant is more than a number, or a tensor is not quantized per tensor.
    """
    scalar = None
    for position, number in enumerate(operands):
        tensor = operator.input(position)
        if number == CONSTANT and tensor is not None:
            scalar = scalar_of(tensor)
    scale, zero_point = per_tensor(operator.outputs[0])
    alpha = float(operator.option("alpha", 0.0)) if operator.name == "LEAKY_RELU" else 0.0
    activation = operator.activation if operator.name in OF_TWO else 0
    return Elementwise(operator.name, operands, scale, zero_point, scalar, activation, alpha)


def scalar_of(tensor: Tensor) -> Scalar:
    """A constant int8 tensor of one element."""
    number = scalar_or_channels(tensor, 1)
    scale, zero_point = per_tensor(tensor)
    return Scalar(int(number[0]), scale, zero_point)


def joined(a: Program, b: Program) -> tuple[Program, int, int]:
    """Two programs on one input as one, what they share computed once; the numbers of their last values in it."""
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    moved = len(a) - shared

    def renumbered(operand: int) -> int:
        return operand + moved if operand > shared else operand

    rest = tuple(Elementwise(s.name, tuple(map(renumbered, s.operands)), s.scale, s.zero_point, s.constant,
                             s.activation, s.alpha) for s in b[shared:])
    return a + rest, len(a), renumbered(len(b))


def check_options(operator: Operator) -> None:
    """LEAKY_RELU without options has no slope."""
    require(operator.name != "LEAKY_RELU" or operator.options is not None, "the operator has no options", at=operator)
