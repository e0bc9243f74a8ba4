"""Random small models give what they gave, folded, fused and lowered. More of them: scripts/prove."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.build import Build, names
from tests.quick import Quick
from tests.random_cases import Case, case_of
from tests.random_checks import judged
from tests.random_models import Recipe
from tests.smaller import smallest, snippet
from tflfuse import chain, flatbuffer
from tflfuse.folds import FOLDS
from tflfuse.pattern import Match, Replacement, alias, fold, op, replace_by, var, where
from tflfuse.stages_conv import conv_stage

MODELS = 200
STAGES = {"Convolution", "Depthwise", "Add of two", "Add of a constant", "Multiply", "Pad", "Slice", "AveragePool",
          "MaxPool", "GlobalAverage", "Mean", "Table", "Transpose"}


@pytest.fixture(scope="module")
def runner() -> Iterator[Quick]:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    with Quick() as one:
        yield one


def test_random_models_give_the_same_and_reach_every_rule_and_stage(runner: Quick) -> None:
    rules: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    for seed in range(MODELS):
        verdict = judged(case_of(seed), runner)
        assert verdict.failure is None, f"seed {seed}: {verdict.failure}"
        assert verdict.refused is None, f"seed {seed}: {verdict.refused}"
        rules += verdict.rules
        stages += verdict.stages
    assert {rule.name for rule in FOLDS} | {"chain_runs", "order"} == set(rules)
    assert STAGES == {name for name in stages if ":" not in name}
    assert len(STAGES) == len(every_stage()) + 1, "ADD is told apart by what it adds"


def every_stage() -> set[type]:
    kinds = {kind for kind in vars(chain).values() if isinstance(kind, type) and issubclass(kind, chain.Stage)}
    return kinds - {chain.Stage, chain.Pool}


@pytest.mark.parametrize("seed", range(10))
def test_a_seed_gives_one_model(seed: int) -> None:
    assert case_of(seed) == case_of(seed)


@fold(op.LEAKY_RELU(var("x")))
def forget(m: Match) -> Replacement:
    """Leave out what matters."""
    return alias(m.x)


@fold(where(op.LEAKY_RELU(var("x")), lambda m: m.root.option("alpha") != 0.5))
def steeper(m: Match) -> Replacement:
    """Take it for a step that only rounds otherwise."""
    assert m.root.options is not None
    return replace_by(m.root.like(options=m.root.options.with_(alpha=0.5)), exact=False)


def test_a_wrong_re_quantizing_fold_is_found(runner: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflfuse.pipeline.FOLDS", (steeper,))
    b = Build()
    x = b.input((1, 4, 4, 2), scale=0.05)
    model = b.model(b.op("LEAKY_RELU", [x], x.shape, scale=0.05, alpha=0.25))
    told = judged(Case(1, flatbuffer.write(model)), runner).failure
    assert told is not None and told.startswith("estimate: steeper")


def test_two_values_that_do_not_saturate_are_not_enough_to_judge_by(runner: Quick) -> None:
    verdict = judged(case_of(32434), runner)
    assert verdict.failure is None and verdict.excluded == 1


def test_a_wrong_fold_is_found_and_told_by_a_small_model(runner: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflfuse.pipeline.FOLDS", (*FOLDS, forget))

    def failure(data: bytes) -> str | None:
        return judged(Case(1, data), runner).failure

    recipes = (r for r in map(Recipe.of, count()) if len(r.steps) > 3 and "LEAKY_RELU" in names(r.model()))
    long = next(r for r in recipes if (failure(r.bytes()) or "").startswith("fused:"))
    small = smallest(long.bytes(), lambda data: (failure(data) or "").startswith("fused:"))
    built: dict[str, Any] = {}
    exec(snippet(flatbuffer.read(small)), built)
    assert names(built["model"]).count("LEAKY_RELU") == 1 and len(names(built["model"])) <= 2
    told = failure(built["data"])
    assert told is not None and told.startswith("fused:") and "'forget'" in told


def test_a_wrong_stage_is_found(runner: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain whose convolutions add one more than they should."""
    right = conv_stage

    def wrong(*given: Any) -> chain.Convolution:
        made = right(*given)
        return type(made)(**{**vars(made), "bias": made.bias + 1000})

    monkeypatch.setattr("tflfuse.stages.conv_stage", wrong)
    verdicts = [judged(case_of(seed), runner) for seed in range(8, 60, 10)]  # chains
    assert any((v.failure or "").startswith("fused:") for v in verdicts)


def test_what_the_interpreter_cannot_load_is_told(runner: Quick) -> None:
    model = flatbuffer.read(case_of(0).data)
    outcome = runner.run("TFLM", flatbuffer.write(model)[:40], [])
    assert outcome.error is not None
    again = judged(case_of(8), runner)
    assert again.failure is None and again.refused is None
