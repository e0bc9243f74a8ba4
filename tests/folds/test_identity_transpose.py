"""A TRANSPOSE that moves no axis goes."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.identity_transpose import identity_transpose
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def transposed(perm: list[int], shape: Any, out: Any, scale: Any = None, new: Any = None) -> Any:
    b = Build()
    x = b.op("RELU", [b.input(shape, scale=scale)], shape, None, scale)
    y = b.op("TRANSPOSE", [x, b.constant(np.array(perm, np.int32))], out, None, new or scale)
    return b, b.op("RELU", [y], out, None, new or scale)


@pytest.mark.parametrize("scale", [None, 0.5])
def test_it_goes(scale: Any) -> None:
    b, y = transposed([0, 1, 2], (2, 3, 3), (2, 3, 3), scale)
    model, before = b.model(y), b.bytes(y)
    assert rewrite(model, [identity_transpose]).exact
    assert names(model) == ["RELU", "RELU"]
    assert verify(before, flatbuffer.write(model)).equal


@pytest.mark.parametrize("perm", [[0, 2, 1], [1, 0, 2], [0, 1], [0, 0, 2]])
def test_axes_that_move_are_nothing_to_tell_even_where_the_shape_stays(perm: list[int]) -> None:
    b, y = transposed(perm, (3, 3, 3), (3, 3, 3))
    assert plan(b.model(y), [identity_transpose]) == plan(b.model(y), [])


def test_a_changed_quantization_or_a_shape_that_does_not_fit_is_refused() -> None:
    b, y = transposed([0, 1], (2, 3), (2, 3), 0.5, 0.25)
    assert [r.reason for r in plan(b.model(y), [identity_transpose]).refusals] == ["the quantization changes"]
    b, y = transposed([0, 1], (2, 3), (3, 2))
    refusals = plan(b.model(y), [identity_transpose]).refusals
    assert [r.reason for r in refusals] == ["the output's shape is not that of the input"]
