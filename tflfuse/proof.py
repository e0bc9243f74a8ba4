"""Run what came out against what went in, before anything is written.

Steps that claim to keep every bit must: the model rewritten by such steps alone has equal outputs, or the result is
withheld. A re-quantizing step is measured by itself, against the real-valued function of the operators it replaced; one
that is further from it than they were is left out and the model is rewritten without it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tflite import TensorType

from . import flatbuffer
from .errors import Refused, TflfuseError
from .ir import Subgraph, Tensor
from .part import PartError, Unmeasured, extract, part_error
from .pipeline import fuse, lower
from .plan import Key, Step
from .result import Result
from .runner import Runner
from .tflm import Arena, TflmError, installed, library
from .verify import Comparison, verify

FLOAT_TOLERANCE = 1e-3
"""Of an output's range: folding a factor into float32 weights rounds each of them once more (2**-24 of itself), which a
deep network was seen to amplify to about 1e-5; a wrong fold shows as far more than this."""


class Differs(TflfuseError):
    """The fused model does not give the outputs that it must."""


class Unproved(TflfuseError):
    """Something that was asked for cannot be measured."""


@dataclass(frozen=True)
class Measured:
    """A re-quantizing step and its error; None where its output is no quantized integer.

    reason: why a step was not measured whose output is one; its own estimate is all that speaks for it then.
    """

    step: Step
    error: PartError | None
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        e = self.error
        numbers = e and {"before_mean": e.before_mean, "after_mean": e.after_mean, "before_max": e.before_max,
                         "after_max": e.after_max, "values": e.counted}
        return {"rule": self.step.rule, "operator": self.step.label, "error_in_steps": numbers,
                "not_measured": self.reason}


@dataclass(frozen=True)
class Proof:
    """whole: the result against the original. exact_part: the same for the exact steps alone, where others fired."""

    whole: Comparison
    exact_part: Comparison | None = None
    measured: tuple[Measured, ...] = ()

    @property
    def arena_before(self) -> Arena | None:
        return self.whole.arena_before

    @property
    def arena_after(self) -> Arena | None:
        return self.whole.arena_after

    @property
    def tflm_fails(self) -> bool:
        """TFLM is there and did not run the original: what it would need of an arena means nothing then."""
        return self.arena_before is None and installed()

    def lines(self, brief: bool = False) -> list[str]:
        """What ran and what came out. brief: of many outputs and reasons the first."""
        whole = self.whole.brief if brief else self.whole.summary
        lines = [f"verified: {whole}" if self.whole.conclusive else whole]
        if self.exact_part:
            lines.append(f"exact steps alone: {self.exact_part.brief if brief else self.exact_part.summary}")
        errors = [m.error for m in self.measured if m.error is not None]
        if errors:
            worst = max(errors, key=lambda e: e.after_mean)
            each = "1 re-quantizing step, " if len(errors) == 1 else f"{len(errors)} re-quantizing steps, each "
            lines.append(f"{each}no further from the real function than before: mean error at most "
                         f"{worst.after_mean:.3f} steps (was {worst.before_mean:.3f})")
        missing = [m.reason for m in self.measured if m.reason is not None]
        if missing:
            why = f": {missing[0]}" if self.whole.interpreter else ""
            number = "1 re-quantizing step" if len(missing) == 1 else f"{len(missing)} re-quantizing steps"
            lines.append(f"{number} not measured, --exact takes none{why}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        before, after = self.arena_before, self.arena_after
        arena = {"before": before.total, "after": after.total} if before and after else None
        return {"arena": arena, "whole": self.whole.as_dict(), "re_quantizing": [m.as_dict() for m in self.measured],
                "exact_part": self.exact_part.as_dict() if self.exact_part else None}


def fuse_and_prove(model: bytes, runs: int = 4, progress: Callable[[str], None] = lambda what: None,
                   exact: bool = False, **options: Any) -> Result:
    """pipeline.fuse, then the proof; the result's report carries it.

    runs: random inputs, besides the extreme ones. options: custom_ops, keep_dynamic.
    Raises Differs where the outputs are not what they must be.
    """
    result, found, excluded = settled(model, progress, exact=exact, **options)
    require_kernels(result)
    progress("running both models")
    whole = verify(model, result.model, runs=runs)
    check(whole, result.report.plan.exact, real_throughout(flatbuffer.read(model).subgraphs[0]))
    part = None
    if not result.report.plan.exact and whole.conclusive:
        alone = fuse(model, exact=True, excluded=excluded, **options)
        if alone.report.changed:
            part = verify(model, alone.model, runs=runs)
            check(part, exact=True)
    return replace(result, report=replace(result.report, proof=Proof(whole, part, found)))


def settled(model: bytes, progress: Callable[[str], None] = lambda what: None,
            **options: Any) -> tuple[Result, tuple[Measured, ...], frozenset[Key]]:
    """pipeline.fuse without the re-quantizing steps that are measured to be worse; what was measured; those steps."""
    excluded: frozenset[Key] = frozenset()
    while True:
        progress("rewriting")
        result = fuse(model, excluded=excluded, **options)
        progress("measuring re-quantizing steps")
        found = tuple(measure(result))
        worse = frozenset(m.step.key for m in found if m.error is not None and not m.error.accepted)
        if not worse:
            return result, found, excluded
        excluded |= worse


def require_kernels(result: Result) -> None:
    """Say that the kernels are missing before a run in TFLM fails for want of them."""
    if installed() and any(name.startswith("CUSTOM:TFLFUSE_") for name in result.report.operators_after):
        try:
            library()
        except TflmError as error:
            raise Unproved(f"{error}; without it: --builtin-only, or --no-verify to write unproved") from error


def lower_and_prove(model: bytes, runs: int = 4, progress: Callable[[str], None] = lambda what: None) -> Result:
    """pipeline.lower, then the proof that every output has the same bits."""
    progress("lowering")
    result = lower(model)
    progress("running both models")
    whole = verify(model, result.model, runs=runs)
    check(whole, exact=True)
    return replace(result, report=replace(result.report, proof=Proof(whole)))


def measure(result: Result) -> list[Measured]:
    """Each re-quantizing step by itself."""
    steps = [s for s in result.report.plan.steps if not s.exact and s.after]
    if not steps:
        return []
    with Runner() as runner:
        return [measured(s, runner) for s in steps]


def measured(step: Step, runner: Runner) -> Measured:
    try:
        return Measured(step, step_error(step, runner))
    except (Unmeasured, Refused) as error:
        return Measured(step, None, str(error))


def step_error(step: Step, runner: Runner, runs: int | None = None) -> PartError | None:
    """The error of the operators that a step replaced and of those that it put there; runs: see part_error."""
    computed = {t for o in step.before for t in o.outputs}
    read: list[Tensor] = [t for o in step.before for t in o.inputs if t is not None]
    inputs = [t for t in dict.fromkeys(read) if t not in computed and not t.is_constant]
    outputs = step.before[-1].outputs
    return part_error(extract(step.before, inputs, outputs), extract(step.after, inputs, outputs), runs, runner)


def real_throughout(graph: Subgraph) -> list[bool]:
    """For each output whether it is computed from real numbers alone.

    One that comes from quantized integers may be a whole step of theirs off where a re-quantizing step was taken.
    """
    def of_steps(tensor: Tensor) -> bool:
        return tensor.is_quantized and tensor.type != TensorType.FLOAT32

    rounded = {t for t in graph.inputs if of_steps(t)}
    for operator in graph.operators:
        if any(of_steps(t) for t in operator.outputs) or not rounded.isdisjoint(operator.inputs):
            rounded.update(operator.outputs)
    return [t not in rounded for t in graph.outputs]


def check(found: Comparison, exact: bool, real: Sequence[bool] = ()) -> None:
    """Raise Differs where the comparison does not bear out what the steps claim.

    real: which outputs are computed from real numbers alone, and so must be equal but for their rounding.
    """
    if found.failure is None and (found.equal or not found.conclusive):
        return
    floats = [d for d, alone in zip(found.outputs, real) if alone and d.relative is not None]
    if found.failure is not None or exact or any((d.relative or 0) > FLOAT_TOLERANCE for d in floats):
        raise Differs(found.summary)
