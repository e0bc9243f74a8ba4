"""What every fold is held against: the same bits, or no larger an error, in the interpreter."""
from __future__ import annotations

import atexit
from collections.abc import Sequence
from functools import cache

from tflfuse import flatbuffer
from tflfuse.inputs import tries
from tflfuse.ir import Array, Model, Tensor
from tflfuse.part import part_error
from tflfuse.pattern import Rule, Sweep
from tflfuse.plan import Plan, rewrite
from tflfuse.runner import LiteRt, Runner
from tflfuse.tflm import Interpreter

from ..build import Build, names

Rules = Sequence[Rule | Sweep]


@cache
def runner() -> Runner:
    """One process for all measurements: starting one takes longer than a measurement."""
    one = Runner()
    atexit.register(one.__exit__, None, None, None)
    return one


def outputs(data: bytes, runs: int = 4, litert: bool = False) -> list[Array]:
    """All outputs for random, all-minimum, all-maximum and all-zero inputs, in TFLM or in LiteRT."""
    interpreter = LiteRt(data) if litert else Interpreter(data)
    graph = flatbuffer.read(data).subgraphs[0]
    return [a.copy() for arrays in tries(graph, runs, seed=3) for a in interpreter.run(arrays)]


def same_bits(before: bytes, after: bytes, litert: bool = False) -> None:
    old, new = outputs(before, litert=litert), outputs(after, litert=litert)
    assert len(old) == len(new)
    for a, b in zip(old, new):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def folded(b: Build, *out: Tensor, rules: Rules) -> tuple[bytes, bytes, Model, Plan]:
    """The file before and after; a second run changes nothing."""
    model = b.model(*out)
    before = flatbuffer.write(model)
    plan = rewrite(model, rules)
    after = flatbuffer.write(model)
    again = flatbuffer.read(after)
    assert not rewrite(again, rules).steps
    return before, after, model, plan


def exact(b: Build, *out: Tensor, rules: Rules, litert: bool = False) -> Model:
    """Fold something, keep the bits."""
    before, after, model, plan = folded(b, *out, rules=rules)
    assert plan.steps and plan.exact
    same_bits(before, after, litert)
    return model


def closer(b: Build, *out: Tensor, rules: Rules, runs: int | None = None) -> Model:
    """Fold something that changes bits, go no further from the real-valued function."""
    before, after, model, plan = folded(b, *out, rules=rules)
    assert plan.steps and not plan.exact
    error = part_error(before, after, runs, runner())
    assert error is not None and error.counted >= 1000
    assert error.accepted, error
    assert error.overall_after <= error.overall_before, error
    return model


def refused(b: Build, *out: Tensor, rules: Rules) -> list[str]:
    """Change nothing; the reasons."""
    model = b.model(*out)
    before = names(model), flatbuffer.write(model)
    plan = rewrite(model, rules)
    assert not plan.steps
    assert (names(model), flatbuffer.write(model)) == before
    return [r.reason for r in plan.refusals]
