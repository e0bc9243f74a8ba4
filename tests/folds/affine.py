"""Constant multiplications and additions around an operator, in the operator's kind of numbers."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tflfuse.ir import Array, Model, Operator, Tensor
from tflfuse.pattern import Rule
from tflfuse.plan import rewrite
from tflfuse.tflm import Interpreter

from ..build import Build
from .checks import Rules, closer, folded, outputs
from .kinds import FLOAT

GAINS = np.array([1.5, -0.75, 0.5, 1.25, -1.0, 0.6])
OFFSETS = np.array([0.5, -1.0, 0.25, 1.5, -0.5, 0.75])


def constant(b: Build, like: Tensor, values: Any) -> Tensor:
    """Real numbers as a constant of a tensor's type; quantized with a scale and zero point of its own."""
    values = np.asarray(values, np.float64)
    if like.quantization is None:
        return b.constant(values.astype(np.float32))
    limits = np.iinfo(like.dtype)
    scale = max(float(np.abs(values).max()), 1e-30) / (limits.max - 8)
    zero = 0 if like.dtype == np.int16 else 5
    whole: Array = np.clip(np.round(values / scale) + zero, limits.min, limits.max)
    return b.constant(whole.astype(like.dtype), scale, zero)


def step(b: Build, name: str, x: Tensor, values: Any, scale: float = 1 / 24, first: bool = False,
         **more: Any) -> Tensor:
    """An operator on x and a constant, its result scaled by `scale` (int16x8: by that over 256)."""
    k = constant(b, x, values)
    shape = more.pop("shape", x.shape)
    if x.quantization is not None:
        wide = x.dtype == np.int16
        more = {"scale": scale / 256 if wide else scale, "zero_point": 0 if wide else 3, **more}
    return b.op(name, [k, x] if first else [x, k], shape, **more)


def nearly(rules: Rules, b: Build, out: Tensor, numbers: str, runs: int | None = None) -> Model:
    """Fold to one operator; as near to the real function as before, or equal to float32's accuracy."""
    if numbers != FLOAT:
        return closer(b, out, rules=rules, runs=runs)
    before, after, model, plan = folded(b, out, rules=rules)
    assert plan.steps and not plan.exact
    for old, new in zip(outputs(before), outputs(after)):
        # sums of 36 products of some 1.0, each operand rounded to 2**-24 once more
        np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-5)
    return model


def declined(rules: Rules, model: Model) -> list[str]:
    """For models that no interpreter has to take."""
    plan = rewrite(model, rules)
    assert not plan.steps
    return [r.reason for r in plan.refusals]


def root(model: Model) -> Operator:
    return model.subgraphs[0].operators[-1]


def small(b: Build, channels: int = 4, size: int = 4, **more: Any) -> Tensor:
    """A float CONV_2D 1x1 over [1, size, size, 2]."""
    x = b.input((1, size, size, 2))
    return b.conv(x, b.constant(np.arange(1, 2 * channels + 1, dtype=np.float32).reshape(channels, 1, 1, 2)), **more)


def small8(b: Build, w: Array, w_scale: Any, bias: Tensor | None = None, scale: float = 0.05, zero: int = -3,
           x_scale: float = 0.02) -> Tensor:
    """An int8 CONV_2D 1x1 over [1, 16, 16, Cin]."""
    x = b.input((1, 16, 16, w.shape[3]), scale=x_scale, zero_point=4)
    return b.conv(x, b.constant(w.astype(np.int8), w_scale), bias, scale=scale, zero_point=zero)


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def i8(values: Any) -> Array:
    return np.asarray(values, np.int8)


def i32(values: Any) -> Array:
    return np.asarray(values, np.int32)


def read(operator: Operator, position: int) -> Tensor:
    tensor = operator.inputs[position]
    assert tensor is not None
    return tensor


def operand(model: Model, position: int) -> Tensor:
    """What the last operator reads."""
    return read(model.subgraphs[0].operators[-1], position)


def scales(tensor: Tensor) -> Array:
    assert tensor.quantization is not None and tensor.quantization.scale is not None
    return tensor.quantization.scale


def estimated_and_measured(rule: Rule, b: Build, y: Tensor, real: Callable[[Array], Array],
                           patch: pytest.MonkeyPatch) -> tuple[Array, Array]:
    """[before and after, channels]: mean-square errors of a fold, as it estimates them and as TFLM makes them.

    Of the longest tower, over int8 inputs [rows, inputs] of every size, against the real-valued function
    [rows, channels], where the output does not saturate.
    """
    noted: list[Array] = []
    patch.setattr(sys.modules[rule.build.__module__], "require_no_further", lambda *given: noted.extend(given[:2]))
    x = b.inputs[0]
    before, after, _, plan = folded(b, y, rules=[rule])
    assert plan.steps
    whole = np.random.default_rng(0).integers(-128, 128, x.shape).astype(np.int8)
    want = real((whole.astype(np.float64) - x.zero_point) * x.scale)
    results = [Interpreter(data).run([whole])[0] for data in (before, after)]
    counted = np.all([(r > -128) & (r < 127) for r in results], axis=0)
    errors = [(r.astype(np.float64) - y.zero_point) * y.scale - want for r in results]
    return np.array(noted[:2]), np.array([np.mean(e ** 2, axis=0, where=counted) for e in errors])
