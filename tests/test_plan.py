"""The rule engine, with toy rules: what it does for every rule, so that no rule has to."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer, invariants
from tflfuse.errors import BadModel, TflfuseError
from tflfuse.ir import Model, Operator, OperatorCode, Signature, Tensor
from tflfuse.pattern import (HOLE, Bake, Match, Replacement, alias, chain, const, constant, fold, op, replace_by,
                             require, sweep, var)
from tflfuse.plan import Plan, Refusal, apply, plan, rewrite

READERS = "its result has more than one reader"
OUTPUT = "its result is an output of the model"
CONNECTS = "it connects an input or a constant, or another output, with an output of the model"
ORDER = "it reads a variable, whose value depends on the order"

x = var("x")


def become(root: Operator, kind: str, *inputs: Tensor) -> Replacement:
    return replace_by(Operator(OperatorCode.of(kind), list(inputs), list(root.outputs)))


@fold(op.RELU(op.NEG(x), name="relu"))
def merge(m: Match) -> Replacement:
    """RELU(NEG(x)) -> SQUARE(x)"""
    return become(m.relu, "SQUARE", m.x)


@fold(op.RELU(op.NEG(x), name="relu"), shared=True)
def merge_shared(m: Match) -> Replacement:
    """RELU(NEG(x)) -> SQUARE(x), the NEG may have other readers"""
    return become(m.relu, "SQUARE", m.x)


@fold(op.ADD(op.NEG(x), var("y"), name="add"))
def into_add(m: Match) -> Replacement:
    """ADD(NEG(x), y) -> SUB(y, x)"""
    return become(m.add, "SUB", m.y, m.x)


@fold(op.ABS(x))
def skip(m: Match) -> Replacement:
    """ABS(x) -> x"""
    return alias(m.x)


@fold(op.SHAPE(x, name="shape"))
def known(m: Match) -> Replacement:
    """SHAPE(x) -> constant"""
    return constant(np.array(m.x.shape, np.int32))


def unary(b: Build, kind: str, value: Tensor) -> Tensor:
    return b.op(kind, [value], value.shape)


def started() -> tuple[Build, Tensor]:
    """A graph with an input and the value of a first operator."""
    b = Build()
    return b, unary(b, "EXP", b.input((2,)))


def refusals(model: Model, *rules: Any) -> list[tuple[str, str]]:
    """Nothing is done; the refusals by place and reason."""
    before = flatbuffer.write(model)
    done = rewrite(model, rules)
    assert not done.steps and flatbuffer.write(model) == before
    return [(r.place, r.reason) for r in done.refusals]


def producer(model: Model, value: Tensor) -> str:
    (found,) = [o.name for o in model.operators if value in o.outputs]
    return found


# What lies inside a match

@pytest.mark.parametrize("reader", ["ADD", "RESHAPE", "RELU"])
def test_a_value_with_a_second_reader_is_not_swallowed(reader: str) -> None:
    b, start = started()
    inner = unary(b, "NEG", start)
    first = unary(b, "RELU", inner)
    second = b.op("ADD", [inner, first], (2,)) if reader == "ADD" else unary(b, reader, inner)
    expected = [("#2", READERS)] if reader != "RELU" else [("#3", READERS), ("#2", READERS)]
    assert refusals(b.model(first, second), merge) == expected


def test_two_uses_of_one_tensor_are_two_readers() -> None:
    b, start = started()
    inner = unary(b, "NEG", start)
    y = b.op("ADD", [inner, inner], (2,))
    assert refusals(b.model(y), into_add) == [("#2", READERS)]
    outputs = b.model(y, y)
    assert refusals(outputs, into_add) == [("#2", READERS)] and outputs.subgraphs[0].outputs == [y, y]


def test_an_output_or_a_value_in_a_signature_is_not_swallowed() -> None:
    b, start = started()
    inner = unary(b, "NEG", start)
    y = unary(b, "RELU", inner)
    assert refusals(b.model(y, inner), merge) == [("#2", OUTPUT)]
    model = b.model(y)
    model.signatures = [Signature(b"s", [], [(b"inner", inner)])]
    assert refusals(model, merge) == [("#2", OUTPUT)]


def test_a_value_in_another_subgraphs_signature_does_not_count() -> None:
    b, start = started()
    y = unary(b, "RELU", unary(b, "NEG", start))
    c, other = started()
    model = b.model(y)
    model.subgraphs += c.model(other).subgraphs
    model.signatures = [Signature(b"s", [], [(b"y", other)], subgraph_index=1)]
    assert rewrite(model, [merge]).steps and names(model) == ["EXP", "SQUARE"]


def test_a_merged_value_with_many_readers_is_read_by_all_of_them_still() -> None:
    b, start = started()
    merged = unary(b, "RELU", unary(b, "NEG", start))
    ends = [unary(b, kind, merged) for kind in ("EXP", "SIN", "COS")]
    model = b.model(ends[0], merged, *ends[1:], merged, signature=True)
    rewrite(model, [merge])
    graph = model.subgraphs[0]
    assert names(model) == ["EXP", "SQUARE", "EXP", "SIN", "COS"]
    assert [o.inputs for o in graph.operators[2:]] == [[merged]] * 3
    assert graph.outputs == [ends[0], merged, *ends[1:], merged] and graph.inputs == b.inputs
    assert model.signatures is not None and [t for _, t in model.signatures[0].outputs] == graph.outputs


def test_the_last_operator_fuses_although_nobody_reads_it() -> None:
    b, start = started()
    last = unary(b, "RELU", unary(b, "NEG", start))
    model = b.model(start)
    rewrite(model, [merge])
    assert names(model) == ["EXP", "SQUARE"] and producer(model, last) == "SQUARE"


# Order

def test_the_new_operator_stands_where_the_last_one_stood() -> None:
    b = Build()
    p, q = b.input((2,)), b.input((2,))
    a = unary(b, "NEG", p)
    y = b.op("ADD", [a, unary(b, "EXP", q)], (2,))
    z = unary(b, "SIN", y)
    model = b.model(z)
    rewrite(model, [into_add])
    assert names(model) == ["EXP", "SUB", "SIN"] and model.subgraphs[0].operators[1].place == "#2"


def test_what_would_be_a_cycle_is_refused() -> None:
    b, start = started()
    a = unary(b, "NEG", start)
    y = b.op("ADD", [a, unary(b, "SIN", a)], (2,))
    assert refusals(b.model(y), into_add) == [("#3", READERS)]


@pytest.mark.parametrize("rule", [merge, merge_shared])
def test_an_operator_that_reads_a_variable_does_not_move(rule: Any) -> None:
    b, start = started()
    y = unary(b, "RELU", unary(b, "NEG", b.tensor((2,), is_variable=True)))
    assert refusals(b.model(start, y), rule) == [("#2", ORDER)]


def test_a_variable_may_be_read_where_it_was_read() -> None:
    b, start = started()

    @fold(op.NEG(x, name="neg"))
    def in_place(m: Match) -> Replacement:
        """NEG(x) -> SQUARE(x)"""
        return become(m.neg, "SQUARE", m.x)

    model = b.model(start, unary(b, "NEG", b.tensor((2,), is_variable=True)))
    rewrite(model, [in_place])
    assert names(model) == ["EXP", "SQUARE"]


def test_a_variable_stands_for_no_other_value() -> None:
    b, start = started()
    state = b.tensor((2,), is_variable=True)
    y = b.op("ADD", [unary(b, "ABS", state), start], (2,))
    b.add("ABS", [y], [state])
    reason = "a variable's value depends on the order"
    assert refusals(b.model(y), skip) == [("#3", reason), ("#1", reason)]


# Several rules, several rounds

@fold(op.RELU(op.ADD(op.MUL(x, const("g"), name="mul"), const("h")), name="relu"))
def long(m: Match) -> Replacement:
    """RELU(ADD(MUL(x, g), h)) -> SQUARE(x)"""
    return become(m.relu, "SQUARE", m.x)


@fold(op.ADD(op.MUL(x, const("g")), const("h"), name="add"))
def short(m: Match) -> Replacement:
    """ADD(MUL(x, g), h) -> SIN(x)"""
    return become(m.add, "SIN", m.x)


@fold(op.MUL(x, const("g"), name="mul"))
def shortest(m: Match) -> Replacement:
    """MUL(x, g) -> COS(x)"""
    return become(m.mul, "COS", m.x)


def residual() -> tuple[Build, Model]:
    b, start = started()
    g, h = (b.constant(np.ones(2, np.float32)) for _ in range(2))
    y = unary(b, "RELU", b.op("ADD", [h, b.op("MUL", [g, start], (2,))], (2,)))
    return b, b.model(b.op("ADD", [y, start], (2,)))


@pytest.mark.parametrize("rules", [[long, short, shortest], [shortest, short, long], [short, long]])
def test_the_longest_match_wins_because_later_roots_come_first(rules: Any) -> None:
    _, model = residual()
    done = rewrite(model, rules)
    assert names(model) == ["EXP", "SQUARE", "ADD"] and [s.rule for s in done.steps] == ["long"]
    again = flatbuffer.write(model)
    second = flatbuffer.read(again)
    assert not rewrite(second, rules).steps and flatbuffer.write(second) == again


def test_on_one_root_the_rule_that_comes_first_wins() -> None:
    @fold(op.MUL(x, const("g"), name="mul"))
    def other(m: Match) -> Replacement:
        """MUL(x, g) -> TANH(x)"""
        return become(m.mul, "TANH", m.x)

    for rules, kind in (([other, shortest], "TANH"), ([shortest, other], "COS")):
        b, start = started()
        model = b.model(b.op("MUL", [start, b.constant(np.ones(2, np.float32))], (2,)))
        rewrite(model, rules)
        assert names(model) == ["EXP", kind]


def test_where_the_first_way_to_match_is_refused_the_next_one_is_taken() -> None:
    @fold(op.ADD(x, var("y"), name="add"))
    def ordered(m: Match) -> Replacement:
        """ADD(x, y) -> SUB(x, y)"""
        require(m.x.is_constant, "the first operand is not constant", at=m.x)
        return become(m.add, "SUB", m.x, m.y)

    b, start = started()
    k = b.constant(np.ones(2, np.float32))
    model = b.model(b.op("ADD", [start, k], (2,)))
    done = rewrite(model, [ordered])
    assert model.subgraphs[0].operators[1].inputs == [k, start] and not done.refusals


def test_rules_go_on_until_nothing_is_left_to_do() -> None:
    b, start = started()
    y = start
    for _ in range(5):
        y = unary(b, "ABS", unary(b, "ABS", y))
    rounds: list[Plan] = []
    model = b.model(unary(b, "SIN", y))
    done = rewrite(model, [skip], progress=rounds.append)
    assert names(model) == ["EXP", "SIN"] and len(done.steps) == 10
    assert sum(len(r.steps) for r in rounds) == 10


def test_a_chain_takes_its_longest_tower_that_may_be_taken() -> None:
    k = op.MUL(HOLE, const("k")), op.ADD(HOLE, const("k"))

    @fold(chain(op.EXP(x), *k, name="steps"))
    def tower(m: Match) -> Replacement:
        """A tower over EXP(x) -> SQUARE(x)"""
        return become(m.root, "SQUARE", m.x)

    b, start = started()
    values = [start]
    for kind in ("MUL", "ADD", "MUL"):
        values.append(b.op(kind, [values[-1], b.constant(np.ones(2, np.float32))], (2,)))
    model = b.model(values[2], values[3])
    rewrite(model, [tower])
    assert names(model) == ["SQUARE", "MUL"] and producer(model, values[2]) == "SQUARE"


# One value for another

def test_an_alias_of_an_output_keeps_the_outputs_tensor() -> None:
    b, start = started()
    y = unary(b, "ABS", start)
    beside = unary(b, "SIN", start)
    model = b.model(beside, y, signature=True)
    rewrite(model, [skip])
    graph = model.subgraphs[0]
    assert names(model) == ["EXP", "SIN"] and graph.operators[0].outputs == [y] and graph.operators[1].inputs == [y]
    assert graph.outputs == [beside, y] and start not in graph.tensors and y.name == b"t2"
    assert model.signatures is not None and [t for _, t in model.signatures[0].outputs] == [beside, y]


def test_an_input_or_a_constant_does_not_become_an_output() -> None:
    b = Build()
    assert refusals(b.model(unary(b, "ABS", b.input((2,)))), skip) == [("#0", CONNECTS)]
    b = Build()
    assert refusals(b.model(unary(b, "ABS", b.constant(np.ones(2, np.float32)))), skip) == [("#0", CONNECTS)]


def test_two_outputs_do_not_become_one() -> None:
    b, start = started()
    first, second = unary(b, "ABS", start), unary(b, "ABS", start)
    model = b.model(first, second)
    done = rewrite(model, [skip])
    assert names(model) == ["EXP", "ABS"] and [r.reason for r in done.refusals] == [CONNECTS]
    b, start = started()
    assert refusals(b.model(start, unary(b, "ABS", start)), skip) == [("#1", CONNECTS)]


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_row_of_aliases_goes_whole(length: int) -> None:
    for ends_as_output in (False, True):
        b, y = started()
        for _ in range(length):
            y = unary(b, "ABS", y)
        z = y if ends_as_output else unary(b, "SIN", y)
        model = b.model(z)
        rewrite(model, [skip])
        assert names(model) == ["EXP"] + ["SIN"] * (not ends_as_output)
        assert producer(model, z) == names(model)[-1]


@pytest.mark.parametrize("length", [2, 3])
def test_a_row_of_aliases_between_input_and_output_keeps_one(length: int) -> None:
    b = Build()
    y = b.input((2,))
    for _ in range(length):
        y = unary(b, "ABS", y)
    model = b.model(y)
    done = rewrite(model, [skip])
    assert names(model) == ["ABS"] and model.subgraphs[0].operators[0].inputs == b.inputs
    assert [r.reason for r in done.refusals] == [CONNECTS]


def test_a_longer_alias_below_an_alias_that_is_an_output() -> None:
    """The longer match goes first and does without the value that the other one would rename."""
    @fold(op.COS(op.COS(x)))
    def pair(m: Match) -> Replacement:
        """COS(COS(x)) -> x"""
        return alias(m.x)

    b, start = started()
    inner = unary(b, "COS", unary(b, "COS", start))
    other, output = b.op("ADD", [inner, inner], (2,)), unary(b, "ABS", inner)
    model = b.model(start, other, output)
    done = rewrite(model, [skip, pair])
    assert names(model) == ["EXP", "ADD", "ABS"] and [s.rule for s in done.steps] == ["pair"]
    assert [t is start for o in model.subgraphs[0].operators[1:] for t in o.inputs] == [True, True, True]
    model = b.model(other, output)
    rewrite(model, [skip, pair])
    assert names(model) == ["EXP", "ADD"] and producer(model, output) == "EXP"


def test_an_alias_behind_a_value_that_becomes_constant() -> None:
    for ends_as_output in (False, True):
        b, start = started()
        y = unary(b, "ABS", b.op("SHAPE", [start], (1,), np.int32))
        z = y if ends_as_output else unary(b, "SIN", y)
        model = b.model(start, z)
        rewrite(model, [skip, known])
        assert names(model) == ["EXP"] + ([] if not ends_as_output else ["SHAPE"]) + ["SIN"] * (not ends_as_output)


def test_an_alias_and_a_merge_of_its_readers_in_one_round() -> None:
    b, start = started()
    y = unary(b, "ABS", start)
    merged = unary(b, "RELU", unary(b, "NEG", y))
    model = b.model(merged, y)
    assert {s.rule for s in plan(model, [merge, skip]).steps} == {"merge", "skip"}
    rewrite(model, [merge, skip])
    assert names(model) == ["EXP", "SQUARE"]
    assert model.subgraphs[0].operators[0].outputs == [y] and model.subgraphs[0].operators[1].inputs == [y]


# Constants

def test_a_constant_takes_the_place_of_its_computation() -> None:
    b, start = started()
    shape = b.op("SHAPE", [start], (1,), np.int32)
    y = unary(b, "SIN", shape)
    model = b.model(start, y)
    done = rewrite(model, [known])
    assert names(model) == ["EXP", "SIN"] and shape.array().tolist() == [2]
    assert [(s.rule, s.place, s.as_dict()["before"], s.as_dict()["after"]) for s in done.steps] == [
        ("known", "#1", ["SHAPE"], [])]
    assert np.array_equal(flatbuffer.read(flatbuffer.write(model)).subgraphs[0].tensors[2].array(), [2])


@pytest.mark.parametrize("array, reason", [
    (np.zeros(2, np.int32), "the computed int32[2] does not fit the tensor"),
    (np.zeros(1, np.int64), "the computed int64[1] does not fit the tensor"),
    (np.zeros(0, np.int32), "the result has no elements, and without data a tensor is no constant"),
])
def test_a_constant_that_does_not_fit_is_refused(array: Any, reason: str) -> None:
    @fold(op.SHAPE(x))
    def wrong(m: Match) -> Replacement:
        """SHAPE(x) -> something else"""
        return constant(array)

    b, start = started()
    y = unary(b, "SIN", b.op("SHAPE", [start], (1,), np.int32))
    assert refusals(b.model(y), wrong) == [("#1", reason)]


def test_a_constant_output_is_refused() -> None:
    b, start = started()
    y = b.op("SHAPE", [start], (1,), np.int32)
    assert refusals(b.model(y), known) == [("#1", "the constant result is an output of the model")]


# What became dead

def test_what_only_removed_operators_read_goes_with_them_and_nothing_else() -> None:
    b, start = started()
    unread = unary(b, "COS", start)
    one = unary(b, "SIN", start)
    two = unary(b, "TANH", one)
    wanted = unary(b, "LOG", one)
    y = unary(b, "SQRT", b.op("SHAPE", [b.op("ADD", [two, two], (2,))], (1,), np.int32))
    model = b.model(y, wanted)
    rewrite(model, [known])
    assert names(model) == ["EXP", "COS", "SIN", "LOG", "SQRT"] and unread in model.subgraphs[0].tensors
    assert two not in model.subgraphs[0].tensors


def test_a_shared_inner_operator_goes_where_nobody_else_reads_it() -> None:
    b, start = started()
    y = unary(b, "RELU", unary(b, "NEG", start))
    model = b.model(y)
    rewrite(model, [merge_shared])
    assert names(model) == ["EXP", "SQUARE"]
    b, start = started()
    inner = unary(b, "NEG", start)
    y, z = unary(b, "RELU", inner), unary(b, "RELU", inner)
    model = b.model(y, z, inner)
    rewrite(model, [merge_shared])
    assert names(model) == ["EXP", "NEG", "SQUARE", "SQUARE"]


@pytest.mark.parametrize("kind", ["IF", "WHILE", "CALL_ONCE", "ASSIGN_VARIABLE", "HASHTABLE"])
def test_operators_with_effects_are_never_dead(kind: str) -> None:
    b, start = started()
    shape = b.op("SHAPE", [b.op(kind, [start], (2,))], (1,), np.int32)
    model = b.model(start, unary(b, "SIN", shape))
    rewrite(model, [known])
    assert names(model) == ["EXP", kind, "SIN"]


def test_an_operator_that_reads_or_writes_a_variable_is_never_dead() -> None:
    b, start = started()
    state = b.tensor((2,), is_variable=True)
    shape = b.op("SHAPE", [b.op("SVDF", [start, state], (2,))], (1,), np.int32)
    written = b.tensor((2,), is_variable=True)
    b.add("EXP", [start], [written])
    again = b.op("SHAPE", [written], (1,), np.int32)
    model = b.model(start, unary(b, "SIN", shape), unary(b, "SIN", again))
    rewrite(model, [known])
    assert names(model) == ["EXP", "SVDF", "EXP", "SIN", "SIN"]


def test_an_operator_with_one_output_still_wanted_stays() -> None:
    b, start = started()
    first, second = b.tensor((1,)), b.tensor((1,))
    b.add("SPLIT", [b.constant(np.array(0, np.int32)), start], [first, second], num_splits=2)
    y = unary(b, "SIN", b.op("SHAPE", [first], (1,), np.int32))
    model = b.model(y, second)
    rewrite(model, [known])
    assert names(model) == ["EXP", "SPLIT", "SIN"]


# The model around the operators

def test_every_subgraph_is_rewritten_by_itself() -> None:
    b, start = started()
    c, other = started()
    model = b.model(unary(b, "RELU", unary(b, "NEG", start)))
    model.subgraphs += c.model(unary(c, "RELU", unary(c, "NEG", other))).subgraphs
    done = rewrite(model, [merge])
    assert [s.graph for s in done.steps] == [0, 1]
    assert [[o.name for o in g.operators] for g in model.subgraphs] == [["EXP", "SQUARE"]] * 2
    assert sorted(c.name for c in model.operator_codes) == ["EXP", "SQUARE"]


def test_a_memory_plan_is_dropped_with_a_note_where_operators_change_and_only_there() -> None:
    @sweep
    def bake(model: Model) -> Iterator[Bake]:
        """Bake the input."""
        yield from (Bake(t) for t in model.subgraphs[0].inputs if t.shape_signature)

    for rules, kept in (([merge], False), ([skip], True), ([bake], True)):
        b, start = started()
        model = b.model(unary(b, "RELU", unary(b, "NEG", start)))
        model.memory_plan_version = 1
        start.arena_offset, b.inputs[0].shape_signature = 64, (-1,)
        rewrite(model, rules)
        assert (b.inputs[0].shape_signature is None) == (rules == [bake])
        assert (model.memory_plan_version == 1) == (start.arena_offset == 64) == kept
        assert [n for n in model.notes if "OfflineMemoryAllocation was dropped" in n] == model.notes
        assert len(model.notes) == (not kept)


def test_new_tensors_buffers_and_codes_join_the_model() -> None:
    @fold(op.SQUARE(x, name="square"))
    def double(m: Match) -> Replacement:
        """SQUARE(x) -> MUL(EXP(x), constant)"""
        middle = m.x.like(name=b"middle")
        k = Tensor.constant(np.full(2, 3, np.float32), b"three")
        return replace_by(Operator(OperatorCode.of("EXP"), [m.x], [middle]),
                          Operator(OperatorCode.of("MUL"), [middle, k], list(m.square.outputs)))

    b, start = started()
    model = b.model(unary(b, "SQUARE", start))
    rewrite(model, [double])
    read = flatbuffer.read(flatbuffer.write(model))
    invariants.check(read)
    assert names(read) == ["EXP", "EXP", "MUL"] and len(read.operator_codes) == 2
    assert [t.name for t in read.subgraphs[0].tensors] == [b"t0", b"t1", b"t2", b"middle", b"three"]
    assert [o.place for o in model.operators] == ["#0", "#1", "#1"]


def test_codes_are_written_once_for_each_version() -> None:
    b, start = started()
    y = unary(b, "RELU", unary(b, "NEG", start))
    for version in (1, 2, 1):
        y = b.op("SIN", [y], (2,), version=version)
    model = b.model(y)
    again = OperatorCode(model.operators.__next__().code.builtin, 0)
    model.operator_codes.append(again)
    model.subgraphs[0].operators.append(Operator(again, [start], [b.tensor((2,))]))
    rewrite(model, [merge])
    assert [(c.name, c.version) for c in model.operator_codes] == [("EXP", 1), ("SQUARE", 1), ("SIN", 1), ("SIN", 2)]
    assert model.operator_codes[0].deprecated_builtin_code == model.operator_codes[0].builtin_code


def test_a_model_that_does_not_hold_together_is_not_rewritten() -> None:
    b, start = started()
    y = b.op("NEG", [b.tensor((2,))], (2,))
    with pytest.raises(BadModel, match="reads 't2', which nothing computes"):
        rewrite(b.model(start, y), [merge])


# What a plan says

def test_planning_changes_nothing() -> None:
    b, start = started()
    model = b.model(unary(b, "ABS", unary(b, "RELU", unary(b, "NEG", start))))
    before = flatbuffer.write(model)
    objects = [(o, list(o.inputs), list(o.outputs), o.place) for o in model.operators]
    planned = plan(model, [merge, skip, known])
    assert len(planned.steps) == 2 and flatbuffer.write(model) == before
    assert [(o, o.inputs, o.outputs, o.place) for o in model.operators] == objects
    apply(model, planned)
    assert names(model) == ["EXP", "SQUARE"]


def test_a_step_remembers_what_stood_there_and_what_stands_there() -> None:
    b, start = started()
    y = unary(b, "RELU", unary(b, "NEG", start))
    model = b.model(y)
    (step,) = rewrite(model, [merge]).steps
    assert step.key == ("merge", "#1", "#2") and step.summary == "RELU(NEG(x)) -> SQUARE(x)" and step.exact
    assert step.label == "RELU #2 't3'"
    assert [o.inputs for o in step.before] == [[start], [b.tensors[2]]] and step.after[0].outputs == [y]
    assert step.as_dict() == {
        "rule": "merge", "summary": step.summary, "place": "#2", "operator": step.label, "exact": True, "note": "",
        "before": ["NEG", "RELU"], "after": ["SQUARE"]}


def test_a_refusal_is_told_once_with_place_and_reason() -> None:
    @fold(op.RELU(x, name="relu"), op.RELU(var("same"), name="relu"))
    def never(m: Match) -> Replacement:
        """RELU(x) -> never"""
        require(False, "it is not wanted", at=m.relu.inputs[0])
        return alias(m.x)

    b, start = started()
    y = unary(b, "RELU", start)
    z = unary(b, "SIN", unary(b, "ABS", unary(b, "RELU", y)))
    done = rewrite(b.model(z), [never, skip])
    assert done.refusals == (
        Refusal("never", "#2", "RELU #2 't3'", "it is not wanted", "'t2'"),
        Refusal("never", "#1", "RELU #1 't2'", "it is not wanted", "'t1'"))
    assert done.refusals[0].as_dict() == {"rule": "never", "place": "#2", "operator": "RELU #2 't3'",
                                          "reason": "it is not wanted", "at": "'t2'", "by_choice": False}


def test_of_several_reasons_on_one_root_the_first_is_told() -> None:
    @fold(op.ADD(x, var("y")))
    def never(m: Match) -> Replacement:
        """ADD(x, y) -> never"""
        require(False, f"{m.x.label} comes first")
        return alias(m.x)

    b, start = started()
    assert refusals(b.model(b.op("ADD", [start, b.input((2,))], (2,))), never) == [("#1", "'t1' comes first")]


def test_a_refusal_that_no_longer_stands_is_not_told() -> None:
    b, start = started()
    inner = unary(b, "NEG", start)
    y = unary(b, "RELU", inner)
    z = unary(b, "SIN", b.op("SHAPE", [inner], (1,), np.int32))
    model = b.model(y, z)
    assert [r.reason for r in plan(model, [merge, known]).refusals] == [READERS]
    done = rewrite(model, [merge, known])
    assert names(model) == ["EXP", "SQUARE", "SIN"] and not done.refusals


@fold(op.NEG(x, name="neg"))
def roughly(m: Match) -> Replacement:
    """NEG(x) -> SIN(x)"""
    return Replacement(become(m.neg, "SIN", m.x).operators, exact=False, note="not quite")


def test_only_exact_steps_are_taken_where_only_they_are_wanted() -> None:
    b, start = started()
    model = b.model(unary(b, "NEG", start))
    assert plan(model, [roughly], exact=True).refusals[0].reason == "the result would not be the same bits"
    assert not rewrite(model, [roughly], exact=True).steps
    done = rewrite(model, [roughly])
    assert not done.exact and [s.note for s in done.steps] == ["not quite"] and names(model) == ["EXP", "SIN"]


def test_an_excluded_step_is_not_taken() -> None:
    b, start = started()
    model = b.model(unary(b, "NEG", unary(b, "NEG", start)))
    done = rewrite(model, [roughly], excluded=frozenset({("roughly", "#2"), ("other", "#1")}))
    assert names(model) == ["EXP", "SIN", "NEG"]
    reason = "the result was measured further from the real-valued function than the original"
    assert [(r.place, r.reason) for r in done.refusals] == [("#2", reason)]


def test_where_the_longest_match_is_excluded_a_shorter_one_may_be_taken() -> None:
    @fold(chain(x, op.NEG(HOLE, name="neg"), name="steps"))
    def shorten(m: Match) -> Replacement:
        """NEG(NEG(x)) -> SIN(x)"""
        return become(m.root, "SIN", m.x)

    for excluded, left in ((set(), ["EXP", "SIN"]), ({("shorten", "#1", "#2")}, ["EXP", "SIN", "SIN"])):
        b, start = started()
        model = b.model(unary(b, "NEG", unary(b, "NEG", start)))
        rewrite(model, [shorten], excluded=frozenset(excluded))
        assert names(model) == left


def test_a_rule_that_loses_the_output_is_a_mistake() -> None:
    @fold(op.NEG(x, name="neg"))
    def careless(m: Match) -> Replacement:
        """NEG(x) -> SIN(x) somewhere else"""
        return replace_by(m.neg.like(outputs=[m.x.like()]))

    b, start = started()
    with pytest.raises(AssertionError, match="must keep the root's outputs"):
        plan(b.model(unary(b, "NEG", start)), [careless])


def test_rules_that_undo_each_other_end_with_an_error() -> None:
    @fold(op.RELU(x, name="here"))
    def there(m: Match) -> Replacement:
        """RELU -> RELU6."""
        return replace_by(m.here.like(code=OperatorCode.of("RELU6")))

    @fold(op.RELU6(x, name="here"))
    def back(m: Match) -> Replacement:
        """RELU6 -> RELU."""
        return replace_by(m.here.like(code=OperatorCode.of("RELU")))

    b = Build()
    value = b.input((1, 4))
    with pytest.raises(TflfuseError, match="still find something to do after 1000 rounds: back, there"):
        rewrite(b.model(b.op("RELU", [value], value.shape)), (there, back))
