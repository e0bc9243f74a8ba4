"""When TFLM needs each tensor and each scratch buffer, counted as its planner counts (micro_allocation_info.cc).

Time goes in scopes: one for every operator, one more for every subgraph that an operator enters. A tensor lives from
the scope of its producer to that of its last reader; inputs live from the beginning of their subgraph, outputs to its
end. A scratch buffer lives while its operator runs.
"""
from __future__ import annotations

from dataclasses import dataclass

from .errors import Refused
from .ir import DTYPE, NAME_OF_TYPE, Model, Operator, Tensor
from .kernel_scratch import scratch_buffers

ALIGNMENT = 16
"""kBufferAlignment of TFLM: every buffer begins and ends at a multiple of it."""

NEVER = -1
SUBGRAPHS_OF = {"IF": ("then_subgraph_index", "else_subgraph_index"), "CALL_ONCE": ("init_subgraph_index",),
                "WHILE": ("cond_subgraph_index", "body_subgraph_index")}
MOST_NESTED, MOST_SCOPES = 64, 100_000
"""Subgraphs that call each other in a row, and operators that run: where each calls the next twice they double."""
OWN_MEMORY = frozenset({"VAR_HANDLE"})
"""Operators whose output lies in memory of their own."""


@dataclass(eq=False)
class Request:
    """size: bytes, aligned. first, last: scopes, NEVER where nothing uses it. operator: a scratch buffer's owner."""

    size: int
    first: int = NEVER
    last: int = NEVER
    tensor: Tensor | None = None
    operator: Operator | None = None

    def meets(self, other: Request) -> bool:
        """Both are needed at some time."""
        return self.first <= other.last and other.first <= self.last

    def born(self, scope: int) -> None:
        if self.first == NEVER:
            self.first = scope

    def used(self, scope: int) -> None:
        self.last = scope


@dataclass(frozen=True)
class Lifetimes:
    """requests: in TFLM's order, the tensors of all subgraphs that it allocates, then scratch buffers. scopes: of the
    operators that run."""

    requests: tuple[Request, ...]
    scopes: dict[Operator, int]


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def lifetimes(model: Model) -> Lifetimes:
    """What the arena must hold. Refused where the size of a tensor is not known."""
    placed = {t: Request(aligned(size_of(t)), tensor=t) for t in allocated(model)}
    scratch = {o: [Request(aligned(size), operator=o) for size in scratch_buffers(o)] for o in model.operators}
    marker = _Marker(model, placed, scratch)
    marker.subgraph(0)
    return Lifetimes((*placed.values(), *(r for several in scratch.values() for r in several)), marker.scopes)


def allocated(model: Model) -> list[Tensor]:
    """The tensors that the interpreter's plan places: no constants, no variables, nothing without elements."""
    own = {t for o in model.operators if o.name in OWN_MEMORY for t in o.outputs}
    tensors = (t for g in model.subgraphs for t in g.tensors)
    return [t for t in tensors if not t.is_constant and not t.is_variable and t not in own and size_of(t)]


def size_of(tensor: Tensor) -> int:
    """Bytes. Refused where they are not known."""
    if tensor.type not in DTYPE:
        raise Refused(f"the size of {NAME_OF_TYPE.get(tensor.type, tensor.type)} data is not known", at=tensor)
    if any(d < 0 for d in tensor.shape):
        raise Refused("a dimension is left open", at=tensor)
    return tensor.nbytes


@dataclass
class _Marker:
    """Walks the subgraphs in the order of execution. scope: the one that began last."""

    model: Model
    placed: dict[Tensor, Request]
    scratch: dict[Operator, list[Request]]
    scope: int = 0

    def __post_init__(self) -> None:
        self.scopes: dict[Operator, int] = {}
        self.entered: list[int] = []

    def subgraph(self, number: int) -> None:
        if number in self.entered or not 0 <= number < len(self.model.subgraphs):
            raise Refused("the subgraphs call each other in a circle, or one that is not there")
        if len(self.entered) == MOST_NESTED:
            raise Refused(f"subgraphs call each other more than {MOST_NESTED} deep")
        self.entered.append(number)
        graph = self.model.subgraphs[number]
        self.mark([t for t in graph.inputs], True, True)
        for operator in graph.operators:
            self.scope += 1
            self.operator(operator)
        self.mark([t for t in graph.outputs], True, True)
        self.entered.pop()

    def operator(self, operator: Operator) -> None:
        if self.scope > MOST_SCOPES:
            raise Refused(f"subgraphs call each other so often that more than {MOST_SCOPES:,} operators run")
        start = self.scopes[operator] = self.scope
        self.mark(operator.outputs, True, False)
        for name in SUBGRAPHS_OF.get(operator.name, ()):
            self.scope += 1
            self.subgraph(int(operator.option(name, -1)))
        self.mark([t for t in operator.inputs if t is not None], False, True)
        self.mark(operator.outputs, False, True)
        for request in self.scratch[operator]:
            request.born(start)
            request.used(self.scope)

    def mark(self, tensors: list[Tensor], born: bool, used: bool) -> None:
        for request in (self.placed[t] for t in tensors if t in self.placed):
            if born:
                request.born(self.scope)
            if used:
                request.used(self.scope)
