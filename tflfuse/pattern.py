"""Patterns that read like the expression they match.

    x, w, gamma = var("x"), const("w"), const("gamma")
    conv = op.CONV_2D(x, w, const("b", optional=True), name="conv")
    root = op.MUL(conv, gamma, name="root")

A pattern stands for a tensor. `var` matches any tensor, and the same one wherever the same variable stands; `const`
matches a tensor with constant data; `op.NAME(operands...)` matches the output of that operator, `(op.A | op.B)(...)` of
either; operands of commutative operators match in both orders; `chain` matches a tower of operators. Matching yields
every way to match, the first one that the rule accepts is taken.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .errors import Refused
from .ir import Model, Operator, Subgraph, Tensor

COMMUTATIVE = frozenset({"ADD", "MUL", "MAXIMUM", "MINIMUM"})
Producers = Mapping[Tensor, Operator]


@dataclass(frozen=True)
class Match:
    """What the names of a pattern stand for: `m.conv` is an Operator, `m.w` a Tensor or None, `m.steps` a chain.

    operators: all that were matched, operands before readers, the root last.
    """

    names: Mapping[str, Any] = field(default_factory=dict)
    operators: tuple[Operator, ...] = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.names[name]
        except KeyError:
            raise AttributeError(f"the pattern names no '{name}'") from None

    def bind(self, name: str, value: Any) -> Match | None:
        """This match with one more name; None where the name already stands for something else."""
        if not name:
            return self
        if name in self.names:
            return self if self.names[name] is value else None
        return Match({**self.names, name: value}, self.operators)

    def reached(self, operator: Operator) -> Match:
        return Match(self.names, (*self.operators, operator))

    @property
    def root(self) -> Operator:
        """The last operator, whose output is the value that the pattern stands for."""
        return self.operators[-1]


class Pattern:
    """Matches a tensor (None for an operand left out), given who produces what."""

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        raise NotImplementedError

    @property
    def roots(self) -> frozenset[str] | None:
        """The names that the last operator of a match can have; None where it can have any."""
        return None

    def at(self, root: Operator, producers: Producers) -> Iterator[Match]:
        """Every way in which the pattern's last operator is this one."""
        if len(root.outputs) == 1:
            yield from self.matches(root.outputs[0], Match(), producers)


@dataclass(frozen=True)
class Variable(Pattern):
    name: str
    constant: bool = False
    optional: bool = False

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        fits = self.optional if value is None else (value.is_constant or not self.constant)
        bound = so_far.bind(self.name, value) if fits else None
        if bound is not None:
            yield bound


def var(name: str, optional: bool = False) -> Variable:
    """Any tensor, constant or not."""
    return Variable(name, optional=optional)


def const(name: str, optional: bool = False) -> Variable:
    """A tensor with constant data that is no variable; with optional=True also an operand that is left out."""
    return Variable(name, constant=True, optional=optional)


@dataclass(frozen=True)
class Node(Pattern):
    """The only output of an operator of one of some kinds. With `rest`, more operands than named may follow."""

    kinds: frozenset[str]
    operands: tuple[Pattern, ...]
    name: str = ""
    rest: bool = False

    @property
    def roots(self) -> frozenset[str]:
        return self.kinds

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        producer = None if value is None else producers.get(value)
        if producer is None or producer.name not in self.kinds or len(producer.outputs) != 1:
            return
        bound = so_far.bind(self.name, producer)
        if bound is None or len(producer.inputs) > len(self.operands) and not self.rest:
            return
        for order in self.orders(producer):
            yield from (m.reached(producer) for m in self.operands_match(order, 0, bound, producers))

    def orders(self, producer: Operator) -> Iterator[list[Tensor | None]]:
        yield producer.inputs
        if producer.name in COMMUTATIVE and len(producer.inputs) == 2:
            yield producer.inputs[::-1]

    def operands_match(self, given: list[Tensor | None], position: int, so_far: Match,
                       producers: Producers) -> Iterator[Match]:
        if position == len(self.operands):
            yield so_far
            return
        value = given[position] if position < len(given) else None
        for match in self.operands[position].matches(value, so_far, producers):
            yield from self.operands_match(given, position + 1, match, producers)


@dataclass(frozen=True)
class Kinds:
    """Operator names to be called with operands: `op.MUL(a, b)`, `(op.MUL | op.DIV)(a, b)`."""

    names: frozenset[str]

    def __or__(self, other: Kinds) -> Kinds:
        return Kinds(self.names | other.names)

    def __call__(self, *operands: Any, name: str = "") -> Node:
        rest = bool(operands) and operands[-1] is ...
        return Node(self.names, operands[:-1] if rest else operands, name, rest)


class Ops:
    def __getattr__(self, name: str) -> Kinds:
        return Kinds(frozenset({name}))


op = Ops()

HOLE = var("chain_value")

TALLEST = 16
"""Steps of a chain. Converters make four or so; a taller tower is folded in parts, from below, round after round, for
a search without end takes the square of a tower's height and all of the interpreter's stack."""


@dataclass(frozen=True)
class Chain(Pattern):
    """base, then one or more steps, at most TALLEST, each written over HOLE; the longest tower first.

    The name stands for a tuple of the steps' matches, the innermost first.
    """

    base: Pattern
    steps: tuple[Node, ...]
    name: str

    @cached_property
    def roots(self) -> frozenset[str]:
        return frozenset().union(*(step.kinds for step in self.steps))

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        yield from self.tower(value, (), so_far, producers)

    def tower(self, value: Tensor | None, above: tuple[Match, ...], so_far: Match,
              producers: Producers) -> Iterator[Match]:
        for step in self.steps if len(above) < TALLEST else ():
            for match in step.matches(value, Match(), producers):
                yield from self.tower(match.chain_value, (match, *above), so_far, producers)
        if above:
            for match in self.base.matches(value, so_far, producers):
                bound = match.bind(self.name, above)
                if bound is not None:
                    yield Match(bound.names, (*bound.operators, *(o for m in above for o in m.operators)))


def chain(base: Pattern, *steps: Node, name: str) -> Chain:
    """A tower of steps over a base: `chain(conv, op.MUL(HOLE, const("k")), op.ADD(HOLE, const("k")), name="steps")`."""
    return Chain(base, steps, name)


@dataclass(frozen=True)
class Where(Pattern):
    """The matches of a pattern that a predicate holds for; one that runs into a Refused does not hold."""

    pattern: Pattern
    predicate: Callable[[Match], bool]

    @property
    def roots(self) -> frozenset[str] | None:
        return self.pattern.roots

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        yield from (m for m in self.pattern.matches(value, so_far, producers) if self.holds(m))

    def holds(self, match: Match) -> bool:
        try:
            return self.predicate(match)
        except Refused:
            return False


def where(pattern: Pattern, predicate: Callable[[Match], bool]) -> Where:
    """Narrow a pattern down, where not to match would be no refusal worth telling: a RESHAPE that changes the shape."""
    return Where(pattern, predicate)


def producers_of(graph: Subgraph) -> dict[Tensor, Operator]:
    """Which operator computes each tensor."""
    return {t: o for o in graph.operators for t in o.outputs}


def require(condition: bool, reason: str, at: Any = None) -> None:
    """Refuse the match unless the condition holds; the reason is one sentence that a user can act on."""
    if not condition:
        raise Refused(reason, at)


@dataclass(frozen=True)
class Replacement:
    """What a rule wants in place of its match: exactly one of operators, alias, constant.

    operators: in execution order; the last one's outputs are the root's own output tensors.
    alias: a tensor that holds the root's output already. constant: an array that the root's output always is.
    exact: the outputs stay the same bits. note: what a user should know about this step.
    """

    operators: tuple[Operator, ...] = ()
    alias: Tensor | None = None
    constant: Any = None
    exact: bool = True
    note: str = ""


def replace_by(*operators: Operator, exact: bool = True, note: str = "") -> Replacement:
    return Replacement(operators=operators, exact=exact, note=note)


def alias(tensor: Tensor, exact: bool = True, note: str = "") -> Replacement:
    return Replacement(alias=tensor, exact=exact, note=note)


def constant(array: Any, note: str = "") -> Replacement:
    return Replacement(constant=array, note=note)


@dataclass(frozen=True)
class Rule:
    """A rewrite of a matched run of operators.

    shared: the operators below the root may have other readers; they stay where they do (the rule computes
    nothing that they computed twice). summary: the first line of the function's docstring, for reports.
    """

    name: str
    summary: str
    patterns: tuple[Pattern, ...]
    build: Callable[[Match], Replacement]
    shared: bool = False

    @cached_property
    def roots(self) -> frozenset[str] | None:
        """The names that the last operator of a match can have, so that others need not be tried; None for any."""
        roots = [pattern.roots for pattern in self.patterns]
        return None if None in roots else frozenset[str]().union(*(r for r in roots if r is not None))


def fold(*patterns: Pattern, shared: bool = False) -> Callable[[Callable[[Match], Replacement]], Rule]:
    """Make a rule of a function from a match to a Replacement; the function may refuse with `require`."""
    def decorate(build: Callable[[Match], Replacement]) -> Rule:
        return Rule(build.__name__, summary_of(build), patterns, build, shared)
    return decorate


@dataclass(frozen=True)
class Rebuffer:
    """Let a constant tensor read another buffer that holds the same bytes."""

    tensor: Tensor
    buffer: Any


@dataclass(frozen=True)
class Bake:
    """Make a tensor's open dimensions the sizes that its shape gives."""

    tensor: Tensor


@dataclass(frozen=True)
class Prune:
    """Leave out what nothing refers to."""

    tensors: int
    buffers: int
    codes: int


Edit = Rebuffer | Bake | Prune


@dataclass(frozen=True)
class Sweep:
    """A rewrite of the whole model that touches no operator."""

    name: str
    summary: str
    edits: Callable[[Model], Iterator[Edit]]


def sweep(edits: Callable[[Model], Iterator[Edit]]) -> Sweep:
    """Make a rule of a function from a model to edits; all of its edits are one step."""
    return Sweep(edits.__name__, summary_of(edits), edits)


def summary_of(rule: Callable[..., Any]) -> str:
    """The first line of its docstring; its name where Python left those out (-OO)."""
    return (rule.__doc__ or rule.__name__).strip().splitlines()[0]
