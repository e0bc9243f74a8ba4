"""Where TFLM's own planner puts buffers, around those whose offsets were planned before (greedy_memory_planner.cc)."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from .lifetimes import Request

ONLINE = -1


def greedy(requests: Sequence[Request], planned: Sequence[int]) -> list[int]:
    """Offsets in bytes. planned: for each request its offset, ONLINE where the planner is to choose.

    Those with an offset come first, in order; then the others by size, the largest first and of equal ones the last,
    each in the first gap between what lives at the same time.
    """
    online = [i for i, offset in enumerate(planned) if offset == ONLINE]
    order = [i for i, offset in enumerate(planned) if offset != ONLINE]
    order += sorted(reversed(online), key=lambda i: -requests[i].size)
    offsets = list(planned)
    placed: list[int] = []  # by offset
    starts: list[int] = []
    for i in order:
        if offsets[i] == ONLINE:
            offsets[i] = first_gap(requests, offsets, placed, i)
        at = bisect_right(starts, offsets[i])
        placed.insert(at, i)
        starts.insert(at, offsets[i])
    return offsets


def first_gap(requests: Sequence[Request], offsets: Sequence[int], placed: Sequence[int], wanted: int) -> int:
    candidate = 0
    for other in placed:
        if requests[other].meets(requests[wanted]):
            if offsets[other] - candidate >= requests[wanted].size:
                break
            candidate = max(candidate, offsets[other] + requests[other].size)
    return candidate


def head(requests: Sequence[Request], offsets: Sequence[int]) -> int:
    """Bytes of the arena's head."""
    return max((offset + r.size for r, offset in zip(requests, offsets, strict=True)), default=0)
