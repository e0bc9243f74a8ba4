"""Scales that are no positive numbers, or none at all: once taken into weights, or a warning of numpy's on stderr."""
from __future__ import annotations

import warnings
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from tests.build import Build, random_int8
from tflfuse import fuse
from tflfuse.plan import Refusal

SENTENCE = "the scale is not a positive number"
NO_SCALES = (0.0, -0.1, nan, inf)


def refusals(b: Build, out: Any) -> dict[str, Refusal]:
    """By rule; nothing may be done, and nothing said but that."""
    data = b.bytes(out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = fuse(data, custom_ops=False)
    assert result.model == data
    return {r.rule: r for r in result.report.plan.refusals}


def conv(b: Build, scale: float) -> Any:
    rng = np.random.default_rng(1)
    w = b.constant(random_int8(rng, (4, 1, 1, 4)), scale=[0.01] * 4)
    return b.conv(b.input((1, 4, 4, 4), scale=0.1), w, None, scale=scale)


@pytest.mark.parametrize("scale", NO_SCALES)
@pytest.mark.parametrize("kind", ["MUL", "ADD", "SUB", "DIV"])
def test_a_constant_is_not_folded_into_an_output_without_a_scale(kind: str, scale: float) -> None:
    b = Build()
    y = conv(b, 0.1)
    k = b.constant(np.array([100, 90, 80, 70], np.int8), scale=0.01)
    found = refusals(b, b.op(kind, [y, k], y.shape, scale=scale))
    assert found["affine_after"].reason == SENTENCE and "t4" in found["affine_after"].at


@pytest.mark.parametrize("kind,rule", [("RELU", "activation_into_producer"), ("QUANTIZE", "quantize_into_producer")])
@pytest.mark.parametrize("scale", NO_SCALES)
def test_an_inner_value_without_a_scale_keeps_its_operator(kind: str, rule: str, scale: float) -> None:
    b = Build()
    y = conv(b, scale)
    found = refusals(b, b.op(kind, [y], y.shape, scale=0.2))
    assert found[rule].reason == SENTENCE and "t2" in found[rule].at


@pytest.mark.parametrize("first,second", [(inf, 0.1), (0.1, inf), (nan, 0.1), (0.1, nan), (inf, inf), (-inf, 0.1)])
def test_a_pair_of_quantize_and_dequantize_stays_without_scales(first: float, second: float) -> None:
    b = Build()
    q = b.input((1, 4), scale=first)
    real = b.op("DEQUANTIZE", [q], (1, 4), np.float32)
    found = refusals(b, b.op("QUANTIZE", [real], (1, 4), np.int8, scale=second))
    assert found["cancel_quantize"].reason == SENTENCE
