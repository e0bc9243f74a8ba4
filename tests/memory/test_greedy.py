"""TFLM's lifetimes and its planner, next to what the interpreter reports."""
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.build import Build, random_int8
from tests.regression.test_control_flow import branching, looping, stateful
from tflfuse import flatbuffer, memory
from tflfuse.errors import Refused
from tflfuse.greedy import ONLINE, greedy, head
from tflfuse.ir import Buffer, Model, Operator, OperatorCode, Subgraph, Table, Tensor
from tflfuse.lifetimes import Request, lifetimes
from tflfuse.tflm import Interpreter, TflmError

FOLDER = os.environ.get("TFLFUSE_MODELS")
FILES = [f for f in sorted(Path(FOLDER).rglob("*.tflite")) if "BROKEN" not in f.name] if FOLDER else []


def interpreted(model: bytes) -> int:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    return Interpreter(model).arena.head


def test_the_largest_goes_first_and_the_last_of_equals() -> None:
    requests = [Request(32, 0, 1), Request(64, 1, 2), Request(32, 0, 2)]
    assert greedy(requests, [ONLINE] * 3) == [96, 0, 64]
    assert head(requests, [96, 0, 64]) == 128 and head([], []) == 0


def test_a_gap_between_planned_buffers_is_used() -> None:
    requests = [Request(16, 0, 2), Request(16, 0, 2), Request(32, 1, 1), Request(48, 1, 1)]
    assert greedy(requests, [0, 48, ONLINE, ONLINE])[2:] == [16, 64]


def test_buffers_that_do_not_meet_share_a_place() -> None:
    assert greedy([Request(16, 0, 1), Request(16, 2, 3), Request(16, 1, 2)], [ONLINE] * 3) == [16, 16, 0]


def mean(b: Build, x: Tensor) -> Tensor:
    return b.op("MEAN", [x, b.constant(np.array([1, 2], np.int32))], (1, 6), scale=0.1)


def transposed(b: Build, x: Tensor) -> Tensor:
    shape = b.constant(np.array([1, 10, 8, 4], np.int32))
    w = b.constant(random_int8(np.random.default_rng(1), (4, 2, 2, 6)), scale=[0.01] * 4)
    return b.op("TRANSPOSE_CONV", [shape, w, x], (1, 10, 8, 4), np.int8, 0.1, stride_w=2, stride_h=2, padding=1)


def mirrored(b: Build, x: Tensor) -> Tensor:
    return b.op("MIRROR_PAD", [x, b.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))], (1, 7, 6, 6),
                scale=0.1)


def largest(b: Build, x: Tensor) -> Tensor:
    return b.op("REDUCE_MAX", [x, b.constant(np.array([1], np.int32))], (1, 4, 6), scale=0.1)


@pytest.mark.parametrize("make", [mean, transposed, mirrored, largest])
def test_scratch_buffers_are_those_of_the_kernels(make: Callable[[Build, Tensor], Tensor]) -> None:
    b = Build()
    x = b.input((1, 5, 4, 6), scale=0.1)
    y = make(b, b.op("RELU", [x], x.shape, scale=0.1))
    model = b.model(y, b.op("RELU", [y], y.shape, scale=0.1))
    planned = memory.of_file(model)
    assert any(p.tensor is None for p in planned.places)
    assert planned.head == interpreted(flatbuffer.write(model))


def test_what_nobody_uses_takes_room_and_variables_do_not() -> None:
    b = Build()
    x = b.input((1, 64), scale=0.1)
    y = b.op("RELU", [x], x.shape, scale=0.1)
    b.tensor((1, 500), scale=0.1)
    b.tensor((1, 900), scale=0.1, is_variable=True)
    model = b.model(y)
    assert memory.of_file(model).head == 512 == interpreted(flatbuffer.write(model))


def test_an_open_shape_is_refused() -> None:
    b = Build()
    x = b.input((1, -1, 4), scale=0.1)
    with pytest.raises(Refused, match="a dimension is left open"):
        lifetimes(b.model(b.op("RELU", [x], x.shape, scale=0.1)))


def test_subgraphs_that_call_each_other_are_refused() -> None:
    b = Build()
    x = b.input((1, 4), scale=0.1)
    y = b.op("RELU", [x], x.shape, scale=0.1)
    b.add("CALL_ONCE", [], [], init_subgraph_index=0)
    with pytest.raises(Refused, match="call each other in a circle"):
        lifetimes(b.model(y))


@pytest.mark.parametrize("make", [branching, lambda: looping(3), stateful])
def test_the_head_of_several_subgraphs(make: Callable[[], Model]) -> None:
    model = make()
    assert memory.of_file(model).head == interpreted(flatbuffer.write(model))


def test_each_subgraph_that_is_entered_takes_a_scope() -> None:
    """CONV, RELU, IF of two subgraphs with three operators each, CONV, RELU6. What the IF reads and makes is there
    until both are through; each subgraph's input is there when it begins, its output when it ends."""
    model = branching()
    life = lifetimes(model)
    assert [life.scopes[o] for g in model.subgraphs for o in g.operators] == [1, 2, 3, 12, 13, 5, 6, 7, 9, 10, 11]
    at = {r.tensor: (r.first, r.last) for r in life.requests}
    main, *branches = ([at[t] for t in g.tensors if t in at] for g in model.subgraphs)
    assert main == [(0, 11), (0, 1), (1, 2), (2, 11), (3, 12), (12, 13), (13, 13)]
    assert branches == [[(4, 5), (5, 6), (6, 7), (7, 7)], [(8, 9), (9, 10), (10, 11), (11, 11)]]


def test_what_is_made_or_read_by_nobody_lives_at_one_time_or_at_none() -> None:
    """An input and a result that nobody reads, an output and an operand that nobody makes, a tensor that none has."""
    b = Build()
    x, unread = b.input((1, 64), scale=0.1), b.input((1, 500), scale=0.1)
    y = b.op("RELU", [x], x.shape, scale=0.1)
    dead, unmade, lost = b.op("RELU", [x], x.shape, scale=0.1), b.tensor((1, 300), scale=0.1), b.tensor((1, 9), scale=1)
    ghost = b.tensor((1, 64), scale=0.1)
    model = b.model(b.op("ADD", [y, ghost], y.shape, scale=0.1), unmade)
    at = {r.tensor: (r.first, r.last) for r in lifetimes(model).requests}
    assert [at[t] for t in (x, unread, y, dead, unmade, ghost, lost)] == [
        (0, 2), (0, 0), (1, 3), (2, 2), (3, 3), (-1, 3), (-1, -1)]
    assert memory.of_file(model).head == interpreted(flatbuffer.write(model))


def test_a_scratch_buffer_lives_while_its_operator_runs() -> None:
    b = Build()
    x = b.op("RELU", [b.input((1, 5, 4, 6), scale=0.1)], (1, 5, 4, 6), scale=0.1)
    y = mean(b, x)
    model = b.model(b.op("RELU", [y], y.shape, scale=0.1))
    scratch = [r for r in lifetimes(model).requests if r.tensor is None]
    assert [(r.size, r.first, r.last, r.operator) for r in scratch] == [
        (size, 2, 2, b.operators[1]) for size in (32, 16, 16)]


def test_what_has_no_elements_takes_no_room() -> None:
    b = Build()
    x = b.input((1, 0, 4), scale=0.1)
    y = b.op("RELU", [x], x.shape, scale=0.1)
    model = b.model(y, b.op("RELU", [b.input((1, 4), scale=0.1)], (1, 4), scale=0.1))
    assert [r.size for r in lifetimes(model).requests] == [16, 16]


def calling(*subgraphs: list[int]) -> Model:
    """Subgraphs that call each other, by their numbers."""
    code = OperatorCode.of("CALL_ONCE")
    return Model([Subgraph([], [], [], [Operator(code, [], [], Table.of("CallOnceOptions", init_subgraph_index=number))
                                        for number in numbers]) for numbers in subgraphs], [code], [Buffer()])


@pytest.mark.parametrize("subgraphs, reason", [
    ([[1]], "in a circle, or one that is not there"), ([[-1]], "in a circle, or one that is not there"),
    ([[1], [0]], "in a circle, or one that is not there"), ([[1], [2], [3], []], "more than 3 deep"),
    ([[1], [2, 2, 2, 2], []], "so often that more than 7 operators run"), ([[1], [2, 2, 2], []], None)])
def test_subgraphs_that_are_called(subgraphs: list[list[int]], reason: str | None,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """Three in a row are allowed here, and operators up to scope 7: that of the third that calls a subgraph again."""
    monkeypatch.setattr("tflfuse.lifetimes.MOST_NESTED", 3)
    monkeypatch.setattr("tflfuse.lifetimes.MOST_SCOPES", 7)
    model = calling(*subgraphs)
    if reason is None:
        assert lifetimes(model).requests == ()
    else:
        with pytest.raises(Refused, match=reason):
            lifetimes(model)


@pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_head_of_a_real_model(file: Path) -> None:
    """As it is, with the plan that it may have brought; and the bound is reached by a plan of ours."""
    data = file.read_bytes()
    model: Model = flatbuffer.read(data)
    planned = memory.plan(model)
    assert planned.head == planned.bound <= planned.greedy
    try:
        arena = Interpreter(data).arena
    except TflmError as error:
        pytest.skip(f"TFLM does not run it: {error}")
    assert memory.of_file(model).head == arena.head
