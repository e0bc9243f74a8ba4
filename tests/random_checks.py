"""Everything that must hold of a model and what tflfuse makes of it, in the genuine interpreter."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tflfuse import flatbuffer, invariants
from tflfuse.certificate import certificate_of, digest_of, fused_operators
from tflfuse.chain import Add, Table
from tflfuse.check import difference_of
from tflfuse.errors import BadModel, Refused, TflfuseError
from tflfuse.inputs import given, tries
from tflfuse.ir import Array, Model, Operator, Subgraph
from tflfuse.lifetimes import ALIGNMENT
from tflfuse.packing import chain_of
from tflfuse.part import PartError, Unmeasured
from tflfuse.pipeline import fuse, lower
from tflfuse.plan import Key, Step
from tflfuse.proof import check, real_throughout, step_error
from tflfuse.result import Result
from tflfuse.runner import Outcome, Runner
from tflfuse.verify import Comparison, differing, misfit

from .random_cases import ROOM, Case

RUNS = 3
PART_RUNS = 48
"""Inputs to measure a re-quantizing step with: a twentieth of what the proof takes for a small part.

What looks far worse is measured again with as many: of values that nearly all saturate, two may be all that counts."""

FAR_OFF = 1.5, 0.5
"""Factor and steps by which the mean error of a step may exceed the original's. The proof leaves such steps out as well
as those that are a little worse, but here the rule did not estimate, it was wrong."""

SENSIBLE = 2.0
"""Steps that an original is off on average at most to be judged so: a bias with a scale of its own, which TFLM does not
look at, can put all that the original computes beyond its output's range."""

HARD = (1e30, -1e30, np.inf, -np.inf, np.nan, -0.0, 1e-40)
RESHAPE_KEEPS = 48
"""Bytes that a RESHAPE's options take of the arena; a TRANSPOSE or EXPAND_DIMS that it stands for has none."""

AGAIN = 8
"""Every how many seeds a result is rewritten and derived once more."""


class Fails(Exception):
    """What does not hold: its kind, a colon, and how."""


@dataclass(frozen=True)
class Verdict:
    """refused: why TFLM cannot run the model as it was, so that nothing was tried. failure: what does not hold.

    operators: of the model, by name; rules, stages: how often each fired, and stood in a fused operator.
    excluded: how many steps were measured to be further from the real function.
    """

    refused: str | None = None
    failure: str | None = None
    operators: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    excluded: int = 0


def judged(case: Case, runner: Runner) -> Verdict:
    """Check what is made of a model. runner: the process that runs the interpreter."""
    try:
        return _Trial(case, runner).verdict()
    except Fails as failure:
        return Verdict(failure=str(failure))
    except (TflfuseError, AssertionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Verdict(failure=f"{type(error).__name__}: {error}")


class _Trial:
    """One case. inputs: random ones, extreme ones, and real numbers that overflow or are none."""

    def __init__(self, case: Case, runner: Runner) -> None:
        self.case, self.runner = case, runner
        self.graph = flatbuffer.read(case.data).subgraphs[0]
        self.sound = tries(self.graph, RUNS, case.seed)
        self.inputs = [*self.sound, *hard_inputs(self.graph, case.seed)]

    def verdict(self) -> Verdict:
        old = self.runner.run("TFLM", runnable(self.case.data), self.inputs)
        if old.error is not None:
            return Verdict(refused=old.error)
        result, excluded = self.settled(self.case.data)
        model = flatbuffer.read(result.model)
        self.check_form(model, result)
        new = self.run("fused", result.model, old)
        if result.report.plan.exact:
            self.require_equal("fused", result, old, new)
        else:
            self.check_re_quantized(result, excluded, old, new)
        self.check_lowered(model, result, new)
        self.check_memory(result, old, new)
        self.check_certificate(model, result)
        if self.case.seed % AGAIN == 0:
            self.check_again(result)
        rules = Counter(s.rule for s in result.report.plan.steps)
        return Verdict(None, None, Counter(o.name for o in self.graph.operators), rules, stages(model), len(excluded))

    def settled(self, data: bytes) -> tuple[Result, frozenset[Key]]:
        """Rewritten with every re-quantizing step that is measured to be no worse, as tflfuse.proof does it.

        Also the steps left out. Fails where one is far worse.
        """
        excluded: frozenset[Key] = frozenset()
        while True:
            result = fuse(data, excluded=excluded, **self.case.options)
            steps = [s for s in result.report.plan.steps if not s.exact and s.after]
            measured = [(s, e) for s in steps if (e := self.error_of(s)) is not None]
            for step, e in measured:
                if far_worse(e):
                    raise Fails(f"estimate: {step.rule} at {step.label} is {e.after_mean:.3g} steps off, was "
                                f"{e.before_mean:.3g}")
            worse = frozenset(s.key for s, e in measured if not e.accepted)
            if not worse:
                return result, excluded
            excluded |= worse

    def error_of(self, step: Step) -> PartError | None:
        """None where nobody runs what the step replaced by itself, as the proof has it."""
        try:
            error = step_error(step, self.runner, PART_RUNS)
            return step_error(step, self.runner) if error is not None and far_worse(error) else error
        except (Unmeasured, Refused):
            return None

    def run(self, kind: str, data: bytes, old: Outcome) -> Outcome:
        new = self.runner.run("TFLM", data, self.inputs)
        failure = new.error or misfit(old, new)
        if failure is not None:
            raise Fails(f"{kind}: {failure}")
        return new

    def require_equal(self, kind: str, result: Result, old: Outcome, new: Outcome) -> None:
        wrong = [str(d) for d in differing(self.graph, old, new) if not d.equal]
        if wrong:
            rules = [s.rule for s in result.report.plan.steps]
            raise Fails(f"{kind}: {'; '.join(wrong)} after {rules}")

    def check_re_quantized(self, result: Result, excluded: frozenset[Key], old: Outcome, new: Outcome) -> None:
        """Near enough to the original; the same bits as without custom operators; its exact steps alone are exact."""
        seen = (Outcome(outcome.outputs[:len(self.sound)]) for outcome in (old, new))
        differences = tuple(differing(self.graph, *seen))
        found = Comparison("TFLM", (), len(self.sound), all(d.equal for d in differences), differences)
        check(found, False, real_throughout(self.graph))
        options = {key: value for key, value in self.case.options.items() if key != "arena"}
        builtin = fuse(self.case.data, custom_ops=False, excluded=excluded, **options)
        self.require_equal("builtin", result, self.run("builtin", builtin.model, old), new)
        exact = fuse(self.case.data, exact=True, **self.case.options)
        if not exact.report.plan.exact:
            raise Fails("exact: a step was taken that is not")
        self.require_equal("exact", exact, old, self.run("exact", exact.model, old))

    def check_form(self, model: Model, result: Result) -> None:
        invariants.check(model)
        if flatbuffer.write(model) != result.model:
            raise Fails("form: reading and writing the result changes bytes")
        if result.report.operators_after.total() > result.report.operators_before.total():
            raise Fails("form: there are more operators than before")

    def check_lowered(self, model: Model, result: Result, new: Outcome) -> None:
        if not fused_operators(model):
            return
        lowered = lower(result.model).model
        if fused_operators(flatbuffer.read(lowered)):
            raise Fails("lowered: a fused operator is left")
        self.require_equal("lowered", result, new, self.run("lowered", lowered, new))

    def check_memory(self, result: Result, old: Outcome, new: Outcome) -> None:
        """The arena is the one that was said, and no larger than TFLM's own plan or the original make it."""
        memory = result.report.memory
        if memory is None or old.arena is None or new.arena is None:
            return
        if memory.plan.head != new.arena.head or memory.plan.head > memory.plan.greedy:
            raise Fails(f"memory: a head of {memory.plan.head} bytes was said, TFLM takes {new.arena.head}, and by its "
                        f"own plan {memory.plan.greedy}")
        most = max(old.arena.total + sum(map(may_add, result.report.plan.steps)), self.case.options.get("arena", 0))
        if new.arena.total > most and most < ROOM:
            raise Fails(f"memory: the arena is {new.arena.total} bytes, was {old.arena.total}")

    def check_certificate(self, model: Model, result: Result) -> None:
        certificate = certificate_of(model)
        made = [s for s in result.report.plan.steps if s.rule == "chain_runs"]
        groups = () if certificate is None else certificate.groups
        if sorted(g.digest for g in groups) != sorted(digest_of(s.before) for s in made):
            raise Fails("certificate: its groups are not the operators that were replaced")

    def check_again(self, result: Result) -> None:
        """A second run changes nothing; the first run, once more, gives the same; another byte would be seen."""
        again = self.settled(result.model)[0]
        if again.model != result.model:
            raise Fails(f"again: a second run changes something: {[s.rule for s in again.report.plan.steps]}")
        if self.settled(self.case.data)[0].model != result.model:
            raise Fails("again: the same run gives other bytes")
        other = flatbuffer.read(result.model)
        if operators := fused_operators(other):
            damage(operators[self.case.seed % len(operators)], self.case.seed)
            if not seen(flatbuffer.write(other), result.model):
                raise Fails("certificate: another constant is not seen")


def far_worse(error: PartError) -> bool:
    """Not by luck: the rule that took the step was wrong."""
    return error.before_mean <= SENSIBLE and error.after_mean > FAR_OFF[0] * error.before_mean + FAR_OFF[1]


def seen(other: bytes, derived: bytes) -> bool:
    """The file is refused, or told to differ."""
    try:
        return difference_of(other, derived) is not None
    except BadModel:
        return True


def may_add(step: Step) -> int:
    """Bytes by which a fold may make the arena larger: the options of a RESHAPE that stands for another operator, and
    a value that somebody reads now instead of a later one, which others need still."""
    before, after = ([o.name for o in operators].count("RESHAPE") for operators in (step.removed, step.after))
    stays = step.before[:1] if step.before and len(step.removed) < len(step.before) else ()
    kept = sum(t.nbytes + ALIGNMENT for o in stays for t in o.inputs if t is not None and not t.is_constant)
    return RESHAPE_KEEPS * (after - before) + kept


def damage(operator: Operator, seed: int) -> None:
    """Another byte somewhere in a fused operator's constants."""
    constants = operator.inputs[-1]
    assert constants is not None and constants.buffer.data is not None
    data = constants.buffer.data.copy()
    data[seed % len(data)] ^= 1
    constants.buffer.data = data


def runnable(data: bytes) -> bytes:
    """The model without the biases that are listed and not there, which TFLM's DEPTHWISE_CONV_2D would read."""
    model = flatbuffer.read(data)
    listed = [o for o in model.operators if o.name == "DEPTHWISE_CONV_2D" and o.inputs[2:] == [None]]
    for operator in listed:
        operator.inputs.pop()
    return flatbuffer.write(model) if listed else data


def hard_inputs(graph: Subgraph, seed: int) -> list[list[Array]]:
    """Real inputs with numbers among them that overflow or are none, integers at random; none of integers alone."""
    if not any(t.dtype.kind == "f" for t in graph.inputs):
        return []
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


def stages(model: Model) -> Counter[str]:
    """How often each kind of stage, and each operator in a table, stands in the model's fused operators."""
    return Counter(name for operator in fused_operators(model) for name in stage_names(operator))


def stage_names(operator: Operator) -> Iterator[str]:
    for stage in (link.stage for link in chain_of(operator).links):
        kind = type(stage).__name__
        if isinstance(stage, Add):
            kind += " of two" if stage.constant is None else " of a constant"
        yield kind
        if isinstance(stage, Table):
            yield from (f"{kind}: {step.name}" for step in stage.program)
