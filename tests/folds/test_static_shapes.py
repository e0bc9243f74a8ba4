"""An open batch size becomes the 1 that TFLM sees anyway."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build
from tflfuse import flatbuffer
from tflfuse.folds.static_shapes import static_shapes
from tflfuse.ir import Model, Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def opened(tensor: Tensor, *signature: int) -> Tensor:
    tensor.shape_signature = signature
    return tensor


def signatures(model: Model) -> list[Any]:
    return [t.shape_signature for g in model.subgraphs for t in g.tensors]


def test_every_open_tensor_is_baked() -> None:
    b = Build()
    x = opened(b.input((1, 2)), -1, 2)
    y = opened(b.op("NEG", [x], (1, 2)), -1, 2)
    z = opened(b.op("ADD", [y, b.constant(np.ones((2,), np.float32), shape_signature=(2,))], (1, 2)), -1, -1)
    model, before = b.model(z), b.bytes(z)
    done = rewrite(model, [static_shapes])
    assert signatures(model) == [None, None, (2,), None] and len(done.steps) == 1 and done.exact
    assert all(t.is_static for t in model.subgraphs[0].tensors)
    assert verify(before, flatbuffer.write(model)).equal
    assert not plan(model, [static_shapes]).steps


@pytest.mark.parametrize("shape, signature", [
    ((1, 1, 3), (-1, -1, 3)),
    ((1, 4, 3), (1, -1, 3)),
    ((4, 3), (-1, 3)),
    ((-1, 3), (-1, 3)),
    ((-1, 3), None),
    ((1, -1), (-1, 3)),
    ((), (-1,)),
])
def test_nothing_is_baked_where_an_input_is_open_elsewhere(shape: Any, signature: Any) -> None:
    b = Build()
    x, other = b.input(shape, shape_signature=signature), opened(b.input((1, 2)), -1, 2)
    y, z = b.op("NEG", [x], shape), opened(b.op("NEG", [other], (1, 2)), -1, 2)
    assert not plan(b.model(y, z), [static_shapes]).steps


def test_inputs_of_every_subgraph_count() -> None:
    b, c = Build(), Build()
    y = b.op("NEG", [opened(b.input((1, 2)), -1, 2)], (1, 2))
    z = c.op("NEG", [opened(c.input((1, 4)), 1, -1)], (1, 4))
    model = b.model(y)
    assert len(plan(model, [static_shapes]).steps) == 1
    model.subgraphs += c.model(z).subgraphs
    assert not plan(model, [static_shapes]).steps


@pytest.mark.parametrize("kind", ["NEG", "SQUEEZE"])
def test_a_tensor_whose_shape_itself_is_open_is_left(kind: str) -> None:
    b = Build()
    x = opened(b.input((1, 2)), -1, 2)
    y = opened(b.op(kind, [x], (-1, 2)), -1, 2)
    (step,) = plan(b.model(y), [static_shapes]).steps
    assert [e.tensor for e in step.edits if hasattr(e, "tensor")] == [x]


def test_nothing_is_baked_where_a_one_only_stands_for_an_unknown_size() -> None:
    b = Build()
    x = opened(b.input((1, 6, 4)), -1, 6, 4)
    rows = opened(b.op("RESHAPE", [x, b.constant(np.array([-1, 4], np.int32))], (1, 4)), -1, 4)
    assert not plan(b.model(rows), [static_shapes]).steps
    rows.shape = (6, 4)
    assert len(plan(b.model(rows), [static_shapes]).steps) == 1


@pytest.mark.parametrize("shape, reshaped", [((1, 0), (1, 4)), ((1, 4), (1, 0))])
def test_nothing_is_baked_where_elements_come_from_nothing_or_go(shape: Any, reshaped: Any) -> None:
    b = Build()
    x, other = opened(b.input((1, 2)), -1, 2), b.input(shape)
    y, z = b.op("NEG", [x], (1, 2)), b.op("SQUEEZE", [other], reshaped)
    assert not plan(b.model(y, z), [static_shapes]).steps


@pytest.mark.parametrize("shape, signature", [((0, 2), None), ((0, 2), (0, 2)), ((1, 0), (-1, 0))])
def test_a_tensor_without_elements_is_as_static_as_others(shape: Any, signature: Any) -> None:
    b = Build()
    x, empty = opened(b.input((1, 2)), -1, 2), b.input(shape, shape_signature=signature)
    y, z = b.op("NEG", [x], (1, 2)), b.op("NEG", [empty], shape)
    (step,) = plan(b.model(y, z), [static_shapes]).steps
    assert [e.tensor for e in step.edits if hasattr(e, "tensor")] == ([x, empty] if signature == (-1, 0) else [x])


def test_operators_that_change_the_number_of_elements_do_not_matter() -> None:
    b = Build()
    x = opened(b.input((1, 2)), -1, 2)
    y = opened(b.op("CONCATENATION", [x, x], (1, 4), axis=1), -1, 4)
    (step,) = plan(b.model(y), [static_shapes]).steps
    assert [e.tensor for e in step.edits if hasattr(e, "tensor")] == [x, y]
