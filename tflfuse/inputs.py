"""Inputs to try a model with: random ones, and the ends and the middle of what an input can hold.

| input | random | minimum, maximum | zero |
|---|---|---|---|
| int8, uint8, int16, uint16 | uniform over the type | the type's | the zero point, 0 without one |
| int32 and wider, with a scale | uniform over the int16 range | of that range | the zero point |
| int32 and wider, without a scale | 0 and 1 | 0, 1 | 0 |
| float that goes into a QUANTIZE | uniform over what its output can hold | of that range | 0.0 |
| any other float | standard normal | -1, +1 | 0.0 |
| bool | both | false, true | false |
| constant | its data | its data | its data |

Wide integers without a scale may be indices, sizes or loop counts: a large one would make a valid model read outside
its tensors, so they stay at 0 and 1.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .ir import Array, Subgraph, Tensor
from .pattern import require

NARROW = 2  # bytes of the widest integers that are tried over all of their range
WIDE = np.iinfo(np.int16)


@dataclass(frozen=True)
class Span:
    """The numbers an input takes: low to high, zero between them, and how random ones are drawn."""

    low: float
    high: float
    zero: float
    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]


def tries(graph: Subgraph, runs: int, seed: int) -> list[list[Array]]:
    """Arrays for each graph input: `runs` times random, then all at their minimum, maximum and zero.

    The same seed gives the same arrays. Refused for an input of a type that has no real numbers.
    """
    rng = np.random.default_rng(seed)
    spans = [span(graph, t) for t in graph.inputs]
    drawn = [[given(t, s.draw(rng, t.shape)) for t, s in zip(graph.inputs, spans, strict=True)] for _ in range(runs)]
    ends = [[given(t, np.full(t.shape, getattr(s, end))) for t, s in zip(graph.inputs, spans, strict=True)]
            for end in ("low", "high", "zero")]
    return drawn + ends


def given(tensor: Tensor, values: Array) -> Array:
    """The values as the tensor's type; a constant that is a graph input keeps its data."""
    return tensor.array() if tensor.is_constant else np.asarray(values).astype(tensor.dtype)


def span(graph: Subgraph, tensor: Tensor) -> Span:
    """What an input takes, by its type, its scale and what reads it."""
    kind, width = tensor.dtype.kind, tensor.dtype.itemsize
    if kind == "b":
        return integers(0, 1, 0)
    if kind == "f":
        return real(graph, tensor)
    require(kind in "iu", f"{tensor.label} holds {tensor.dtype} numbers", at=tensor)
    if width > NARROW and not tensor.is_quantized:
        return integers(0, 1, 0)
    limits = np.iinfo(tensor.dtype)
    low, high = (limits.min, limits.max) if width <= NARROW else (max(limits.min, WIDE.min), WIDE.max)
    return integers(int(low), int(high), tensor.zero_point if tensor.is_quantized else 0)


def integers(low: int, high: int, zero: int) -> Span:
    return Span(low, high, min(max(zero, low), high),
                lambda rng, shape: np.asarray(rng.integers(low, high, shape, np.int64, endpoint=True)))


def real(graph: Subgraph, tensor: Tensor) -> Span:
    for reader in graph.operators:
        if reader.name == "QUANTIZE" and reader.inputs[0] is tensor and reader.outputs[0].is_quantized:
            low, high = representable(reader.outputs[0])
            return Span(low, high, 0.0, lambda rng, shape: np.asarray(rng.uniform(low, high, shape)))
    return Span(-1.0, 1.0, 0.0, lambda rng, shape: np.asarray(rng.standard_normal(shape)))


def representable(tensor: Tensor) -> tuple[float, float]:
    """The least and the largest real number that a tensor quantized per tensor can hold."""
    limits = np.iinfo(tensor.dtype)
    low, high = ((int(q) - tensor.zero_point) * tensor.scale for q in (limits.min, limits.max))
    return low, high
