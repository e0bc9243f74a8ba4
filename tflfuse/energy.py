"""What moving bytes through SRAM costs, by published figures: an estimate, good for comparing before with after.

M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014, pp. 10-14, gives picojoules for an
access of 64 bits to caches of three sizes, in 45 nm at 0.9 V. Sizes in between follow a power law through their
neighbours. Microcontrollers are made in older processes, access fewer bits at once, and have other memories: their
joules differ, the ratio tells more.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from .traffic import Flow

SOURCE = ("M. Horowitz, “Computing’s energy problem (and what we can do about it)”, IEEE International Solid-State "
          "Circuits Conference (ISSCC), 2014, pp. 10–14")
PICOJOULES = {8 << 10: 10.0, 32 << 10: 20.0, 1 << 20: 100.0}
"""For 64 bits, by the size of the memory in bytes."""
ACCESS = 8
"""Bytes."""
BANK, LARGE = 32 << 10, 1 << 20

Rows = Sequence[tuple[int, int]]
"""For each fused operator the bytes that pass through its rows, and the bytes that these rows take."""


@dataclass(frozen=True)
class Estimate:
    """One kind of memory. before, after: microjoules of one inference."""

    memory: str
    before: float
    after: float


def estimates(before: Flow, after: Flow, rows_before: Rows, rows_after: Rows) -> tuple[Estimate, ...]:
    """All bytes at one price; and where rows lie nearer to the processor than tensors."""
    flat = [1e-6 * per_byte(BANK) * flow.total for flow in (before, after)]
    near = [1e-6 * (per_byte(LARGE) * flow.tensors + sum(moved * per_byte(size) for moved, size in rows))
            for flow, rows in ((before, rows_before), (after, rows_after))]
    return (Estimate("One SRAM in banks of 32 KB", *flat),
            Estimate("1 MB of SRAM for tensors; the rows of each fused operator in a cache or tightly coupled memory "
                     "just as large as they are", *near))


def per_byte(size: int) -> float:
    """Picojoules, for a memory of that many bytes; below and above the published sizes those of the nearest one."""
    sizes = list(PICOJOULES)
    size = min(max(size, sizes[0]), sizes[-1])
    low, high = next((a, b) for a, b in zip(sizes, sizes[1:]) if size <= b)
    power = log(PICOJOULES[high] / PICOJOULES[low]) / log(high / low)
    return float(PICOJOULES[low] * (size / low) ** power / ACCESS)
