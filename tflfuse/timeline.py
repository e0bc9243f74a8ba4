"""The arena over time: which buffer lies where while which operator runs, as a file says it."""
from __future__ import annotations

from dataclasses import dataclass

from . import memory
from .arena import Needs, needs
from .errors import BadModel, Refused
from .ir import Model, Operator
from .memory import MemoryPlan, Place
from .memory_report import name_of

INPUT, OUTPUT, INNER, SCRATCH = "input", "output", "inner", "scratch"


@dataclass(frozen=True)
class Band:
    """A buffer. kind: one of the four above. offset, size: bytes. first, last: columns in which it is needed.

    over: the names of the buffers whose bytes it takes over while they are still needed.
    """

    name: str
    kind: str
    offset: int
    size: int
    first: int
    last: int
    over: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True)
class Timeline:
    """columns: what runs, in order; None for the entry of a subgraph. bands: in the order in which they are made.

    needs: of the arena. peak: the column at which its head is fullest, None without buffers.
    """

    columns: tuple[Operator | None, ...]
    bands: tuple[Band, ...]
    needs: Needs
    peak: int | None

    def at(self, column: int) -> list[Band]:
        """What is needed then, the largest first."""
        return sorted((b for b in self.bands if b.first <= column <= b.last), key=lambda b: -b.size)


def timeline(model: Model) -> Timeline | str:
    """Of a model as it is in its file; the reason where sizes are not known."""
    try:
        planned = memory.of_file(model)
        return drawn(model, planned, needs(model, planned))
    except (BadModel, Refused) as error:
        return str(error)


def drawn(model: Model, planned: MemoryPlan, needed: Needs) -> Timeline:
    columns = columns_of(planned)
    inputs = frozenset(t for g in model.subgraphs for t in g.inputs)
    outputs = memory.results(model)
    bands = []
    for place in sorted(planned.places, key=lambda p: (p.first, p.offset)):
        if place.last < 0:
            continue
        kind = (SCRATCH if place.tensor is None else INPUT if place.tensor in inputs
                else OUTPUT if place.tensor in outputs else INNER)
        first, last = max(place.first - 1, 0), max(place.last - 1, 0)
        bands.append(Band(name_of(place), kind, place.offset, place.size, first, last, covered(place, planned.places)))
    return Timeline(columns, tuple(bands), needed, fullest(bands))


def columns_of(planned: MemoryPlan) -> tuple[Operator | None, ...]:
    """Scope 0, in which the inputs are written, has none."""
    at = {scope: operator for operator, scope in planned.scopes.items()}
    return tuple(at.get(scope) for scope in range(1, max([*at, *(p.last for p in planned.places)], default=0) + 1))


def covered(place: Place, others: tuple[Place, ...]) -> tuple[str, ...]:
    """What was there before and is still needed when this begins."""
    return tuple(name_of(o) for o in others if o.first < place.first <= o.last
                 and o.offset < place.offset + place.size and place.offset < o.offset + o.size)


def fullest(bands: list[Band]) -> int | None:
    """As memory_report tells it: the first column that reaches highest, and of such the one that holds most."""
    def load(column: int) -> tuple[int, int]:
        held = [b for b in bands if b.first <= column <= b.last]
        return max(b.end for b in held), sum(b.size for b in held)

    return max(sorted({b.first for b in bands}), key=load, default=None)
