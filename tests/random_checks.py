"""Everything that must hold of a model and what tflfuse makes of it, in the genuine interpreter."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tflfuse import flatbuffer, invariants
from tflfuse.errors import TflfuseError
from tflfuse.inputs import given, tries
from tflfuse.ir import Array, Subgraph
from tflfuse.pipeline import fuse
from tflfuse.plan import Key
from tflfuse.proof import check, real_throughout, step_error
from tflfuse.result import Result
from tflfuse.runner import Outcome, Runner
from tflfuse.verify import Comparison, differing, misfit

RUNS = 3
PART_RUNS = 100
"""Inputs to measure a re-quantizing step with: a tenth of what the proof takes for a small part."""

FAR_OFF = 1.5, 0.5
"""Factor and steps by which the mean error of a step may exceed the original's. The proof leaves such steps out as well
as those that are a little worse, but here the rule did not estimate, it was wrong."""

SENSIBLE = 2.0
"""Steps that an original is off on average at most to be judged so: a bias with a scale of its own, which TFLM does not
look at, can put all that the original computes beyond its output's range."""

HARD = (1e30, -1e30, np.inf, -np.inf, np.nan, -0.0, 1e-40)


@dataclass(frozen=True)
class Verdict:
    """refused: why TFLM cannot run the model as it was, so that nothing was tried. failure: what does not hold.

    steps: how often each rule fired; excluded: how many steps were measured to be further from the real function.
    """

    refused: str | None = None
    failure: str | None = None
    steps: Counter[str] = field(default_factory=Counter)
    excluded: int = 0


def judged(data: bytes, seed: int, runner: Runner) -> Verdict:
    """Check a model's rewritten forms. seed: for the inputs. runner: the process that runs the interpreter."""
    graph = flatbuffer.read(data).subgraphs[0]
    arrays = tries(graph, RUNS, seed)
    hard = hard_inputs(graph, seed)
    old, old_hard = (runner.run("TFLM", data, inputs) for inputs in (arrays, hard))
    if old.error is not None or old_hard.error is not None:
        return Verdict(refused=old.error or old_hard.error)
    try:
        exact = fuse(data, custom_ops=False, exact=True)
        failure = form_fails(data, exact, True) or unlike(graph, data, exact, arrays, old, runner, "exact")
        failure = failure or hard_unlike(graph, exact, hard, old_hard, runner)
        if any(t.shape_signature for t in graph.inputs):
            dynamic = fuse(data, custom_ops=False, exact=True, keep_dynamic=True)
            failure = failure or unlike(graph, data, dynamic, arrays, old, runner, "dynamic")
        free, excluded, far_off = settled(data, runner)
        failure = failure or far_off or form_fails(data, free, False, runner)
        if free.model != exact.model:
            failure = failure or unlike(graph, data, free, arrays, old, runner, "free")
    except (TflfuseError, AssertionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Verdict(failure=f"{type(error).__name__}: {error}")
    return Verdict(None, failure, Counter(s.rule for s in free.report.plan.steps), len(excluded))


def hard_inputs(graph: Subgraph, seed: int) -> list[list[Array]]:
    """Real inputs with numbers among them that overflow or are none; integers at random."""
    rng = np.random.default_rng([seed, 3])
    inputs = tries(graph, 1, seed + 1)[:1]
    for arrays in inputs:
        for position, tensor in enumerate(graph.inputs):
            if tensor.dtype.kind == "f":
                values = arrays[position].copy()
                marked = rng.random(values.shape) < 0.2
                values[marked] = rng.choice(np.array(HARD), int(marked.sum()))
                arrays[position] = given(tensor, values)
    return inputs


def settled(data: bytes, runner: Runner) -> tuple[Result, frozenset[Key], str | None]:
    """Rewritten with every re-quantizing step that is measured to be no worse, as tflfuse.proof does it.

    Also the steps left out, and what is wrong with one that is far worse.
    """
    excluded: frozenset[Key] = frozenset()
    far_off = None
    while True:
        result = fuse(data, custom_ops=False, excluded=excluded)
        steps = [s for s in result.report.plan.steps if not s.exact and s.after]
        measured = [(s, e) for s in steps if (e := step_error(s, runner, PART_RUNS)) is not None]
        worse = frozenset(s.key for s, e in measured if not e.accepted)
        for step, e in measured:
            if e.before_mean <= SENSIBLE and e.after_mean > FAR_OFF[0] * e.before_mean + FAR_OFF[1]:
                far_off = f"free: {step.rule} at {step.label} is {e.after_mean:.3g} steps off, was {e.before_mean:.3g}"
        if not worse:
            return result, excluded, far_off
        excluded |= worse


def form_fails(data: bytes, result: Result, exact: bool, runner: Runner | None = None) -> str | None:
    """What is wrong with the rewritten file as such; None if nothing."""
    kind = "exact" if exact else "free"
    model = flatbuffer.read(result.model)
    invariants.check(model)
    if flatbuffer.write(model) != result.model:
        return f"{kind}: reading and writing the result changes bytes"
    if result.report.operators_after.total() > result.report.operators_before.total():
        return f"{kind}: there are more operators than before"
    if exact and not result.report.plan.exact:
        return "exact: a step was taken that is not exact"
    again = fuse(result.model, custom_ops=False, exact=exact)
    if again.model != result.model and runner is not None:
        again = settled(result.model, runner)[0]  # what was left out the first time is tried again
    if again.model != result.model:
        return f"{kind}: a second run changes something: {[s.rule for s in again.report.plan.steps]}"
    return None


def unlike(graph: Subgraph, data: bytes, result: Result, arrays: list[list[Array]], old: Outcome, runner: Runner,
           kind: str) -> str | None:
    """How the outputs differ more than the steps that were taken may make them."""
    if result.model == data:
        return None
    new = runner.run("TFLM", result.model, arrays)
    failure = new.error or misfit(old, new)
    differences = () if failure else tuple(differing(graph, old, new))
    equal = not failure and all(d.equal for d in differences)
    found = Comparison("TFLM", (), len(arrays), equal, differences, failure)
    try:
        check(found, result.report.plan.exact, real_throughout(graph))
    except TflfuseError as error:
        return f"{kind}: {error} after {[s.rule for s in result.report.plan.steps]}"
    return None


def hard_unlike(graph: Subgraph, result: Result, arrays: list[list[Array]], old: Outcome,
                runner: Runner) -> str | None:
    """How the outputs of an exact rewrite differ where inputs overflow or are no numbers."""
    new = runner.run("TFLM", result.model, arrays)
    if new.error is not None:
        return f"hard inputs: {new.error}"
    wrong = [str(d) for d in differing(graph, old, new) if not d.equal]
    rules = [s.rule for s in result.report.plan.steps]
    return f"hard inputs: {'; '.join(wrong)} after {rules}" if wrong else None
