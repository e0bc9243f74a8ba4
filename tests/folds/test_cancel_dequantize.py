"""DEQUANTIZE(QUANTIZE(x)) is x where the range in between clips nothing of it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tflfuse import flatbuffer
from tflfuse.folds.cancel_dequantize import cancel_dequantize
from tflfuse.folds.cancel_quantize import cancel_quantize
from tflfuse.ir import Tensor
from tflfuse.plan import rewrite
from tflfuse.tflm import Interpreter

from ..build import Build, names
from .checks import exact, folded, refused
from .kinds import FLOAT, computed

RULES = [cancel_dequantize]
NOTHING_SHOWN = "nothing shows that the QUANTIZE clips nothing, and clipping may be meant"


def rounded(b: Build, x: Tensor, scale: float, zero_point: int, dtype: object = np.int8) -> Tensor:
    q = b.op("QUANTIZE", [x], x.shape, dtype, scale, zero_point)
    return b.op("DEQUANTIZE", [q], x.shape, np.float32)


def doubled(b: Build, x: Tensor) -> Tensor:
    return b.op("ADD", [x, x], x.shape)


@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED", "ADD", "AVERAGE_POOL_2D"])
@pytest.mark.parametrize("activation,scale,zero_point", [("RELU6", 6 / 255, -128), ("RELU6", 0.05, -120),
                                                         ("RELU_N1_TO_1", 1 / 127.4, 0)])
def test_what_an_activation_keeps_inside(kind: str, activation: str, scale: float, zero_point: int) -> None:
    b = Build()
    x = computed(b, kind, FLOAT, activation=activation)
    before, after, model, plan = folded(b, doubled(b, rounded(b, x, scale, zero_point)), rules=RULES)
    assert names(model) == [kind, "ADD"] and not plan.exact
    rng = np.random.default_rng(0)
    inputs = [rng.normal(0, 1, t.shape).astype(np.float32) for t in flatbuffer.read(before).subgraphs[0].inputs]
    old, new = (Interpreter(data).run(inputs)[0] for data in (before, after))
    assert 0 < np.abs(old - new).max() <= 2 * scale * 0.51  # the rounding of one value, doubled


@pytest.mark.parametrize("kind,scale,zero_point", [("LOGISTIC", 1 / 256, -128), ("SOFTMAX", 1 / 256, -128),
                                                   ("TANH", 1 / 127.5, 0), ("RELU6", 6 / 255, -128)])
def test_what_stays_inside_by_nature(kind: str, scale: float, zero_point: int) -> None:
    """1/256 reaches 255/256 only: half a step is within the rounding, and a whole one is not."""
    b = Build()
    x = b.input((1, 8))
    options: dict[str, Any] = {"beta": 1.0} if kind == "SOFTMAX" else {}
    y = doubled(b, rounded(b, b.op(kind, [x], x.shape, **options), scale, zero_point))
    if kind in ("LOGISTIC", "SOFTMAX"):
        assert refused(b, y, rules=RULES) == ["the QUANTIZE clips to [0, 0.996094], which may be meant"]
        return
    _, _, model, _ = folded(b, y, rules=RULES)
    assert names(model) == [kind, "ADD"]


@pytest.mark.parametrize("kind,options", [("LOGISTIC", {}), ("SOFTMAX", {"beta": 1.0})])
def test_probabilities_whose_range_holds_one(kind: str, options: dict[str, Any]) -> None:
    b = Build()
    x = b.op(kind, [b.input((1, 8))], (1, 8), **options)
    _, _, model, _ = folded(b, doubled(b, rounded(b, x, 1 / 255, -128)), rules=RULES)
    assert names(model) == [kind, "ADD"]


@pytest.mark.parametrize("activation,scale,zero_point,clipped", [
    ("RELU", 0.05, -128, "[0, 12.75]"), ("RELU6", 5.9 / 255, -128, "[0, 5.9]"), ("NONE", 0.05, 0, "[-6.4, 6.35]"),
    ("RELU_N1_TO_1", 0.01, -128, "[0, 2.55]"), ("RELU_N1_TO_1", 0.01, 127, "[-2.55, 0]")])
def test_what_is_clipped_may_be_meant(activation: str, scale: float, zero_point: int, clipped: str) -> None:
    b = Build()
    x = computed(b, "CONV_2D", FLOAT, activation=activation)
    assert refused(b, doubled(b, rounded(b, x, scale, zero_point)), rules=RULES) == [
        f"the QUANTIZE clips to {clipped}, which may be meant"]


@pytest.mark.parametrize("activation,scale,zero_point", [
    ("RELU_N1_TO_1", 2.0, -128), ("RELU_N1_TO_1", 2.0, 127), ("RELU6", 12.0, 127)])
def test_half_a_step_beyond_an_end_is_within_the_rounding(activation: str, scale: float, zero_point: int) -> None:
    b = Build()
    x = computed(b, "CONV_2D", FLOAT, activation=activation)
    _, _, model, _ = folded(b, doubled(b, rounded(b, x, scale, zero_point)), rules=RULES)
    assert names(model) == ["CONV_2D", "ADD"]


def test_an_input_may_be_anything() -> None:
    b = Build()
    assert refused(b, doubled(b, rounded(b, b.input((1, 8)), 0.05, 0)), rules=RULES) == [NOTHING_SHOWN]


def test_integers_stay_for_those_who_read_them() -> None:
    b = Build()
    x = computed(b, "CONV_2D", FLOAT, activation="RELU6")
    q = b.op("QUANTIZE", [x], x.shape, np.int8, 6 / 255, -128)
    y = doubled(b, b.op("DEQUANTIZE", [q], x.shape, np.float32))
    z = b.op("ADD", [q, q], x.shape, scale=0.05)
    _, _, model, _ = folded(b, y, z, rules=RULES)
    assert names(model) == ["CONV_2D", "QUANTIZE", "ADD", "ADD"]


def test_with_exact_it_stays() -> None:
    b = Build()
    x = computed(b, "CONV_2D", FLOAT, activation="RELU6")
    model = b.model(doubled(b, rounded(b, x, 6 / 255, -128)))
    plan = rewrite(model, RULES, exact=True)
    assert not plan.steps and [r.reason for r in plan.refusals] == ["the result would not be the same bits"]


def test_a_requantization_in_front_is_no_real_number() -> None:
    b = Build()
    x = b.input((1, 8), scale=0.1)
    assert refused(b, doubled(b, rounded(b, x, 0.05, 0)), rules=RULES) == ["the QUANTIZE starts from integers"]


def test_integers_that_were_integers_before_lose_nothing() -> None:
    """A chain of pairs: each QUANTIZE but the first gives back what there was."""
    b = Build()
    q = b.input((1, 8), scale=0.1, zero_point=3)
    x = b.op("DEQUANTIZE", [q], q.shape, np.float32)
    y = doubled(b, rounded(b, rounded(b, x, 0.1, 3), 0.1, 3))
    assert names(exact(b, y, rules=[cancel_quantize, *RULES])) == ["DEQUANTIZE", "ADD"]


def test_a_constant_with_several_readers_stays() -> None:
    b = Build()
    w = b.op("DEQUANTIZE", [b.constant(np.ones(8, np.float16))], (8,), np.float32)
    x = b.input((1, 8))
    y = b.op("ADD", [b.op("MUL", [x, w], (1, 8)), w], (1, 8))
    assert refused(b, y, rules=[cancel_quantize, *RULES]) == []
