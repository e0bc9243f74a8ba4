"""From the bytes of a model to the bytes of the fused model, and what was done on the way."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from . import flatbuffer, invariants, linear, memory, memory_check, offline_plan
from .arena import Needs, needs
from .certificate import Rewrite, carried, certify, fused_operators, uncertified
from .chain_check import check_fused
from .errors import BadModel, Refused
from .folds import FOLDS, KEEP_DYNAMIC
from .folds.remove_unused import remove_unused
from .fusions.arrange import arranged
from .ir import Model
from .lowering import lower_chain
from .memory_report import Memory
from .packing import CUSTOM
from .pattern import Rule, Sweep
from .plan import Key, Plan, Refusal, Step, apply, rewrite
from .report import Report
from .result import Result
from .traffic import Flow, flow_of_model, traffic_of
from .unmatched import unmatched

NUMBERS_TENSORS = frozenset({b"COMPRESSION_METADATA"})
"""Metadata that refer to tensors by number in a format of their own: such a file is not renumbered."""


def fuse(model: bytes, custom_ops: bool = True, exact: bool = False, keep_dynamic: bool = False,
         memory_plan: bool = True, arena: int | None = None, excluded: frozenset[Key] = frozenset(),
         progress: Callable[[Plan], None] = lambda plan: None) -> Result:
    """Rewrite a model with fewer operators.

    model: the bytes of a .tflite file. custom_ops: operators of the tflfuse kernel pack may be used.
    exact: only steps that keep every output the same bits. keep_dynamic: open dimensions stay open.
    memory_plan: say in the file where tensors lie in the arena, where that makes it smaller.
    arena: bytes that the arena may have; of what fits, the model that moves fewest bytes is made, the smallest where
    nothing fits or none is given.
    excluded: steps not to take, see Step.key. progress: called with what each round did.
    Raises BadModel with one line where the bytes are no valid model, or one with fused operators without custom_ops.
    """
    graph = opened(model)
    before, needed, flow = operator_counts(graph), needs_of(graph), flow_of_model(graph)
    if not custom_ops and before[CUSTOM]:
        raise BadModel(f"it holds fused operators already, {before[CUSTOM]} of them; "
                       "lower it first to have builtin ones again")
    certificate, known = carried(graph), fused_operators(graph)
    fixed = next((m for m in graph.metadata or () if m.name in NUMBERS_TENSORS), None)
    if fixed is not None and fixed.name is not None:
        reason = f"its metadata {fixed.name.decode()} refers to tensors by number"
        done = Plan((), (Refusal("every rule", "", "the model", reason),))
    else:
        find = partial(arranged, custom_ops=custom_ops, planned=memory_plan, budget=arena)
        done = fused(graph, KEEP_DYNAMIC if keep_dynamic else FOLDS, find, exact, excluded, progress)
    planned = plan_memory(graph, memory_plan and fixed is None)
    if done.steps or planned is not None and planned.written:
        done_by = Rewrite(exact=exact, keep_dynamic=keep_dynamic, memory_plan=memory_plan, arena=arena or 0,
                          left_out=len(excluded))
        certify(graph, certificate, known, done.steps, done_by)
    return result_of(model, before, flow, graph, done, planned and replace(planned, before=needed))


def lower(model: bytes) -> Result:
    """Turn the custom operators of a fused model back into builtin ones, with outputs of the same bits.

    Raises BadModel where the bytes are no valid model, or hold a fused operator that no builtin operators express.
    """
    graph = opened(model)
    before, flow = operator_counts(graph), flow_of_model(graph)
    if before[CUSTOM]:
        uncertified(graph)
    done = rewrite(graph, (lower_chain, remove_unused))
    if any(r.rule == lower_chain.name for r in done.refusals):
        refused = done.refusals[0]
        raise BadModel(f"{refused.label} cannot be lowered: {refused.reason}")
    return result_of(model, before, flow, graph, done)


def opened(model: bytes) -> Model:
    """The model in the bytes, valid as far as everything that follows counts on it; BadModel otherwise."""
    graph = flatbuffer.read(model)
    invariants.check(graph)
    check_fused(graph)
    return graph


def result_of(model: bytes, before: Counter[str], flow: Flow | None, graph: Model, done: Plan,
              planned: Memory | None = None) -> Result:
    """The rewritten bytes, or the very bytes that came in, and the report."""
    changed = bool(done.steps) or planned is not None and planned.written
    written = flatbuffer.write(graph) if changed else bytes(model)
    report = Report(done, before, operator_counts(graph), len(model), len(written), tuple(graph.notes), planned,
                    traffic=traffic_of(flow, graph, done.steps))
    return Result(written, report, bytes(model))


def plan_memory(graph: Model, wanted: bool) -> Memory | None:
    """Write a memory plan where one is wanted, there is none yet, and it makes the arena smaller.

    Returns where everything lies, None where the sizes of tensors are not known.
    """
    strange = any(m.name == offline_plan.NAME for m in graph.metadata or ())
    if graph.memory_plan_version is not None:
        graph.notes.append("the file's OfflineMemoryAllocation is kept: the operators are as they were")
    try:
        kept = strange or not wanted or graph.memory_plan_version is not None
        planned = memory.of_file(graph) if kept else memory.plan(graph)
    except Refused as refused:
        graph.notes.append(f"where tensors lie is not known: {refused}")
        return None
    if planned.origin == "written":
        memory_check.check(graph, planned)
        memory.write(graph, planned)
        invariants.check(graph)
    return Memory(planned, needs(graph, planned))


def needs_of(graph: Model) -> Needs | None:
    """What the model needs as it is; None where the sizes of tensors are not known."""
    try:
        return needs(graph, memory.of_file(graph))
    except Refused:
        return None


def fused(graph: Model, folds: Sequence[Rule | Sweep], find: Callable[[Model], Plan], exact: bool,
          excluded: frozenset[Key], progress: Callable[[Plan], None]) -> Plan:
    """Folds until nothing is left to do, then runs of operators to custom operators, and so on until both are done.

    What the folds refuse is told as it was before the first run, of operators that are in none: see still_there.
    """
    steps: list[Step] = []
    said: list[Refusal] | None = None
    while True:
        folded = rewrite(graph, folds, exact, excluded, progress)
        said = [*folded.refusals, *unmatched(graph)] if said is None else said
        runs = find(graph)
        steps += (*folded.steps, *runs.steps)
        if not runs.steps:
            return Plan(tuple(steps), (*still_there(graph, said), *runs.refusals))
        apply(graph, runs)
        invariants.check(graph)
        progress(runs)


def still_there(graph: Model, refusals: Sequence[Refusal]) -> list[Refusal]:
    """The refusals of operators that a fused run did not take; the weights that would have held them it may have."""
    there = set(graph.operators)
    return [r for r in refusals
            if not there.isdisjoint([o for o in r.operators if o.name not in linear.KINDS] or r.operators)]


def operator_counts(model: Model) -> Counter[str]:
    """How many operators of each name the model has."""
    return Counter(o.name for o in model.operators)
