"""A RESHAPE that keeps the shape goes."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.identity_reshape import identity_reshape
from tflfuse.ir import Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def inputs(b: Build, kind: str, x: Tensor) -> list[Tensor]:
    return [x] if kind == "SQUEEZE" else [x, b.constant(np.array(x.shape, np.int32))]


@pytest.mark.parametrize("kind", ["RESHAPE", "SQUEEZE"])
@pytest.mark.parametrize("quantized", [{}, {"scale": 0.5, "zero_point": -3}])
def test_it_goes(kind: str, quantized: Any) -> None:
    b = Build()
    x = b.op("RELU", [b.input((2, 3), **quantized)], (2, 3), None, *quantized.values())
    same = b.op(kind, inputs(b, kind, x), (2, 3), None, *quantized.values())
    y = b.op("RELU", [same], (2, 3), None, *quantized.values())
    model, before = b.model(y), b.bytes(y)
    assert rewrite(model, [identity_reshape]).exact
    assert names(model) == ["RELU", "RELU"]
    assert verify(before, flatbuffer.write(model)).equal


def test_the_models_output_keeps_its_name() -> None:
    b = Build()
    x = b.op("NEG", [b.input((2, 3))], (2, 3))
    y = b.op("RESHAPE", inputs(b, "RESHAPE", x), (2, 3))
    model, before = b.model(y, signature=True), b.bytes(y)
    rewrite(model, [identity_reshape])
    assert names(model) == ["NEG"] and model.subgraphs[0].operators[0].outputs == [y]
    assert model.signatures is not None and model.signatures[0].outputs == [(b"x0", y)]
    assert verify(before, flatbuffer.write(model)).equal


def reasons(b: Build, y: Tensor) -> list[str]:
    found = plan(b.model(y), [identity_reshape])
    assert not found.steps
    return [r.reason for r in found.refusals]


def test_between_input_and_output_it_stays() -> None:
    b = Build()
    y = b.op("SQUEEZE", [b.input((2, 3))], (2, 3))
    assert reasons(b, y) == ["it connects an input or a constant, or another output, with an output of the model"]


def test_a_changed_quantization_type_or_open_dimension_is_refused() -> None:
    b = Build()
    assert reasons(b, b.op("SQUEEZE", [b.input((2,), scale=0.5)], (2,), None, 0.25)) == ["the quantization changes"]
    b = Build()
    assert reasons(b, b.op("SQUEEZE", [b.input((2,), scale=0.5)], (2,), np.int16, 0.5)) == ["the type changes"]
    b = Build()
    y = b.op("SQUEEZE", [b.input((1, 2), shape_signature=(-1, 2))], (1, 2))
    assert reasons(b, y) == ["a dimension is left open until the model runs"]


def test_a_change_of_shape_is_nothing_to_tell() -> None:
    b = Build()
    assert reasons(b, b.op("SQUEEZE", [b.input((1, 2))], (2,))) == []


def test_a_variable_is_copied_when_it_is_read() -> None:
    b = Build()
    y = b.op("NEG", [b.op("SQUEEZE", [b.tensor((2,), is_variable=True)], (2,))], (2,))
    assert reasons(b, y) == ["a variable's value depends on the order"]
