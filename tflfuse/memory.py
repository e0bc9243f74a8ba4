"""Where each tensor lies in the arena: placed, compared with TFLM's own plan, and written into the tensors.

The interpreter takes the offsets as they are, also where tensors overlap, and places scratch buffers around them. So
each plan is judged by what TFLM makes of it, and one that is no better than TFLM's own is not written.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .greedy import ONLINE, greedy, head
from .ir import Model, Operator, Tensor
from .lifetimes import Lifetimes, Request, lifetimes
from .overlap import distances_of
from .packing import CUSTOM
from .placement import Block, Problem, place
from .plan import View

SHARES_PLACE = frozenset({"RESHAPE"})
"""Operators whose kernel does nothing where input and output lie at the same place."""

MOST_WRITTEN = 2 ** 31
"""Bytes of a head whose offsets 32 bits hold: those of a larger one are not written."""


@dataclass(frozen=True)
class Place:
    """A buffer of the arena's head. first, last: scopes. tensor: None for a scratch buffer, then operator owns it."""

    offset: int
    size: int
    first: int
    last: int
    tensor: Tensor | None
    operator: Operator | None


@dataclass(frozen=True)
class MemoryPlan:
    """head: bytes of the arena that tensors and scratch buffers take; greedy: with TFLM's own plan; bound: the largest
    sum of what is needed at one time. tried: placements looked at. scopes: of the operators. origin: "written" where
    the file gets the plan, "interpreter" where TFLM's own is as small, "file" where the file had one.
    """

    places: tuple[Place, ...]
    head: int
    greedy: int
    bound: int
    tried: int
    scopes: dict[Operator, int]
    origin: str

    def at(self, scope: int) -> list[Place]:
        """What is needed then."""
        return [p for p in self.places if p.first <= scope <= p.last]


def plan(model: Model) -> MemoryPlan:
    """The best plan found. Refused where the sizes of tensors are not known. Changes nothing."""
    life = lifetimes(model)
    problem, blocks = problem_of(model, life)
    placed = place(problem)
    requests = life.requests
    wanted = [placed[blocks[r]] if r.tensor is not None else ONLINE for r in requests]
    own = greedy(requests, [ONLINE] * len(requests))
    offsets = greedy(requests, wanted)
    origin = "written"
    if head(requests, offsets) >= min(head(requests, own), MOST_WRITTEN):
        offsets, origin = own, "interpreter"
    return made(life, offsets, head(requests, own), problem, origin)


def of_file(model: Model) -> MemoryPlan:
    """What the interpreter makes of the model as it is, with the offsets that it carries. Refused likewise."""
    life = lifetimes(model)
    requests = life.requests
    given = [r.tensor.arena_offset if r.tensor is not None else ONLINE for r in requests]
    own = head(requests, greedy(requests, [ONLINE] * len(requests)))
    origin = "interpreter" if model.memory_plan_version is None else "file"
    return made(life, greedy(requests, given), own, problem_of(model, life)[0], origin)


def made(life: Lifetimes, offsets: list[int], own: int, problem: Problem, origin: str) -> MemoryPlan:
    requests = life.requests
    places = (Place(o, r.size, r.first, r.last, r.tensor, r.operator) for o, r in zip(offsets, requests, strict=True))
    return MemoryPlan(tuple(places), head(requests, offsets), own, problem.bound(), problem.tried, life.scopes, origin)


def write(model: Model, planned: MemoryPlan) -> None:
    """Let the model's file carry the plan."""
    model.memory_plan_version, model.memory_plan_subgraphs = 0, len(model.subgraphs)
    model.memory_plan_at, model.memory_plan_buffer = len(model.metadata or ()), None
    for p in planned.places:
        if p.tensor is not None:
            p.tensor.arena_offset = p.offset


def problem_of(model: Model, life: Lifetimes) -> tuple[Problem, dict[Request, int]]:
    """The blocks to be placed, and the number of each request's block. Reshaped tensors share one."""
    of_tensor = {r.tensor: r for r in life.requests if r.tensor is not None}
    same = {of_tensor[b]: of_tensor[a] for a, b in shared(model) if a in of_tensor and b in of_tensor}
    blocks: list[Block] = []
    number: dict[Request, int] = {}
    for request in life.requests:
        root = request
        while root in same:
            root = same[root]
        if root not in number:
            number[root] = len(blocks)
            blocks.append(Block(root.size, root.first, root.last))
        block = blocks[number[root]]
        number[request] = number[root]
        block.first, block.last = min(block.first, request.first), max(block.last, request.last)
    kept = {number[of_tensor[t]] for t in results(model) if t in of_tensor}
    near: dict[tuple[int, int], int] = {}
    for operator in model.subgraphs[0].operators:
        for tensor, distance in distances_of(operator).items():
            if tensor in of_tensor and operator.outputs[0] in of_tensor:
                source, output = (number[of_tensor[t]] for t in (tensor, operator.outputs[0]))
                ends, begins = blocks[source].last, blocks[output].first
                if source not in kept and source != output and ends == begins == life.scopes[operator]:
                    near[source, output] = max(distance, near.get((source, output), 0))
    tight = frozenset(scope for operator, scope in life.scopes.items() if operator.name != CUSTOM)
    return Problem(blocks, near, tight), number


def results(model: Model) -> frozenset[Tensor]:
    """What somebody may read after the last operator."""
    return frozenset(t for number in range(len(model.subgraphs)) for t in View.of(model, number).results)


def shared(model: Model) -> Iterator[tuple[Tensor, Tensor]]:
    """Input and output of operators that do nothing where the two lie at the same place."""
    for operator in model.subgraphs[0].operators:
        source = operator.input(0)
        if operator.name in SHARES_PLACE and source is not None and source.nbytes == operator.outputs[0].nbytes:
            yield source, operator.outputs[0]
