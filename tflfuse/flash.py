"""How much longer a file gets when a run of operators is fused."""
from __future__ import annotations

from .chain import Add, Convolution, Multiply, Table
from .chain_codec import Header, StageRecord, ValueRecord
from .layout import Layout
from .packing import STEP
from .stages import Run

TENSOR, OPERATOR, PER_SCALE = 72, 64, 12
"""Bytes in a file, roughly: a tensor's tables without its name, an operator's, a scale and its zero point."""


def growth(run: Run, layout: Layout) -> int:
    """Bytes that the file gains at most; negative where it gets shorter.

    Constants that other runs hold too are counted as if they were stored for each.
    """
    return fused_bytes(layout) - builtin_bytes(run)


def fused_bytes(layout: Layout) -> int:
    values, stages = len(layout.places), [link.stage for link in layout.links]
    total = OPERATOR + Header.SIZE + values * ValueRecord.SIZE + len(stages) * StageRecord.SIZE
    for stage in stages:
        if isinstance(stage, Convolution):
            total += stage.weights.nbytes + stage.bias.nbytes + stage.multipliers.nbytes + stage.shifts.nbytes
        elif isinstance(stage, Table):
            total += stage.table.nbytes + 4 + STEP.size * len(stage.program)
        elif isinstance(stage, Multiply) or isinstance(stage, Add) and stage.constant is not None:
            total += 4 * stage.out.channels
    return total


def builtin_bytes(run: Run) -> int:
    """What the operators and the tensors that only they have take in the file as it is."""
    gone = [t for o in run.operators for t in (*o.inputs, *o.outputs)
            if t is not None and (t.is_constant or t in run.inner)]
    total = OPERATOR * len(run.operators)
    for tensor in dict.fromkeys(gone):
        scales = tensor.quantization.scale if tensor.quantization is not None else None
        total += len(tensor.buffer) + len(tensor.name or b"")
        total += TENSOR + PER_SCALE * (0 if scales is None else len(scales))
    return total
