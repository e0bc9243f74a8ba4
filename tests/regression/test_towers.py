"""Towers of hundreds of operators: once a RecursionError, and twenty seconds for 300 multiplications."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer, fuse
from tflfuse.folds import FOLDS
from tflfuse.ir import Subgraph, Tensor
from tflfuse.pattern import HOLE, TALLEST, Match, Node, Pattern, Producers, Rule, chain, const, op, producers_of, var
from tflfuse.plan import View, plan

HEIGHT = 1200
"""Steps: more than Python's stack holds, were each a call within the last."""


def tower(b: Build, value: Tensor, kind: str, height: int) -> Tensor:
    more = [] if kind == "RELU" else [b.constant(np.full(4, 2, np.float32))]
    for _ in range(height):
        value = b.op(kind, [value, *more], value.shape)
    return value


@pytest.mark.parametrize("kind", ["RELU", "MUL"])
def test_a_tower_over_nothing_is_left_as_it_is(kind: str) -> None:
    b = Build()
    data = b.bytes(tower(b, b.input((1, 4)), kind, HEIGHT))
    assert fuse(data, custom_ops=False).model == data


def test_a_tower_taller_than_the_tallest_match_goes_in_parts() -> None:
    b = Build()
    y = b.dense(b.input((1, 4)), b.constant(np.eye(4, dtype=np.float32)))
    result = fuse(b.bytes(tower(b, y, "MUL", 2 * TALLEST + 1)), custom_ops=False)
    model = flatbuffer.read(result.model)
    assert names(model) == ["FULLY_CONNECTED"] and len(result.report.plan.steps) >= 3
    weights = next(model.operators).inputs[1]
    assert weights is not None and np.array_equal(weights.array(), np.eye(4) * 2.0 ** (2 * TALLEST + 1))


class Counting(Pattern):
    """Matches nothing and counts how often it is asked."""

    asked = 0

    def matches(self, value: Tensor | None, so_far: Match, producers: Producers) -> Iterator[Match]:
        self.asked += 1
        return iter(())


def test_the_search_grows_with_the_tower_and_not_with_its_square() -> None:
    asked = []
    for height in (100, 200):
        b = Build()
        tower(b, b.input((1, 4)), "MUL", height)
        base = Counting()
        producers = producers_of(Subgraph(b.tensors, b.inputs, [], b.operators))
        for root in b.operators:
            assert not list(chain(base, op.MUL(HOLE, const("k")), name="steps").at(root, producers))
        asked.append(base.asked)
    assert asked[1] <= 2.5 * asked[0]


def test_rules_are_tried_only_where_a_match_can_end() -> None:
    b = Build()
    z = tower(b, tower(b, b.input((1, 4)), "RELU", 3), "MUL", 2)
    model = b.model(z)
    view = View.of(model, 0)
    step = op.MUL(HOLE, const("k"))

    def ending(*patterns: Pattern) -> list[str]:
        return [o.place for o in view.ending(Rule("r", "", patterns, lambda m: pytest.fail("not built")))]

    assert ending(chain(var("x"), step, name="steps")) == ["#4", "#3"]
    assert ending(op.RELU(var("x")), op.ABS(var("x"))) == ["#2", "#1", "#0"]
    assert ending(Counting(), op.ABS(var("x"))) == ["#4", "#3", "#2", "#1", "#0"]


def test_every_rule_but_the_evaluation_of_constants_says_where_it_can_end() -> None:
    assert [r.name for r in FOLDS if isinstance(r, Rule) and r.roots is None] == ["evaluate_constants"]
    assert isinstance(op.ABS(var("x")), Node) and not plan(Build().model(), FOLDS).steps
