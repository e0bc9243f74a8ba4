"""A slice that takes everything goes."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.identity_slice import identity_slice
from tflfuse.ir import Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def sliced(kind: str, shape: tuple[int, ...], *operands: Any, **options: Any) -> tuple[Build, Tensor, Tensor]:
    """The graph, its output and the slice's output, whose shape is that of the input."""
    b = Build()
    x = b.op("NEG", [b.input(shape)], shape)
    y = b.op(kind, [x, *(b.constant(np.array(o, np.int32)) for o in operands)], shape, **options)
    return b, b.op("NEG", [y], shape), y


@pytest.mark.parametrize("kind, shape, operands, options", [
    ("SLICE", (2, 3), [(0, 0), (2, 3)], {}),
    ("SLICE", (2, 3), [(0, 0), (-1, 3)], {}),
    ("STRIDED_SLICE", (2, 3), [(0, 0), (2, 3), (1, 1)], {}),
    ("STRIDED_SLICE", (2, 3), [(0, -3), (99, 3), (1, 1)], {}),
    ("STRIDED_SLICE", (2, 3), [(1, 7), (1, 0), (1, 1)], {"begin_mask": 3, "end_mask": 3}),
    ("STRIDED_SLICE", (1, 3), [(0, 0), (-9, 3), (-1, 1)], {}),
])
def test_it_goes(kind: str, shape: Any, operands: Any, options: Any) -> None:
    b, z, _ = sliced(kind, shape, *operands, **options)
    model, before = b.model(z), b.bytes(z)
    assert rewrite(model, [identity_slice]).exact
    assert names(model) == ["NEG", "NEG"]
    comparison = verify(before, flatbuffer.write(model))
    assert comparison.equal, comparison.summary


@pytest.mark.parametrize("shape, operands, options", [
    ((1, 3), [(0, 0, 0), (1, 1, 3), (1, 1, 1)], {"new_axis_mask": 1, "shrink_axis_mask": 2}),
    ((2, 3), [(0, 0), (0, 3), (1, 1)], {"ellipsis_mask": 1}),
    ((2, 3), [(0,), (2,), (1,)], {}),
])
def test_it_goes_with_what_only_litert_understands(shape: Any, operands: Any, options: Any) -> None:
    b, z, _ = sliced("STRIDED_SLICE", shape, *operands, **options)
    model = b.model(z)
    rewrite(model, [identity_slice])
    assert names(model) == ["NEG", "NEG"]


def refusals(b: Build, z: Tensor) -> list[str]:
    found = plan(b.model(z), [identity_slice])
    assert not found.steps
    return [r.reason for r in found.refusals]


@pytest.mark.parametrize("operands, options, reason", [
    ([(1, 0), (-3, 3), (-1, 1)], {}, "it does not take the elements in order"),
    ([(0, 0), (2, 3), (0, 1)], {}, "a stride is 0"),
    ([(0, 0), (2, 3), (1, 1)], {"offset": True}, "its ends count from its begins"),
    ([(2, 0), (3, 3), (1, 1)], {"shrink_axis_mask": 1},
     "its operands do not fit together (index 2 is out of bounds for axis 0 with size 2)"),
])
def test_another_order_and_what_cannot_be_told_are_refused(operands: Any, options: Any, reason: str) -> None:
    b, z, _ = sliced("STRIDED_SLICE", (2, 3), *operands, **options)
    assert refusals(b, z) == [reason]


def test_a_slice_that_reaches_beyond_the_input_is_refused() -> None:
    b, z, _ = sliced("SLICE", (2, 3), (0, 1), (2, 3))
    assert refusals(b, z) == ["the slice reaches beyond the input"]
    b, z, _ = sliced("SLICE", (2, 3), (0, 0), (1, 3))
    assert refusals(b, z) == ["it does not take the elements in order"]


def test_an_open_dimension_or_a_changed_quantization_is_refused() -> None:
    b, z, y = sliced("SLICE", (1, 3), (0, 0), (1, 3))
    y.shape_signature = (-1, 3)
    assert refusals(b, z) == ["a dimension is left open until the model runs"]
    b = Build()
    y = b.op("SLICE", [b.input((2,), scale=0.5), *(b.constant(np.array([n], np.int32)) for n in (0, 2))], (2,))
    assert refusals(b, y) == ["the quantization changes"]


def test_a_smaller_result_is_nothing_to_tell() -> None:
    b, z, y = sliced("SLICE", (2, 3), (0, 0), (1, 3))
    y.shape = (1, 3)
    assert refusals(b, z) == []
