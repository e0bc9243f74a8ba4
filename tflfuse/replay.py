"""Proof by replay: a chain run row by row with addresses, where each byte that it reads must still be the input's.

This knows nothing of how distances are computed. It makes rows in the order in which the executor makes them
(chain_schedule.h), and remembers how far the output has been written.
"""
from __future__ import annotations

from collections.abc import Sequence

from .chain import Link, Transpose, Value


def reads_what_it_wrote(inputs: Sequence[Value], links: Sequence[Link], above: Sequence[int | None]) -> str | None:
    """None where no stage reads a byte of an outside tensor that the output has overwritten; else what went wrong.

    links: with the copies. above: for each outside tensor its address minus the output's, None where it is nowhere
    near. A row of the output counts as written from when its stage begins to make it, unless it only adds up.
    """
    count, last = len(inputs), len(links) - 1
    heights = [v.height for v in inputs] + [link.stage.out.height for link in links]
    out_pitch = links[last].stage.out.width * links[last].stage.out.channels
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
        missing = next((v - count for v in link.reads if v >= count and made[v - count] < rows_of(current, v).stop),
                       None)
        if missing is not None:
            waiting[missing], current = current, missing
            continue
        sums_up = link.stage.rows.accumulates and consumed[current] + 1 < heights[link.reads[0]]
        written = (made[last] + (current == last and not sums_up)) * out_pitch
        for value in (v for v in link.reads if v < count):
            delta, pitch = above[value], inputs[value].width * inputs[value].channels
            for row in rows_of(current, value) if delta is not None else ():
                begin = (delta or 0) + row * pitch
                if begin < written and begin + pitch > 0:
                    return f"stage {current} reads row {row} of input {value} when {written} bytes are written"
        consumed[current] += 1
        if sums_up:
            continue
        made[current] += 1
        if current != last:
            current = waiting[current]
    return None
