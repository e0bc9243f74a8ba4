"""gemmlowp's logistic and tanh on 32-bit fixed point numbers, bit for bit, in numpy.

A number with n integer bits is an integer of 32 bits in steps of 2 ** (n - 31). Formulas of gemmlowp's fixedpoint.h:
exp by a Taylor polynomial on [-1/4, 0) and one factor exp(-2 ** k) for each binary digit of what is left; the
reciprocal by three Newton steps from 48/17 - 32/17 d.
"""
from __future__ import annotations

import numpy as np

from .ir import Array
from .numerics import INT32_MAX, INT32_MIN, rounding_divide_by_pot
from .numerics import saturating_rounding_doubling_high_mul as times

EXP_OF_MINUS_EIGHTH = 1895147668  # exp(-1/8), 0 integer bits
THIRD = 715827883  # 1/3
EXP_OF_MINUS_POWER = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401, 4: 242}
"""exp(-2 ** k) by k, 0 integer bits."""
NEWTON_START, NEWTON_SLOPE = 1515870810, -1010580540  # 48/17 and -32/17, 2 integer bits
ONE_OF_2_BITS = 1 << 29


def logistic(a: Array, integer_bits: int = 4) -> Array:
    """1 / (1 + exp(-a)) with 0 integer bits."""
    positive = _saturating_left(_reciprocal_of_half_sum(_exp_of_negative(-np.abs(a), integer_bits)), 1)
    return np.where(a == 0, 1 << 30, np.where(a > 0, positive, INT32_MAX - positive))


def tanh(a: Array, integer_bits: int = 4) -> Array:
    """tanh(a) with 0 integer bits, as (1 - exp(-2|a|)) / (1 + exp(-2|a|)) with a's sign."""
    doubled = _exp_of_negative(-np.abs(a), integer_bits + 1)  # one more integer bit doubles the number
    size = _saturating_left(_reciprocal_of_half_sum(doubled) - ONE_OF_2_BITS, 2)
    return np.where(a == 0, 0, np.where(a < 0, -size, size))


def _exp_of_negative(a: Array, integer_bits: int) -> Array:
    """exp(a) for a <= 0, 0 integer bits."""
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    part = (a & (quarter - 1)) - quarter  # in [-1/4, 0)
    result = _exp_near_zero(_saturating_left(part, integer_bits))
    left = part - a
    for power, factor in EXP_OF_MINUS_POWER.items():
        if power < integer_bits:
            result = np.where(left & (1 << (fraction_bits + power)), times(result, factor), result)
    return np.where(a == 0, INT32_MAX, result)


def _exp_near_zero(a: Array) -> Array:
    """exp(a) for a in [-1/4, 0): around -1/8, to the fourth power."""
    x = a + (1 << 28)
    x2 = times(x, x)
    x3, x4 = times(x2, x), times(x2, x2)
    higher = rounding_divide_by_pot(times(rounding_divide_by_pot(x4, 2) + x3, THIRD) + x2, 1)
    return EXP_OF_MINUS_EIGHTH + times(EXP_OF_MINUS_EIGHTH, x + higher)


def _reciprocal_of_half_sum(a: Array) -> Array:
    """2 / (1 + a) for a in [0, 1], 2 integer bits."""
    half_sum = (a + INT32_MAX + 1) // 2
    x = NEWTON_START + times(half_sum, NEWTON_SLOPE)
    for _ in range(3):
        x = x + _saturating_left(times(x, ONE_OF_2_BITS - times(half_sum, x)), 2)
    return x


def _saturating_left(x: Array, bits: int) -> Array:
    """x * 2 ** bits, held within 32 bits."""
    limit = (1 << (31 - bits)) - 1
    return np.where(x > limit, INT32_MAX, np.where(x < -limit, INT32_MIN, x << bits))
