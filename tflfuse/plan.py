"""The rule engine: plan() finds what to do and touches nothing, apply() does it and alone mutates a graph.

The engine alone answers the questions that hold for every rule: does an inner value escape, does a later match overlap
an earlier one, may a value be renamed, what became dead. A rule sees a match and returns what should stand there.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import invariants
from .errors import Refused, TflfuseError
from .ir import Buffer, Model, Operator, OperatorCode, Subgraph, Tensor
from .pattern import Bake, Edit, Match, Prune, Rebuffer, Replacement, Rule, Sweep, producers_of

EFFECTS = frozenset({"IF", "WHILE", "CALL", "CALL_ONCE", "ASSIGN_VARIABLE", "VAR_HANDLE", "HASHTABLE",
                     "HASHTABLE_IMPORT", "STABLEHLO_COMPOSITE", "STABLEHLO_WHILE", "STABLEHLO_CUSTOM_CALL"})
"""Operators that do more than compute their outputs: never dead."""

MOST_ROUNDS = 1000
"""Far more than any model was seen to need (a handful): two rules that undo each other would never end."""

Key = tuple[str, ...]
"""A rule's name and the places of the operators it would replace: names a step across two runs on one file."""


@dataclass(frozen=True)
class Reorder:
    """Run a subgraph's operators in another order. graph: its number; operators: all of them."""

    graph: int
    operators: tuple[Operator, ...]


@dataclass(frozen=True)
class Step:
    """Something done. before and after are copies of the operators as they were when the step was planned."""

    rule: str
    summary: str
    place: str
    label: str
    exact: bool
    note: str = ""
    graph: int = 0
    before: tuple[Operator, ...] = ()
    after: tuple[Operator, ...] = ()
    replacement: Replacement | None = None
    removed: tuple[Operator, ...] = ()
    edits: tuple[Edit | Reorder, ...] = ()

    @property
    def key(self) -> Key:
        return key_of(self.rule, self.before)

    def as_dict(self) -> dict[str, Any]:
        names = [o.name for o in self.before], [o.name for o in self.after]
        return {"rule": self.rule, "summary": self.summary, "place": self.place, "operator": self.label,
                "exact": self.exact, "note": self.note, "before": names[0], "after": names[1]}


def key_of(rule: str, operators: Sequence[Operator]) -> Key:
    return (rule, *(o.place for o in operators))


@dataclass(frozen=True)
class Refusal:
    """Something that matched and was not done, and why. operators: those that stay because of it. by_choice: it could
    have been done, but is better or as well left.
    """

    rule: str
    place: str
    label: str
    reason: str
    at: str = ""
    by_choice: bool = False
    operators: tuple[Operator, ...] = field(default=(), compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "place": self.place, "operator": self.label, "reason": self.reason, "at": self.at,
                "by_choice": self.by_choice}


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def exact(self) -> bool:
        """Every step keeps the same bits."""
        return all(s.exact for s in self.steps)


@dataclass
class View:
    """One subgraph as the planner sees it, and what earlier steps of this round have claimed."""

    number: int
    graph: Subgraph
    producers: dict[Tensor, Operator]
    readers: dict[Tensor, list[Operator]]
    results: frozenset[Tensor]
    used: set[Operator] = field(default_factory=set)
    renamed: set[Tensor] = field(default_factory=set)
    replaced: set[Tensor] = field(default_factory=set)

    @cached_property
    def kinds(self) -> list[tuple[str, Operator]]:
        """Every operator with its name, the last one first."""
        return [(o.name, o) for o in reversed(self.graph.operators)]

    def ending(self, rule: Rule) -> list[Operator]:
        """The operators in which a match of the rule can end, the last one first."""
        roots = rule.roots
        return [o for name, o in self.kinds if roots is None or name in roots]

    @staticmethod
    def of(model: Model, number: int) -> View:
        graph = model.subgraphs[number]
        signed = (t for s in model.signatures or () for _, t in s.outputs)
        return View(number, graph, producers_of(graph), readers_of(graph), frozenset((*graph.outputs, *signed)))

    def check_inside(self, rule: Rule, match: Match) -> None:
        """Refuse where a value that would vanish is wanted elsewhere, or where moving its computation shows."""
        for operator in match.operators[:-1]:
            if any(t is not None and t.is_variable for t in operator.inputs):
                raise Refused("it reads a variable, whose value depends on the order", at=operator)
            for value in () if rule.shared else operator.outputs:
                if value in self.results:
                    raise Refused("its result is an output of the model", at=operator)
                if len(self.readers[value]) > 1:
                    raise Refused("its result has more than one reader", at=operator)

    def check_replacement(self, rule: Rule, match: Match, new: Replacement) -> None:
        """Refuse a value that cannot stand for the root's output; fail on a rule that breaks its contract."""
        result = match.root.outputs[0]
        if new.operators:
            assert new.operators[-1].outputs == match.root.outputs, "a rule must keep the root's outputs"
        elif result.is_variable or new.alias is not None and new.alias.is_variable:
            raise Refused("a variable's value depends on the order", at=match.root)
        elif new.alias is not None:
            gone = {t for o in match.operators if o is match.root or not rule.shared for t in o.outputs}
            assert new.alias not in gone, "a rule must not name a value that goes with its match"
            if result in self.results and (new.alias in self.results or new.alias not in self.producers):
                raise Refused("it connects an input or a constant, or another output, with an output of the model")
        else:
            array = np.asarray(new.constant)
            if result in self.results:
                raise Refused("the constant result is an output of the model")
            if array.size == 0:
                raise Refused("the result has no elements, and without data a tensor is no constant", at=result)
            if array.shape != result.shape or array.dtype != result.dtype:
                raise Refused(f"the computed {array.dtype}{list(array.shape)} does not fit the tensor", at=result)

    def claim(self, match: Match, new: Replacement) -> bool:
        """Take the match's operators for one step; False where an earlier step of the round stands in the way.

        It does where it has one of the operators, and where one of the two renames a value, an output of the model
        taking its place, that the other would do without.
        """
        result = match.root.outputs[0]
        renamed = new.alias if new.alias is not None and result in self.results else None
        if not self.used.isdisjoint(match.operators):
            return False
        if renamed is not None and (renamed in self.renamed or renamed in self.replaced):
            return False
        if not new.operators and result in self.renamed:
            return False
        self.used.update(match.operators)
        if renamed is not None:
            self.renamed.add(renamed)
        if not new.operators:
            self.replaced.add(result)
        return True


def readers_of(graph: Subgraph) -> dict[Tensor, list[Operator]]:
    """Who reads each tensor; an operator that reads it twice stands there twice."""
    readers: dict[Tensor, list[Operator]] = defaultdict(list)
    for operator in graph.operators:
        for value in operator.inputs:
            if value is not None:
                readers[value].append(operator)
    return readers


def plan(model: Model, rules: Sequence[Rule | Sweep], exact: bool = False,
         excluded: frozenset[Key] = frozenset()) -> Plan:
    """One round: what the rules would do to the model as it stands, no operator in two steps. Changes nothing.

    Where matches overlap, the longest goes first; of equal length, the rule that comes first; then the last operator.
    exact: steps that do not keep the same bits are refused. excluded: steps not to take.
    """
    steps: list[Step] = []
    refusals: dict[tuple[str, ...], Refusal] = {}
    for number in range(len(model.subgraphs)):
        view = View.of(model, number)
        found: list[tuple[Rule, Match, Replacement]] = []
        for rule in (r for r in rules if isinstance(r, Rule)):  # a Sweep touches no operator
            for operator in view.ending(rule):
                accepted = first_accepted(rule, operator, view, exact, excluded, refusals)
                found += [(rule, *accepted)] if accepted else []
        found.sort(key=lambda candidate: -len(candidate[1].operators))
        steps += [step_of(rule, match, new, number) for rule, match, new in found if view.claim(match, new)]
    for sweep in (r for r in rules if isinstance(r, Sweep)):
        edits = tuple(sweep.edits(model))
        if edits:
            steps.append(Step(sweep.name, sweep.summary, "", "the model", True, edits=edits))
    return Plan(tuple(steps), tuple(refusals.values()))


def first_accepted(rule: Rule, root: Operator, view: View, exact: bool, excluded: frozenset[Key],
                   refusals: dict[tuple[str, ...], Refusal]) -> tuple[Match, Replacement] | None:
    """The first way to match the rule at this root that rule and engine accept; if there is none, the first refusal."""
    declined: list[Refusal] = []
    for match in (m for p in rule.patterns for m in p.at(root, view.producers)):
        try:
            if key_of(rule.name, match.operators) in excluded:
                raise Refused("the result was measured further from the real-valued function than the original")
            view.check_inside(rule, match)
            new = rule.build(match)
            if exact and not new.exact:
                raise Refused("the result would not be the same bits")
            view.check_replacement(rule, match, new)
        except Refused as refused:
            declined.append(replace(refusal_of(rule.name, root, refused), operators=match.operators))
            continue
        return match, new
    for r in declined[:1]:
        refusals.setdefault((r.rule, r.place, r.reason), r)
    return None


def refusal_of(rule: str, root: Operator, refused: Refused) -> Refusal:
    """A rule's refusal of the match that ends in root."""
    at = refused.at.label if isinstance(refused.at, (Operator, Tensor)) else str(refused.at or "")
    return Refusal(rule, root.place, root.label, refused.reason, at, refused.by_choice, (root,))


def step_of(rule: Rule, match: Match, new: Replacement, number: int) -> Step:
    for operator in new.operators:
        operator.place = match.root.place
    removed = match.operators[-1:] if rule.shared else match.operators
    return Step(rule.name, rule.summary, match.root.place, match.root.label, new.exact, new.note, number,
                snapshot(match.operators), snapshot(new.operators), new, removed)


def snapshot(operators: Iterable[Operator]) -> tuple[Operator, ...]:
    return tuple(o.like(inputs=list(o.inputs), outputs=list(o.outputs)) for o in operators)


def apply(model: Model, plan: Plan) -> None:
    """Carry out a plan made of this very model. The only code that changes a graph."""
    if not plan.steps:
        return
    for number, graph in enumerate(model.subgraphs):
        steps = [s for s in plan.steps if s.replacement is not None and s.graph == number]
        if steps:
            rebuild(graph, steps, View.of(model, number).results)
    for edit in (e for s in plan.steps for e in s.edits):
        if isinstance(edit, Rebuffer):
            edit.tensor.buffer = edit.buffer
        elif isinstance(edit, Bake):
            edit.tensor.shape_signature = None
        elif isinstance(edit, Reorder):
            model.subgraphs[edit.graph].operators = list(edit.operators)
    if any(s.replacement is not None for s in plan.steps) and model.memory_plan_version is not None:
        drop_memory_plan(model)
    prune(model)


def rebuild(graph: Subgraph, steps: list[Step], results: frozenset[Tensor]) -> None:
    """Put the steps' operators where their roots stood, rename values, and remove what became dead."""
    at_root = {s.removed[-1]: s for s in steps}
    gone = {o for s in steps for o in s.removed}
    wanted = {t for o in gone for t in o.inputs if t is not None}
    names: dict[Tensor, Tensor] = {}
    operators: list[Operator] = []
    for operator in graph.operators:
        step = at_root.get(operator)
        if step and step.replacement is not None:
            operators += step.replacement.operators
            settle(step.replacement, operator.outputs[0], results, names)
        elif operator not in gone:
            operators.append(operator)
    rename(operators, names)
    graph.operators = without_dead(operators, wanted, results)
    known = set(graph.tensors)
    fresh = (t for o in graph.operators for t in (*o.inputs, *o.outputs) if t is not None)
    graph.tensors += [t for t in dict.fromkeys(fresh) if t not in known]


def settle(new: Replacement, result: Tensor, results: frozenset[Tensor], names: dict[Tensor, Tensor]) -> None:
    """Note which name survives, or give the root's output its constant."""
    if new.alias is not None:
        gone, stays = (new.alias, result) if result in results else (result, new.alias)
        names[gone] = stays
    elif not new.operators:
        data = np.ascontiguousarray(new.constant)
        result.buffer = Buffer(np.frombuffer(data.tobytes(), np.uint8))


def rename(operators: list[Operator], names: dict[Tensor, Tensor]) -> None:
    """Let every operator name the value that stays instead of one that goes; an output of the graph never goes."""
    if not names:
        return

    def final(value: Tensor) -> Tensor:
        while value in names:
            value = names[value]
        return value

    for operator in operators:
        operator.inputs = [t and final(t) for t in operator.inputs]
        operator.outputs = [final(t) for t in operator.outputs]


def without_dead(operators: list[Operator], wanted: set[Tensor], results: frozenset[Tensor]) -> list[Operator]:
    """Leave out operators whose outputs only removed operators read; what nobody read before stays as it was."""
    uses = Counter(t for o in operators for t in o.inputs if t is not None)
    kept: list[Operator] = []
    for operator in reversed(operators):
        orphaned = any(t in wanted for t in operator.outputs)
        needed = any(uses[t] or t in results or t.is_variable for t in operator.outputs)
        stateful = operator.name in EFFECTS or any(t is not None and t.is_variable for t in operator.inputs)
        if needed or stateful or not orphaned:
            kept.append(operator)
            continue
        values = [t for t in operator.inputs if t is not None]
        uses.subtract(values)
        wanted.update(values)
    return kept[::-1]


def drop_memory_plan(model: Model) -> None:
    """Offsets that were right for the old operators may overlap what the new ones keep alive."""
    model.memory_plan_version = None
    for tensor in (t for g in model.subgraphs for t in g.tensors):
        tensor.arena_offset = -1
    model.notes.append("the file's OfflineMemoryAllocation was dropped: it was made for the operators as they were")


def unused(model: Model) -> tuple[set[Tensor], set[Buffer], set[OperatorCode]]:
    """Tensors, buffers and operator codes that nothing refers to; buffer 0 is never among them."""
    tensors: set[Tensor] = set()
    signed = {t for s in model.signatures or () for _, t in (*s.inputs, *s.outputs)}
    for graph in model.subgraphs:
        read = (t for o in graph.operators for t in (*o.inputs, *o.outputs, *(o.intermediates or ())))
        tensors |= set(graph.tensors) - {*read, *graph.inputs, *graph.outputs, *signed}
    kept = {t.buffer for g in model.subgraphs for t in g.tensors if t not in tensors}
    kept |= {m.buffer for m in model.metadata or ()} | set(model.metadata_buffer or ()) | set(model.buffers[:1])
    kept |= {b for b in (model.memory_plan_buffer,) if b is not None and model.memory_plan_version is not None}
    return tensors, set(model.buffers) - kept, set(model.operator_codes) - {o.code for o in model.operators}


def prune(model: Model) -> None:
    """Drop what is unused, and write every operator code once, in both of its fields."""
    tensors, _, _ = unused(model)
    for graph in model.subgraphs:
        graph.tensors = [t for t in graph.tensors if t not in tensors]
    once: dict[tuple[int, int, bytes | None], OperatorCode] = {}
    for operator in model.operators:
        code = operator.code
        fresh = OperatorCode(code.builtin, min(code.builtin, 127), code.version, code.custom_code)
        operator.code = once.setdefault((code.builtin, code.version, code.custom_code), fresh)
    model.operator_codes = list(once.values())
    _, buffers, _ = unused(model)
    model.buffers = [b for b in model.buffers if b not in buffers]


def rewrite(model: Model, rules: Sequence[Rule | Sweep], exact: bool = False, excluded: frozenset[Key] = frozenset(),
            progress: Callable[[Plan], None] = lambda plan: None) -> Plan:
    """Plan and apply until nothing is left to do. The model is valid before and after every round.

    Returns all steps in order, and the refusals that still stand at the end.
    """
    invariants.check(model)
    steps: list[Step] = []
    for _ in range(MOST_ROUNDS):
        now = plan(model, rules, exact, excluded)
        if not now.steps:
            return Plan(tuple(steps), now.refusals)
        apply(model, now)
        invariants.check(model)
        steps += now.steps
        progress(now)
    raise TflfuseError(f"the rules still find something to do after {MOST_ROUNDS} rounds: "
                       + ", ".join(sorted({s.rule for s in steps[-8:]})))


def prune_edits(model: Model) -> Iterator[Prune]:
    """What prune() would leave out, if anything."""
    tensors, buffers, codes = unused(model)
    if tensors or buffers or codes:
        yield Prune(len(tensors), len(buffers), len(codes))
