"""A TRANSPOSE that leaves the elements where they are is a RESHAPE."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.transpose_to_reshape import transpose_to_reshape
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def transposed(shape: tuple[int, ...], perm: Any, scale: Any = None, **more: Any) -> Any:
    b = Build()
    x = b.input(shape, scale=scale, **more)
    out = tuple(shape[a] for a in perm)
    return b, b.op("TRANSPOSE", [x, b.constant(np.array(perm, np.int32))], out, None, scale)


@pytest.mark.parametrize("shape, perm", [((1, 2, 1, 3), (1, 0, 3, 2)), ((2, 3, 1), (2, 0, 1)), ((1, 1), (1, 0))])
@pytest.mark.parametrize("scale", [None, 0.5])
def test_axes_of_size_one_may_move(shape: Any, perm: Any, scale: Any) -> None:
    b, y = transposed(shape, perm, scale)
    model, before = b.model(y), b.bytes(y)
    assert rewrite(model, [transpose_to_reshape]).exact
    assert names(model) == ["RESHAPE"]
    assert verify(before, flatbuffer.write(model)).equal


@pytest.mark.parametrize("shape, perm", [((1, 2, 3), (0, 2, 1)), ((2, 1, 2), (2, 1, 0)), ((2, 3), (0, 1))])
def test_other_axes_may_not(shape: Any, perm: Any) -> None:
    b, y = transposed(shape, perm)
    assert plan(b.model(y), [transpose_to_reshape]) == plan(b.model(y), [])


def test_an_open_dimension_a_wrong_shape_and_a_changed_quantization_are_refused() -> None:
    b, y = transposed((1, 2, 3), (1, 0, 2), shape_signature=(-1, 2, 3))
    refusals = plan(b.model(y), [transpose_to_reshape]).refusals
    assert [r.reason for r in refusals] == ["a dimension is left open until the model runs"]
    b, y = transposed((1, 2, 3), (1, 0, 2))
    y.shape = (1, 2, 3)
    refusals = plan(b.model(y), [transpose_to_reshape]).refusals
    assert [r.reason for r in refusals] == ["the output's shape is not the permuted one"]
    b, y = transposed((1, 2, 3), (1, 0, 2), 0.5)
    y.quantization = None
    refusals = plan(b.model(y), [transpose_to_reshape]).refusals
    assert [r.reason for r in refusals] == ["the quantization changes"]
