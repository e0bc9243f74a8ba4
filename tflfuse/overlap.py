"""How far an operator's output may lie over an input that nobody reads again.

A fused operator writes its output row by row, from the lowest address up, while rows of its inputs die in the same
order. The output may lie over an input if it begins at least a distance below it: then no row is written before the
rows of the input that lie there have been read for the last time. The distance follows from the row schedule; it is 0
where rows die as fast as they are written, and most of the output's size where the first row is read until the end.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tflite import TensorType

from .chain import Link, Transpose, Value
from .ir import Array, Operator, Tensor
from .layout import laid_out
from .lifetimes import aligned
from .packing import CUSTOM, chain_of

NARROWER = {TensorType.FLOAT32: (TensorType.INT8, TensorType.INT16), TensorType.INT16: (TensorType.INT8,),
            TensorType.INT32: (TensorType.INT8, TensorType.INT16)}
"""The types of QUANTIZE whose output is smaller than its input."""


def distances_of(operator: Operator) -> dict[Tensor, int]:
    """The inputs that the output may lie over, once they are not needed any more, each with its distance in bytes.

    That is how far the output must begin below the input at least, a multiple of 16.
    """
    source = operator.input(0)
    if source is not None and is_narrowing(operator):
        return {source: 0}
    if operator.name != CUSTOM:
        return {}
    chain = chain_of(operator)
    inputs = [t for t in operator.inputs[:-1] if t is not None]
    found: dict[Tensor, int] = {}
    for tensor, distance in zip(inputs, distances(chain.inputs, laid_out(chain).links), strict=True):
        found[tensor] = max(found.get(tensor, 0), distance)
    return found


def is_narrowing(operator: Operator) -> bool:
    """It reads numbers one by one and writes each in fewer bytes: nothing is written before it was read."""
    source = operator.input(0)
    return (operator.name == "QUANTIZE" and source is not None
            and operator.outputs[0].type in NARROWER.get(source.type, ()))


def distances(inputs: Sequence[Value], links: Sequence[Link]) -> list[int]:
    """For each outside tensor of a chain the distance in bytes, a multiple of 16. links: with the copies."""
    out = links[-1].stage.out
    written = np.arange(1, out.height + 1, dtype=np.int64) * (out.width * out.channels)
    found = []
    for value, rows in zip(inputs, _rows_read(inputs, links), strict=True):
        below = np.where(rows < value.height, written - rows * (value.width * value.channels), 0)
        found.append(aligned(max(int(below.max()), 0)))
    return found


def _rows_read(inputs: Sequence[Value], links: Sequence[Link]) -> list[Array]:
    """For each outside tensor, int64 [rows of the output]: the first row of it that somebody still reads when that row
    of the output is begun, its height where nobody does. What the last stage reads for that very row counts.
    """
    count, heights = len(inputs), [v.height for v in inputs] + [link.stage.out.height for link in links]
    row = np.arange(heights[-1], dtype=np.int64)
    made = [np.zeros_like(row) for _ in links]
    made[-1] = row
    first = [np.full_like(row, v.height) for v in inputs]
    for number in range(len(links) - 1, -1, -1):
        link = links[number]
        is_last = number == len(links) - 1
        rows = link.stage.rows
        for value in link.reads:
            height = heights[value]
            if value >= count:
                begun = made[number] + is_last
                end = np.clip((begun - 1) * rows.stride - rows.pad_top + rows.span, 0, height)
                asked = np.where(begun > 0, height if rows.accumulates else end, 0)
                made[value - count] = np.maximum(made[value - count], asked)
                continue
            if isinstance(link.stage, Transpose):
                still = np.zeros_like(row)
            elif rows.accumulates:
                still = np.full_like(row, height - 1) if is_last else np.where(made[number] > 0, height, 0)
            else:
                still = np.clip(made[number] * rows.stride - rows.pad_top, 0, height)
            if not is_last:  # it is through when it has made all that will ever be asked of it
                still = np.where(made[number] == made[number][-1], height, still)
            first[value] = np.minimum(first[value], still)
    return first
