"""That a memory plan is right: whatever shares bytes at one time may do so, shown operator by operator.

This does not look at how the plan was made. A fused operator's overlap is proved by replaying its rows with addresses.
"""
from __future__ import annotations

from collections.abc import Iterator

from .ir import Model, Operator, Tensor
from .layout import laid_out
from .memory import SHARES_PLACE, MemoryPlan, Place, results
from .overlap import is_narrowing
from .packing import CUSTOM, chain_of
from .replay import reads_what_it_wrote


class WrongPlan(AssertionError):
    """A plan that would destroy values; it must never be written."""


def check(model: Model, made: MemoryPlan) -> None:
    """Raise WrongPlan where two buffers disturb each other."""
    kept = results(model)
    producers = {t: o for o in model.subgraphs[0].operators for t in o.outputs}
    for a, b in overlapping(made):
        early, late = (a, b) if a.first <= b.first else (b, a)
        wrong: str | None = "both are needed at the same time"
        if early.tensor is not None and late.tensor is not None:
            if early.offset == late.offset and origin(early.tensor, producers) is origin(late.tensor, producers):
                continue
            if early.last == late.first and early.tensor not in kept and late.tensor in producers:
                wrong = what_is_wrong(producers[late.tensor], early, late)
        if wrong is not None:
            raise WrongPlan(f"{label(early)} and {label(late)} overlap: {wrong}")


def overlapping(made: MemoryPlan) -> Iterator[tuple[Place, Place]]:
    """The pairs that share bytes while both are needed."""
    below: list[Place] = []
    for place in sorted((p for p in made.places if p.size), key=lambda p: p.offset):
        below = [p for p in below if p.offset + p.size > place.offset]
        yield from ((p, place) for p in below if p.first <= place.last and place.first <= p.last)
        below.append(place)


def origin(tensor: Tensor, producers: dict[Tensor, Operator]) -> Tensor:
    """The tensor whose bytes this one holds."""
    while (producer := producers.get(tensor)) is not None and producer.name in SHARES_PLACE:
        source = producer.input(0)
        if source is None:
            break
        tensor = source
    return tensor


def what_is_wrong(operator: Operator, early: Place, late: Place) -> str | None:
    """None where the operator may write its output, late, over its input, early."""
    above = early.offset - late.offset
    if is_narrowing(operator) and early.tensor is operator.inputs[0] and above >= 0:
        return None
    if operator.name != CUSTOM:
        return f"{operator.label} does not read an input before it writes there"
    chain, inputs = chain_of(operator), operator.inputs[:-1]
    return reads_what_it_wrote(chain.inputs, laid_out(chain).links,
                               [above if t is early.tensor else None for t in inputs])


def label(place: Place) -> str:
    if place.tensor is not None:
        return place.tensor.label
    return f"scratch memory of {place.operator.label}" if place.operator is not None else "scratch memory"
