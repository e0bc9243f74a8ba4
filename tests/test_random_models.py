"""Random small models: folded, they give what they gave. More of them: scripts/prove_folds."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.build import names
from tests.random_checks import judged
from tests.random_models import FEWEST, MOST, Recipe, smallest
from tflfuse.folds import FOLDS
from tflfuse.pattern import Match, Replacement, alias, fold, op, var
from tflfuse.runner import Runner

MODELS = 300
NUMBER = st.integers(0, 2 ** 32 - 1)
RECIPES = st.builds(Recipe, NUMBER, st.lists(NUMBER, min_size=FEWEST, max_size=MOST).map(tuple))


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as one:
        yield one


def test_random_models_give_the_same_when_folded(runner: Runner) -> None:
    counts: Counter[str] = Counter()
    rules: Counter[str] = Counter()

    @settings(max_examples=MODELS, derandomize=True, database=None, deadline=None,
              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(RECIPES)
    def every(recipe: Recipe) -> None:
        verdict = judged(recipe.bytes(), recipe.seed, runner)
        counts["tried"] += 1
        counts["refused"] += verdict.refused is not None
        rules.update(verdict.steps)
        assert verdict.failure is None, f"{verdict.failure}: {names(recipe.model())}"

    every()
    assert counts["tried"] >= MODELS and counts["refused"] * 3 <= counts["tried"]
    assert {"affine_after", "affine_before", "activation_into_producer", "quantize_into_producer", "cancel_quantize",
            "pad_into_conv", "evaluate_constants", "reshape_chain", "inverse_transpose"} <= set(rules)


def test_a_wrong_fold_is_found_and_its_model_made_small(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    @fold(op.LEAKY_RELU(var("x")))
    def forget(m: Match) -> Replacement:
        """Leave out what matters."""
        return alias(m.x)

    monkeypatch.setattr("tflfuse.pipeline.FOLDS", (*FOLDS, forget))

    def fails(recipe: Recipe) -> bool:
        return judged(recipe.bytes(), 1, runner).failure is not None

    long = (r for r in map(Recipe.of, range(100)) if len(r.steps) > 3 and "LEAKY_RELU" in names(r.model()))
    failing = next(r for r in long if fails(r))
    small = smallest(failing, fails)
    assert "LEAKY_RELU" in names(small.model()) and len(small.steps) <= 3 < len(failing.steps)
