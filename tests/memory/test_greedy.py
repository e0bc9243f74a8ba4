"""TFLM's lifetimes and its planner, next to what the interpreter reports."""
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.build import Build, random_int8
from tflfuse import flatbuffer, memory
from tflfuse.errors import Refused
from tflfuse.greedy import ONLINE, greedy, head
from tflfuse.ir import Model, Tensor
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
    assert head(requests, [96, 0, 64]) == 128


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
