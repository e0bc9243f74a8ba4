"""Padding by nothing goes."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.identity_pad import identity_pad
from tflfuse.ir import Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def padded(kind: str, pads: Any, scale: Any = None, new: Any = None) -> tuple[Build, Tensor]:
    b = Build()
    x = b.op("RELU", [b.input((2, 3), scale=scale)], (2, 3), None, scale)
    operands = [x, b.constant(np.array(pads, np.int32))]
    if kind == "PADV2":
        operands.append(b.constant(np.array(5, np.float32 if scale is None else np.int8), scale))
    out = tuple(d + int(sum(p)) for d, p in zip(x.shape, pads, strict=True))
    y = b.op(kind, operands, out, None, new or scale)
    return b, b.op("RELU", [y], out, None, new or scale)


@pytest.mark.parametrize("kind", ["PAD", "PADV2", "MIRROR_PAD"])
@pytest.mark.parametrize("scale", [None, 0.5])
def test_it_goes(kind: str, scale: Any) -> None:
    b, y = padded(kind, [[0, 0], [0, 0]], scale)
    model, before = b.model(y), b.bytes(y)
    assert rewrite(model, [identity_pad]).exact
    assert names(model) == ["RELU", "RELU"]
    comparison = verify(before, flatbuffer.write(model))
    assert comparison.equal, comparison.summary


def test_padding_by_something_is_nothing_to_tell() -> None:
    for pads in ([[0, 0], [0, 1]], [[0, 0], [1, -1]]):
        b, y = padded("PAD", pads)
        assert plan(b.model(y), [identity_pad]) == plan(b.model(y), [])


def test_a_changed_quantization_or_shape_is_refused() -> None:
    b, y = padded("PAD", [[0, 0], [0, 0]], 0.5, 0.25)
    assert [r.reason for r in plan(b.model(y), [identity_pad]).refusals] == ["the quantization changes"]
    b.operators[1].outputs[0].shape = (3, 2)
    refusals = plan(b.model(y), [identity_pad]).refusals
    assert [r.reason for r in refusals] == ["the output's shape is not that of the input"]


def test_paddings_that_are_no_constant_do_not_match() -> None:
    b = Build()
    y = b.op("PAD", [b.input((2, 3)), b.input((2, 2), np.int32)], (2, 3))
    assert plan(b.model(y), [identity_pad]) == plan(b.model(y), [])
