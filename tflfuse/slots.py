"""Which rings of one row can lie at the same place.

A row that its only reader uses up as soon as it is made needs its memory for that moment alone: whoever makes it was
asked by the reader, and the reader goes on at once. All such rows of a chain share a few slots. Two of them need
different slots only where a stage reads one to make the other.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from .chain import Link


def used_up_at_once(value: int, links: Sequence[Link], count: int, readers: Sequence[Sequence[int]]) -> bool:
    """No row of the value is needed once its reader has made one row, and the reader asks for nothing else after it.

    count: of outside tensors. readers: the stages that read each value.
    """
    if len(readers[value]) != 1:
        return False
    link = links[readers[value][0]]
    rows = link.stage.rows
    at_once = rows.accumulates or rows.span <= rows.stride or link.stage.out.height == 1
    return at_once and all(v < count for v in link.reads[link.reads.index(value) + 1:])


def slots(sizes: Mapping[int, int], apart: Sequence[tuple[int, int]]) -> tuple[dict[int, int], list[int]]:
    """The slot of each value, and the slots' sizes in bytes. apart: pairs of values that need different slots."""
    of: dict[int, int] = {}
    room: list[int] = []
    for value in sorted(sizes, key=lambda v: (-sizes[v], v)):
        taken = {of[other] for pair in apart if value in pair for other in pair if other in of}
        of[value] = next((slot for slot in range(len(room)) if slot not in taken), len(room))
        if of[value] == len(room):
            room.append(sizes[value])
    return of, room
