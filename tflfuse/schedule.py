"""In which order a chain makes its rows, and how many rows of each value it must keep for that.

The last stage asks for the rows that its next row is made of; whoever must make one of those asks in turn. A value's
ring holds the rows from the first that a reader still wants to the one being written. The executor on the device does
the same: what `simulated` counts is exactly what it needs.

A value with one reader needs no simulation: while the reader is at row r, rows are written up to the end of window r.
A value with several readers depends on what lies between it and the stage in which all its ways meet again, and on
nothing else: only that part is simulated, once for every geometry.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class Rows(NamedTuple):
    """Which rows of its inputs a stage reads for output row r: span rows from r * stride - pad_top, inside the plane.

    A negative pad_top leaves out rows at the top.

    An accumulating stage reads all rows of its input one by one and makes a single row of them.
    """

    span: int = 1
    stride: int = 1
    pad_top: int = 0
    accumulates: bool = False

    def first(self, row: int, height: int) -> int:
        """The first input row that output rows from this one on still want, at most the input's height."""
        return min(max(row * self.stride - self.pad_top, 0), height)

    def end(self, row: int, height: int) -> int:
        """One beyond the last input row that this output row wants, at most the input's height."""
        return min(max(row * self.stride - self.pad_top + self.span, 0), height)


class Stop(NamedTuple):
    """One stage: the numbers of the values it reads, how it reads them, and how many rows it makes.

    Values are the outside tensors, then the outputs of the stages in order.
    """

    reads: tuple[int, ...]
    rows: Rows
    height: int


def ring_rows(outside: Sequence[int], stops: Sequence[Stop]) -> list[int]:
    """How many rows each stage's output must keep, at least one, 0 for the last stage's.

    outside: the outside tensors' heights. Every value but the last stage's output has a reader.
    """
    count = len(outside)
    heights = [*outside, *(s.height for s in stops)]
    readers: list[list[int]] = [[] for _ in heights]
    for number, stop in enumerate(stops):
        for value in stop.reads:
            readers[value].append(number)
    wanted = _wanted(count, heights, stops)
    rows = []
    for number, stop in enumerate(stops[:-1]):
        value = count + number
        if len(readers[value]) == 1:
            reader = stops[readers[value][0]]
            rows.append(_alone(reader.rows, stop.height, wanted[readers[value][0]]))
        else:
            rows.append(_shared(number, count, stops, readers, wanted))
    return [*rows, 0]


def _wanted(count: int, heights: list[int], stops: Sequence[Stop]) -> list[int]:
    """How many rows each stage makes: the last all of them, the others what is asked of them."""
    wanted = [0] * len(stops)
    wanted[-1] = stops[-1].height
    for number in range(len(stops) - 1, -1, -1):
        stop = stops[number]
        for value in stop.reads:
            if value >= count and wanted[number]:
                rows, height = stop.rows, heights[value]
                asked = height if rows.accumulates else rows.end(wanted[number] - 1, height)
                wanted[value - count] = max(wanted[value - count], asked)
    return wanted


@lru_cache(maxsize=1 << 14)
def _alone(rows: Rows, height: int, made: int) -> int:
    """The rows kept of a value of that height for its only reader, which makes so many rows."""
    if rows.accumulates:
        return 1
    most, before = 1, 0
    for row in range(made):
        end = rows.end(row, height)
        if end > before:
            most, before = max(most, end - min(rows.first(row, height), end - 1)), end
    return most


def _shared(number: int, count: int, stops: Sequence[Stop], readers: list[list[int]], wanted: list[int]) -> int:
    """The rows kept of stage `number`'s output, which several stages read."""
    place = {count + number: 0}  # values that depend on this one, with their numbers in the part to be simulated
    part = [Stop((), Rows(), stops[number].height)]
    made = [wanted[number]]
    furthest = max(readers[count + number])
    for later in range(number + 1, len(stops)):
        reads = tuple(place[v] for v in stops[later].reads if v in place)
        if not reads:
            continue
        part.append(stops[later]._replace(reads=reads))
        made.append(wanted[later])
        if later == furthest:
            break
        place[count + later] = len(part) - 1
        furthest = max([furthest, *readers[count + later]])
    return max(1, simulated((), tuple(part), made[-1])[0])  # 0, where padding is all that is read, would say: a tensor


@lru_cache(maxsize=1 << 14)
def simulated(outside: tuple[int, ...], stops: tuple[Stop, ...], last_rows: int) -> list[int]:
    """As `ring_rows`, by making the last stage's first last_rows rows step by step as the executor does."""
    count, last = len(outside), len(stops) - 1
    heights = [*outside, *(s.height for s in stops)]
    producers = [tuple(v - count for v in s.reads if v >= count) for s in stops]
    readers: list[list[int]] = [[] for _ in stops]
    for number, inner in enumerate(producers):
        for producer in inner:
            readers[producer].append(number)
    made, consumed, parent = ([0] * len(stops) for _ in range(3))
    most = [1] * last + [0]

    def freed(reader: int, height: int) -> int:
        if stops[reader].rows.accumulates:
            return consumed[reader]
        return height if made[reader] == stops[reader].height else stops[reader].rows.first(made[reader], height)

    current = last
    while made[last] < last_rows:
        rows = stops[current].rows
        for producer in producers[current]:
            height = stops[producer].height
            end = consumed[current] + 1 if rows.accumulates else rows.end(made[current], height)
            if made[producer] < end:
                parent[producer], current = current, producer
                break
        else:
            if rows.accumulates:
                consumed[current] += 1
                if consumed[current] < heights[stops[current].reads[0]]:
                    continue
            row = made[current]
            made[current] += 1
            if current != last:
                free = min(freed(reader, stops[current].height) for reader in readers[current])
                most[current] = max(most[current], row + 1 - min(free, row))
                current = parent[current]
    return most
