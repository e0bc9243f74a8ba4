"""Two TRANSPOSEs are one, or none."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.inverse_transpose import inverse_transpose
from tflfuse.ir import Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def transpose(b: Build, x: Tensor, perm: Any, scale: Any = None) -> Tensor:
    shape = tuple(x.shape[a] for a in perm)
    return b.op("TRANSPOSE", [x, b.constant(np.array(perm, np.int32))], shape, None, scale)


@pytest.mark.parametrize("p, q", list(itertools.product([(1, 2, 0), (0, 2, 1)], itertools.permutations(range(3)))))
def test_two_are_the_composed_one(p: Any, q: Any) -> None:
    b = Build()
    x = b.op("RELU", [b.input((2, 3, 4), scale=0.5)], (2, 3, 4), None, 0.5)
    y = transpose(b, transpose(b, x, p, 0.5), q, 0.5)
    z = b.op("RELU", [y], y.shape, None, 0.5)
    model, before = b.model(z), b.bytes(z)
    assert rewrite(model, [inverse_transpose]).exact
    cancel = tuple(p[a] for a in q) == (0, 1, 2)
    assert names(model) == ["RELU"] + ["TRANSPOSE"] * (not cancel) + ["RELU"]
    assert verify(before, flatbuffer.write(model)).equal
    assert not plan(model, [inverse_transpose]).steps


def test_the_inner_one_stays_for_its_other_readers() -> None:
    b = Build()
    inner = transpose(b, b.input((2, 3, 4)), (2, 0, 1))
    y, z = transpose(b, inner, (2, 0, 1)), b.op("RELU", [inner], inner.shape)
    model, before = b.model(y, z), b.bytes(y, z)
    rewrite(model, [inverse_transpose])
    assert names(model) == ["TRANSPOSE", "TRANSPOSE", "RELU"]
    assert model.subgraphs[0].operators[1].inputs[0] is b.inputs[0]
    assert verify(before, flatbuffer.write(model)).equal


def test_a_tower_of_four_that_cancels_out_goes() -> None:
    b = Build()
    y = b.op("RELU", [b.input((2, 3, 4))], (2, 3, 4))
    for perm in ((1, 0, 2), (2, 1, 0), (2, 1, 0), (1, 0, 2)):
        y = transpose(b, y, perm)
    y = b.op("RELU", [y], y.shape)
    model, before = b.model(y), b.bytes(y)
    rewrite(model, [inverse_transpose])
    assert names(model) == ["RELU", "RELU"]
    assert verify(before, flatbuffer.write(model)).equal


@pytest.mark.parametrize("perm, reason", [
    ((0, 0), "the operand is no permutation"),
    ((0, 2, 1), "the permutations do not fit the rank of the input"),
])
def test_what_is_no_permutation_is_refused(perm: Any, reason: str) -> None:
    b = Build()
    y = transpose(b, transpose(b, b.input((2, 3)), (1, 0)), (1, 0))
    b.operators[1].inputs[1] = b.constant(np.array(perm, np.int32))
    assert [r.reason for r in plan(b.model(y), [inverse_transpose]).refusals] == [reason]


def test_permutations_of_fewer_axes_than_the_input_has_are_refused() -> None:
    b = Build()
    y = transpose(b, transpose(b, b.input((2, 3)), (1, 0)), (1, 0))
    b.inputs[0].shape = (2, 3, 1)
    refusals = plan(b.model(y), [inverse_transpose]).refusals
    assert [r.reason for r in refusals] == ["the permutations do not fit the rank of the input"]


def test_a_changed_quantization_or_shape_is_refused() -> None:
    b = Build()
    y = transpose(b, transpose(b, b.input((2, 3), scale=0.5), (1, 0), 0.5), (1, 0), 0.25)
    assert [r.reason for r in plan(b.model(y), [inverse_transpose]).refusals] == ["the quantization changes"]
    y.shape = (3, 2)
    refusals = plan(b.model(y), [inverse_transpose]).refusals
    assert [r.reason for r in refusals] == ["the output's shape is not the permuted one"]
