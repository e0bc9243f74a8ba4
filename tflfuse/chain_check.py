"""That a chain read from a file makes sense: what the kernels check before they run one (chain_records.cc)."""
from __future__ import annotations

import math
from collections.abc import Sequence

from .chain import (Add, Chain, Depthwise, GlobalAverage, Link, Mean, Multiply, Pad, Pool, Slice, Stage, Table,
                    Transpose, Value)
from .errors import BadModel, Refused
from .ir import NAME_OF_ACTIVATION, Model, Operator
from .layout import laid_out
from .numerics import INT8_MAX, INT8_MIN
from .packing import CUSTOM, chain_of
from .tables import CONSTANT, Scalar


def check_fused(model: Model) -> None:
    """BadModel where a fused operator of a file is none; whoever comes later can count on its chain."""
    for operator in model.operators:
        if operator.name == CUSTOM:
            check_operator(operator)


def check_operator(operator: Operator) -> None:
    chain = chain_of(operator)
    try:
        wrong = what_is_wrong(chain)
        if wrong is None:
            laid_out(chain)
    except Refused as refused:
        wrong = str(refused)
    if wrong is not None:
        raise BadModel(f"{operator.label} is no chain: {wrong}")
    for tensor, value in zip((*operator.inputs[:-1], operator.outputs[0]), (*chain.inputs, chain.output), strict=True):
        if tensor is not None and tensor.size != value.size:
            raise BadModel(f"{operator.label}: its options tell of {list(value.plane)}, {tensor.label} is another size")


def what_is_wrong(chain: Chain) -> str | None:
    """One clause; None where every stage can compute its output from what it reads."""
    if not chain.inputs or not chain.links:
        return "it has no inputs or no stages"
    for value in chain.values:
        if min(value.plane) < 1 or not (math.isfinite(value.scale) and value.scale > 0):
            return f"a value has the plane {list(value.plane)} and the scale {value.scale}"
    for number, link in enumerate(chain.links):
        if any(read >= len(chain.inputs) + number for read in link.reads):
            return "a stage reads what a later one makes"
        wrong = what_does_not_fit(link, [chain.values[v] for v in link.reads], link.reads[0] < len(chain.inputs))
        if wrong is not None:
            return wrong
    return None


def what_does_not_fit(link: Link, sources: Sequence[Value], outside: bool) -> str | None:
    """outside: the stage reads a tensor, not what another stage makes."""
    stage, source, out = link.stage, sources[0], link.stage.out
    name = type(stage).__name__
    if len(sources) != (2 if isinstance(stage, Add) and stage.constant is None else 1):
        return f"a stage {name} reads {len(sources)} values"
    if not plane_fits(stage, sources, outside):
        return f"a stage {name} makes {list(out.plane)} of {list(source.plane)}"
    if isinstance(stage, Table):
        for number, step in enumerate(stage.program):
            if any(o != CONSTANT and not 0 <= o <= number for o in step.operands):
                return "a table's operator reads what a later one makes"
            constant = step.constant or Scalar(0, 1.0, 0)
            if not all(math.isfinite(scale) and scale > 0 for scale in (step.scale, constant.scale)):
                return f"a table's operator has the scales {step.scale} and {constant.scale}"
            if not all(INT8_MIN <= n <= INT8_MAX for n in (step.zero_point, constant.q, constant.zero_point)):
                return "a table's operator has numbers that are not int8"
            if step.activation not in NAME_OF_ACTIVATION or not math.isfinite(step.alpha):
                return f"a table's operator has the activation {step.activation} and the slope {step.alpha}"
    return None


def plane_fits(stage: Stage, sources: Sequence[Value], outside: bool) -> bool:
    source, out = sources[0], stage.out
    if isinstance(stage, Add | Multiply | Table):
        return all(s.plane == out.plane for s in sources)
    if isinstance(stage, Mean | GlobalAverage):
        return out.plane == (1, 1, source.channels)
    if isinstance(stage, Pool):
        return source.channels == out.channels and stage.window.dilation_h == stage.window.dilation_w == 1
    if isinstance(stage, Depthwise):
        return out.channels % source.channels == 0
    if isinstance(stage, Pad | Slice):
        small, large = (source, out) if isinstance(stage, Pad) else (out, source)
        before = stage.top, stage.left, stage.front
        return all(b + s <= w for b, s, w in zip(before, small.plane, large.plane, strict=True))
    if isinstance(stage, Transpose):
        return outside and out.plane == (source.width, source.channels, source.height)
    return True
