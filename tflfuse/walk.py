"""The order in which the executor makes the rows of a chain (chain_schedule.h), as steps."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .chain import Link, Transpose, Value


@dataclass(frozen=True)
class Step:
    """A stage reads rows of its operands. done: that makes its row number `row`; else it only adds them up.

    reads: for each operand its value (outside tensors first, then the stages' results) and the rows.
    """

    stage: int
    row: int
    done: bool
    reads: tuple[tuple[int, range], ...]


def steps(inputs: Sequence[Value], links: Sequence[Link]) -> Iterator[Step]:
    """Every step until the last row of the last stage. links: with the copies."""
    count, last = len(inputs), len(links) - 1
    heights = [v.height for v in inputs] + [link.stage.out.height for link in links]
    made, consumed, waiting = [0] * len(links), [0] * len(links), [last] * len(links)

    def rows_of(stage: int, value: int) -> range:
        rows = links[stage].stage.rows
        if isinstance(links[stage].stage, Transpose):
            return range(heights[value])
        if rows.accumulates:
            return range(consumed[stage], consumed[stage] + 1)
        return range(rows.first(made[stage], heights[value]), rows.end(made[stage], heights[value]))

    current = last
    while made[last] < heights[-1]:
        link = links[current]
        reads = tuple((v, rows_of(current, v)) for v in link.reads)
        missing = next((v - count for v, rows in reads if v >= count and made[v - count] < rows.stop), None)
        if missing is not None:
            waiting[missing], current = current, missing
            continue
        done = not link.stage.rows.accumulates or consumed[current] + 1 >= heights[link.reads[0]]
        yield Step(current, made[current], done, reads)
        consumed[current] += 1
        if done:
            made[current] += 1
            current = current if current == last else waiting[current]
