"""A depthwise convolution does not list a bias that it has not."""
from __future__ import annotations

import numpy as np
import pytest

from tests.build import Build, random_int8
from tests.folds.checks import outputs
from tflfuse import flatbuffer
from tflfuse.folds import FOLDS
from tflfuse.folds.empty_bias import empty_bias
from tflfuse.ir import Model, Tensor
from tflfuse.plan import plan, rewrite


def depthwise(listed: list[Tensor | None], kind: str = "DEPTHWISE_CONV_2D", padded: bool = False) -> Model:
    b, rng = Build(), np.random.default_rng(1)
    x = b.input((1, 6, 5, 4), scale=0.1, zero_point=3)
    w = b.constant(random_int8(rng, (1, 3, 3, 4) if "DEPTH" in kind else (4, 3, 3, 4)), scale=0.01)
    if padded:
        around = b.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
        x = b.op("PAD", [x, around], (1, 8, 7, 4), None, 0.1, 3)
    y = b.conv(x, w, None, kind=kind, scale=0.2, padding="VALID" if padded else "SAME")
    b.operators[-1].inputs[2:] = listed
    return b.model(y)


@pytest.mark.parametrize("padded", [False, True])
def test_it_is_left_out_whatever_else_is_folded(padded: bool) -> None:
    model, expected = depthwise([None], padded=padded), depthwise([], padded=padded)
    assert rewrite(model, FOLDS).exact
    convolution = model.subgraphs[0].operators[-1]
    assert convolution.name == "DEPTHWISE_CONV_2D" and len(convolution.inputs) == 2
    for a, b in zip(outputs(flatbuffer.write(model)), outputs(flatbuffer.write(expected)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_others_stay() -> None:
    for model in (depthwise([]), depthwise([None], "CONV_2D")):
        assert not plan(model, [empty_bias]).steps
