"""An order of operators in which the arena holds as little as possible at its fullest.

The file's order is one of many where the graph has branches. What the arena holds depends on the set of operators that
have run, not on their order; the search goes through such sets, the ones that were reached with the least memory first,
and ends with the first complete one: no order needs less (minimax shortest path).
"""
from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from .errors import Refused
from .ir import Operator, Tensor
from .lifetimes import aligned, size_of
from .plan import EFFECTS, View

MOST_STATES = 20_000
"""Sets of operators looked at before the search gives up."""

MOST_TRIED = 300_000
"""Operators tried after those sets: of 300 branches side by side, each set would have hundreds that may run next."""


class _Graph:
    """size, readers: of the tensors by number; readers as a bit for each operator, one more for who reads the results.
    work: for each operator those that must have run before, as bits, the tensors it makes, and those it touches.
    begin: bytes held before the first.
    """

    def __init__(self, view: View) -> None:
        operators = view.graph.operators
        self.count = len(operators)
        number = {o: k for k, o in enumerate(operators)}
        tensors: dict[Tensor, int] = {t: k for k, t in enumerate(dict.fromkeys(
            t for o in operators for t in (*o.inputs, *o.outputs) if t is not None and not t.is_constant))}
        self.size = [aligned(size_of(t)) for t in tensors]
        self.readers = [0] * len(tensors)
        keeps = 1 << self.count
        for operator, k in number.items():
            for tensor in operator.inputs:
                if tensor in tensors:
                    self.readers[tensors[tensor]] |= 1 << k
        for tensor in view.results:
            if tensor in tensors:
                self.readers[tensors[tensor]] |= keeps
        self.begin = sum(self.size[tensors[t]] for t in view.graph.inputs if t in tensors)
        self.work = []
        for operator in operators:
            read = {tensors[t] for t in operator.inputs if t in tensors}
            made = {tensors[t] for t in operator.outputs if t in tensors}
            before = sum(1 << number[p] for p in {view.producers[t] for t in operator.inputs if t in view.producers})
            self.work.append((before, tuple(sorted(made)), tuple(sorted(read | made))))

    def run(self, done: int, held: int, k: int) -> tuple[int, int]:
        """Bytes held while operator k runs after those in `done`, and bytes held when it is done too."""
        _, made, touched = self.work[k]
        during = held + sum(self.size[t] for t in made)
        after = done | 1 << k
        return during, during - sum(self.size[t] for t in touched if not self.readers[t] & ~after)


def least_order(view: View, graphs: int = 1) -> list[Operator] | None:
    """The operators in an order whose fullest moment is the least full; None where the file's order is one already,
    where operators have effects beside their outputs, where a size is not known, or where it would take too long.

    graphs: subgraphs among which the time is divided.
    """
    operators = view.graph.operators
    if any(o.name in EFFECTS for o in operators) or any(t.is_variable for t in view.graph.tensors):
        return None
    try:
        graph = _Graph(view)
    except Refused:  # the size of a tensor is not known
        return None
    now = fullest(graph, range(graph.count))
    complete = (1 << graph.count) - 1
    heap = [(0, 0, 0, graph.begin, -1, 0)]  # peak, operators left, done, held, the last operator, done before it
    came: dict[int, tuple[int, int]] = {}
    tried = 0
    while heap and len(came) < MOST_STATES // graphs and tried < MOST_TRIED // graphs:
        peak, _, done, held, last, before = heappop(heap)
        if peak >= now:
            return None
        if done in came:
            continue
        came[done] = last, before
        if done == complete:
            return [operators[k] for k in _path(came, complete)]
        following = _next(graph, done, held, peak)
        tried += len(following)
        for k, during, then in following:
            after = done | 1 << k
            if after not in came:
                heappush(heap, (max(peak, during), graph.count - after.bit_count(), after, then, k, done))
    return None


def _next(graph: _Graph, done: int, held: int, peak: int) -> list[tuple[int, int, int]]:
    """What may run next. One that needs no more than was needed before and leaves no more than there was may as well
    run at once: whatever the others do, they do with no less room after it."""
    ready: list[tuple[int, int, int]] = []
    for k, (before, _, _) in enumerate(graph.work):
        if not done >> k & 1 and not before & ~done:
            during, then = graph.run(done, held, k)
            if during <= peak and then <= held:
                return [(k, during, then)]
            ready.append((k, during, then))
    return ready


def _path(came: dict[int, tuple[int, int]], done: int) -> list[int]:
    path: list[int] = []
    while done:
        last, done = came[done]
        path.append(last)
    return path[::-1]


def fullest(graph: _Graph, order: Sequence[int]) -> int:
    """Bytes held at most while the operators run in this order."""
    done, held, peak = 0, graph.begin, 0
    for k in order:
        during, held = graph.run(done, held, k)
        peak, done = max(peak, during), done | 1 << k
    return peak
