"""For tests: one input through everything, with its bounds."""
from __future__ import annotations

import numpy as np

from tflfuse.ir import Array

from .limits import bounded
from .target import Reached, attack


def attacked(data: bytes) -> Reached:
    """How far it came; whatever else happens is an exception."""
    with bounded(len(data)):
        return attack(data)


def numbers(*values: int) -> Array:
    """int32 [n]"""
    return np.array(values, np.int32)
