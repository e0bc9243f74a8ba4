"""Operators without the operands that their kernels' scratch buffers go by: once an AssertionError from the planner."""
from __future__ import annotations

import pytest

from tests.build import Build
from tflfuse import fuse
from tflfuse.errors import BadModel


def model(kind: str, operands: int, outputs: int = 1) -> bytes:
    b = Build()
    x = b.input((1, 4, 4, 4))
    values = [b.tensor(x.shape) for _ in range(outputs)]
    b.add(kind, [x] * operands, values)
    return b.bytes(b.op("RELU", [b.op("ADD", [values[0] if values else x, x], x.shape)], x.shape))


@pytest.mark.parametrize("kind,operands,missing", [
    ("MEAN", 0, 0), ("MEAN", 1, 1), ("SUM", 1, 1), ("TRANSPOSE_CONV", 0, 2), ("SVDF", 0, 0), ("MIRROR_PAD", 0, 0),
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", 3, 19)])
def test_what_the_planner_cannot_know_is_noted_and_the_rest_goes_on(kind: str, operands: int, missing: int) -> None:
    report = fuse(model(kind, operands), custom_ops=False).report
    assert report.operators_after["RELU"] == 0
    assert [n for n in report.notes if f"{kind} #0 't1' has no operand {missing}" in n]


def test_an_operator_without_outputs_is_told_apart() -> None:
    b = Build()
    x = b.input((1, 4, 4, 4), scale=0.1)
    b.add("MEAN", [x, x], [])
    with pytest.raises(BadModel, match="MEAN #0 without outputs computes nothing"):
        fuse(b.bytes(b.op("ADD", [x, x], x.shape, scale=0.1)), custom_ops=False)


@pytest.mark.parametrize("kind", ["MEAN", "SVDF"])
def test_the_rest_is_fused_and_the_operator_named(kind: str) -> None:
    b = Build()
    x = b.input((1, 4, 4, 4), scale=0.1)
    y = b.tensor(x.shape, scale=0.1)
    b.add(kind, [], [y])
    report = fuse(b.bytes(b.op("RELU", [b.op("ADD", [y, x], x.shape, scale=0.1)], x.shape, scale=0.1))).report
    assert report.operators_after == {kind: 1, "CUSTOM:TFLFUSE_CHAIN_1": 1}
    assert [n for n in report.notes if f"{kind} #0 't1' has no operand 0" in n]
