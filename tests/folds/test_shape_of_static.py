"""SHAPE and RANK of what has a known shape are constants."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.shape_of_static import shape_of_static
from tflfuse.ir import Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify

SHAPE_OPTIONS = {np.int32: 2, np.int64: 4}


def shape_times_two(b: Build, x: Tensor, dtype: Any = np.int32) -> Tensor:
    shape = b.op("SHAPE", [x], (len(x.shape),), dtype, out_type=SHAPE_OPTIONS[dtype])
    return b.op("MUL", [shape, b.input((1,), dtype)], (len(x.shape),))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_shape_becomes_a_constant_of_the_outputs_type(dtype: Any) -> None:
    b = Build()
    y = shape_times_two(b, b.input((2, 3, 5), scale=0.5), dtype)
    model, before = b.model(y), b.bytes(y)
    done = rewrite(model, [shape_of_static])
    assert names(model) == ["MUL"] and done.exact
    shape = model.subgraphs[0].operators[0].inputs[0]
    assert shape is not None and shape.array().dtype == dtype and shape.array().tolist() == [2, 3, 5]
    assert verify(before, flatbuffer.write(model)).equal


def test_a_rank_becomes_a_scalar() -> None:
    b = Build()
    rank = b.op("RANK", [b.input((2, 3, 5))], (), np.int32)
    y = b.op("MUL", [rank, b.input((1,), np.int32)], (1,))
    model, before = b.model(y), b.bytes(y)
    rewrite(model, [shape_of_static])
    assert names(model) == ["MUL"]
    assert verify(before, flatbuffer.write(model)).equal


def reason(b: Build, y: Tensor) -> str:
    refusals = plan(b.model(y), [shape_of_static]).refusals
    assert len(refusals) == 1
    return refusals[0].reason


def test_an_open_dimension_is_refused() -> None:
    b = Build()
    y = shape_times_two(b, b.input((1, 3), shape_signature=(-1, 3)))
    assert reason(b, y) == "a dimension is left open until the model runs"


def test_a_shape_that_is_an_output_stays() -> None:
    b = Build()
    y = b.op("SHAPE", [b.input((2, 3))], (2,), np.int32, out_type=2)
    assert reason(b, y) == "the constant result is an output of the model"


@pytest.mark.parametrize("more", [{}, {"has_shape": False}])
def test_a_tensor_that_may_be_of_any_rank_is_refused(more: dict[str, Any]) -> None:
    b = Build()
    rank = b.op("RANK", [b.input((), **more)], (), np.int32)
    y = b.op("MUL", [rank, b.input((1,), np.int32)], (1,))
    assert reason(b, y) == "the tensor's rank is not known"


def test_the_shape_of_a_scalar_has_no_data_to_store() -> None:
    b = Build()
    shape = b.op("SHAPE", [b.input((), has_rank=True)], (0,), np.int32, out_type=2)
    y = b.op("RESHAPE", [b.input((1,)), shape], ())
    assert reason(b, y) == "the result has no elements, and without data a tensor is no constant"


def test_a_type_that_no_shape_has_is_refused() -> None:
    b = Build()
    shape = b.op("SHAPE", [b.input((2, 3))], (2,), np.float32, out_type=0)
    assert reason(b, b.op("NEG", [shape], (2,))) == "SHAPE is written as float32"
