"""Proof by replay: a chain run row by row with addresses, where each byte that it reads must still be the input's.

This knows nothing of how distances are computed. It makes rows in the order in which the executor makes them, and
remembers how far the output has been written.
"""
from __future__ import annotations

from collections.abc import Sequence

from .chain import Link, Value
from .walk import steps


def reads_what_it_wrote(inputs: Sequence[Value], links: Sequence[Link], above: Sequence[int | None]) -> str | None:
    """None where no stage reads a byte of an outside tensor that the output has overwritten; else what went wrong.

    links: with the copies. above: for each outside tensor its address minus the output's, None where it is nowhere
    near. A row of the output counts as written from when its stage begins to make it, unless it only adds up.
    """
    last = len(links) - 1
    out_pitch = links[last].stage.out.width * links[last].stage.out.channels
    written = 0
    for step in steps(inputs, links):
        if step.stage == last and step.done:
            written = (step.row + 1) * out_pitch
        for value, rows in step.reads:
            distance = above[value] if value < len(inputs) else None
            if distance is None:
                continue
            pitch = inputs[value].width * inputs[value].channels
            for row in rows:
                begin = distance + row * pitch
                if begin < written and begin + pitch > 0:
                    return f"stage {step.stage} reads row {row} of input {value} when {written} bytes are written"
    return None
