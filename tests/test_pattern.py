"""What patterns match, and in which order."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build
from tflfuse.errors import Refused
from tflfuse.ir import Subgraph
from tflfuse.pattern import (HOLE, Match, Pattern, Sweep, chain, const, fold, op, producers_of, require, sweep, var,
                             where)


def matches(pattern: Pattern, b: Build, root: int = -1) -> list[Match]:
    graph = Subgraph(b.tensors, b.inputs, [], b.operators)
    return list(pattern.at(b.operators[root], producers_of(graph)))


def one(pattern: Pattern, b: Build, root: int = -1) -> Match:
    (match,) = matches(pattern, b, root)
    return match


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


x, c = var("x"), const("c")


def test_names_stand_for_tensors_and_operators_in_the_order_of_execution() -> None:
    b = Build()
    a, k = b.input((2,)), b.constant(f32(1, 2))
    y = b.op("RELU", [b.op("SUB", [a, k], (2,))], (2,))
    match = one(op.RELU(op.SUB(x, c, name="sub"), name="relu"), b)
    assert match.x is a and match.c is k and [match.sub, match.relu] == b.operators
    assert match.operators == tuple(b.operators) and match.root.outputs == [y]
    with pytest.raises(AttributeError, match="the pattern names no 'z'"):
        match.z


@pytest.mark.parametrize("kind, commutes", [("ADD", True), ("MUL", True), ("MAXIMUM", True), ("MINIMUM", True),
                                            ("SUB", False), ("DIV", False), ("POW", False)])
def test_operands_of_commutative_operators_match_in_both_orders(kind: str, commutes: bool) -> None:
    b = Build()
    a, k = b.input((2,)), b.constant(f32(1, 2))
    b.op(kind, [k, a], (2,))
    found = matches(getattr(op, kind)(x, c), b)
    assert len(found) == (1 if commutes else 0)
    assert all(m.x is a and m.c is k for m in found)


def test_a_variable_matches_constants_too_and_every_way_is_tried() -> None:
    b = Build()
    k, q = b.constant(f32(1)), b.constant(f32(2))
    b.op("ADD", [k, q], (1,))
    assert [(m.x, m.c) for m in matches(op.ADD(x, c), b)] == [(k, q), (q, k)]


def test_a_name_used_twice_is_one_tensor() -> None:
    b = Build()
    a, other = b.input((1,)), b.input((1,))
    b.op("SUB", [a, a], (1,))
    b.op("SUB", [a, other], (1,))
    assert matches(op.SUB(x, x), b, 0) and not matches(op.SUB(x, x), b, 1)


def test_a_variable_tensor_with_data_is_no_constant() -> None:
    b = Build()
    b.op("NEG", [b.constant(f32(1), is_variable=True)], (1,))
    assert not matches(op.NEG(c), b) and matches(op.NEG(x), b)


def test_an_optional_operand_may_be_there_left_out_or_beyond_the_end() -> None:
    pattern = op.FULLY_CONNECTED(x, const("w"), const("bias", optional=True), name="fc")
    b = Build()
    a, w, bias = b.input((1, 2)), b.constant(np.ones((2, 2), np.float32)), b.constant(f32(1, 2))
    for inputs in ([a, w, bias], [a, w, None], [a, w]):
        b.add("FULLY_CONNECTED", inputs, [b.tensor((1, 2))])
    assert [one(pattern, b, n).bias for n in range(3)] == [bias, None, None]
    needed = op.FULLY_CONNECTED(x, const("w"), const("bias"))
    assert [len(matches(needed, b, n)) for n in range(3)] == [1, 0, 0]
    b.add("FULLY_CONNECTED", [a, w, a], [b.tensor((1, 2))])
    assert not matches(pattern, b)


def test_more_operands_than_named_match_only_where_the_pattern_says_so() -> None:
    b = Build()
    a = b.input((1,))
    b.op("CONCATENATION", [a, a, a], (3,))
    assert not matches(op.CONCATENATION(x), b)
    assert one(op.CONCATENATION(x, ...), b).x is a
    assert len(matches(op.CONCATENATION(...), b)) == 1


def test_one_of_several_kinds() -> None:
    b = Build()
    b.op("RELU6", [b.input((1,))], (1,))
    assert one((op.RELU | op.RELU6)(x, name="relu"), b).relu.name == "RELU6"
    assert not matches((op.RELU | op.NEG)(x), b)


def test_an_operator_with_two_outputs_is_not_matched() -> None:
    b = Build()
    first, second = b.tensor((1,)), b.tensor((1,))
    b.add("SPLIT", [b.constant(np.array(0, np.int32)), b.input((2,))], [first, second], num_splits=2)
    b.op("NEG", [first], (1,))
    assert not matches(op.SPLIT(...), b, 0) and not matches(op.NEG(op.SPLIT(...)), b)


def test_custom_operators_are_named_in_full() -> None:
    b = Build()
    b.op("CUSTOM:Mine", [b.input((1,))], (1,))
    assert matches(getattr(op, "CUSTOM:Mine")(x), b)


def test_a_chain_matches_the_longest_tower_first() -> None:
    b = Build()
    a = y = b.op("RELU", [b.input((2,))], (2,))
    constants = [b.constant(f32(n, n)) for n in range(3)]
    for kind, k in zip(("MUL", "ADD", "MUL"), constants, strict=True):
        y = b.op(kind, [k, y] if kind == "ADD" else [y, k], (2,))
    steps = op.MUL(HOLE, const("k"), name="op"), op.ADD(HOLE, const("k"), name="op")
    found = matches(chain(var("base"), *steps, name="steps"), b)
    assert [len(m.steps) for m in found] == [3, 2, 1]
    assert found[0].base is a and [s.k for s in found[0].steps] == constants
    assert [s.op for s in found[0].steps] == b.operators[1:] and found[0].operators == tuple(b.operators[1:])
    based = one(chain(op.RELU(x, name="relu"), *steps, name="steps"), b)
    assert based.relu is b.operators[0] and len(based.steps) == 3 and based.operators == tuple(b.operators)
    assert not matches(chain(op.RELU(x), *steps, name="steps"), b, 0)


def test_where_narrows_a_pattern_down() -> None:
    b = Build()
    b.op("NEG", [b.input((2,))], (2,))
    assert matches(where(op.NEG(x), lambda m: m.x.shape == (2,)), b)
    assert not matches(where(op.NEG(x), lambda m: m.x.shape == (3,)), b)
    assert not matches(where(op.NEG(x), lambda m: bool(m.x.array().any())), b)


def test_require_refuses_with_reason_and_place() -> None:
    require(True, "never")
    with pytest.raises(Refused) as refused:
        require(False, "this is why", at=7)
    assert (refused.value.reason, refused.value.at) == ("this is why", 7)


def test_a_rule_is_called_and_described_like_its_function() -> None:
    @fold(op.NEG(x), op.ABS(x), shared=True)
    def some_rule(m: Match) -> Any:
        """What it does.

        More of it.
        """

    @sweep
    def some_sweep(model: Any) -> Any:
        """What it sweeps."""

    assert (some_rule.name, some_rule.summary, len(some_rule.patterns), some_rule.shared) == (
        "some_rule", "What it does.", 2, True)
    assert isinstance(some_sweep, Sweep) and (some_sweep.name, some_sweep.summary) == ("some_sweep", "What it sweeps.")


def test_both_operands_of_one_tensor_bind_once_each_way() -> None:
    b = Build()
    t = b.op("NEG", [b.input((1,))], (1,))
    b.op("ADD", [t, t], (1,))
    assert [m.other for m in matches(op.ADD(op.NEG(x), var("other")), b)] == [t, t]
