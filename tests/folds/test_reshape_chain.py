"""Several RESHAPEs are one, and a RESHAPE's shape is a constant."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.folds.evaluate_constants import evaluate_constants
from tflfuse.folds.identity_reshape import identity_reshape
from tflfuse.folds.reshape_chain import reshape_chain
from tflfuse.folds.shape_of_static import shape_of_static
from tflfuse.folds.static_shapes import static_shapes
from tflfuse.ir import Model, Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify


def i32(*values: int) -> Any:
    return np.array(values, np.int32)


def reshape(b: Build, x: Tensor, *shape: int, kind: str = "RESHAPE") -> Tensor:
    """Of x's own type and quantization."""
    q = x.quantization
    scale, zero = (None, 0) if q is None else (q.scale, q.zeros[0])
    operand = i32(shape.index(1)) if kind == "EXPAND_DIMS" else i32(*shape)
    inputs = [x] if kind == "SQUEEZE" else [x, b.constant(operand)]
    return b.op(kind, inputs, shape, None, scale, zero)


def operand(model: Model, number: int) -> list[int]:
    shape = model.subgraphs[0].operators[number].inputs[1]
    assert shape is not None
    values: list[int] = shape.array().tolist()
    return values


@pytest.mark.parametrize("quantized", [{}, {"scale": 0.5, "zero_point": -3}])
@pytest.mark.parametrize("kinds", [
    [("RESHAPE", (6, 4)), ("RESHAPE", (2, 12))],
    [("RESHAPE", (1, 24)), ("SQUEEZE", (24,))],
    [("EXPAND_DIMS", (2, 3, 1, 4)), ("RESHAPE", (4, 6)), ("EXPAND_DIMS", (1, 4, 6)), ("SQUEEZE", (4, 6)),
     ("RESHAPE", (24,))],
])
def test_a_chain_becomes_one_reshape(kinds: Any, quantized: Any) -> None:
    b = Build()
    y = x = b.input((2, 3, 4), **quantized)
    for kind, shape in kinds:
        y = reshape(b, y, *shape, kind=kind)
    model, before = b.model(y), b.bytes(y)
    assert rewrite(model, [reshape_chain]).exact
    assert names(model) == ["RESHAPE"]
    last = model.subgraphs[0].operators[0]
    assert last.inputs[0] is x and last.outputs == [y] and operand(model, 0) == list(y.shape)
    assert verify(before, flatbuffer.write(model)).equal
    assert not plan(model, [reshape_chain]).steps


def test_there_and_back_again_leaves_nothing_between_neighbours() -> None:
    b = Build()
    x = b.op("NEG", [b.input((2, 3))], (2, 3))
    y = b.op("NEG", [reshape(b, reshape(b, x, 6), 2, 3)], (2, 3))
    model, before = b.model(y), b.bytes(y)
    rewrite(model, [reshape_chain, identity_reshape])
    assert names(model) == ["NEG", "NEG"]
    assert verify(before, flatbuffer.write(model)).equal


def test_an_inner_reshape_with_other_readers_stays_for_them() -> None:
    b = Build()
    inner = reshape(b, b.input((2, 3)), 6)
    y, z = reshape(b, inner, 3, 2), b.op("NEG", [inner], (6,))
    model, before = b.model(y, z, inner), b.bytes(y, z, inner)
    rewrite(model, [reshape_chain])
    assert names(model) == ["RESHAPE", "RESHAPE", "NEG"]
    assert model.subgraphs[0].operators[1].inputs[0] is b.inputs[0]
    assert verify(before, flatbuffer.write(model)).equal


@pytest.mark.parametrize("kind, shape", [("RESHAPE", (6,)), ("SQUEEZE", (2, 3)), ("EXPAND_DIMS", (2, 1, 3, 1))])
def test_one_of_them_alone_stays_as_it_is(kind: str, shape: Any) -> None:
    b = Build()
    y = reshape(b, b.input((2, 3, 1)), *shape, kind=kind)
    assert plan(b.model(y), [reshape_chain]) == plan(b.model(y), [])


def flatten(b: Build, x: Tensor, batch: int) -> Tensor:
    """As Keras writes it: the batch size is read from the shape, the rest is a constant."""
    shape = b.op("SHAPE", [x], (len(x.shape),), np.int32, out_type=2)
    size = b.op("STRIDED_SLICE", [shape, b.constant(i32(0)), b.constant(i32(1)), b.constant(i32(1))], (),
                shrink_axis_mask=1)
    rest = x.size // x.shape[0]
    target = b.op("PACK", [size, b.constant(np.array(rest, np.int32))], (2,), values_count=2)
    y = b.op("RESHAPE", [x, target], (x.shape[0], rest))
    if batch < 0:
        x.shape_signature = (-1, *x.shape[1:])
        y.shape_signature = (-1, rest)
    return y


@pytest.mark.parametrize("batch, rules", [
    (2, [shape_of_static, evaluate_constants, reshape_chain]),
    (2, [reshape_chain]),
    (-1, [static_shapes, shape_of_static, evaluate_constants, reshape_chain]),
])
def test_a_flatten_is_one_reshape(batch: int, rules: Any) -> None:
    b = Build()
    y = flatten(b, b.input((abs(batch), 3, 4)), batch)
    model, before = b.model(y), b.bytes(y)
    rewrite(model, rules)
    assert names(model) == ["RESHAPE"] and operand(model, 0) == [batch, 12]
    assert verify(before, flatbuffer.write(model)).equal


def test_an_open_batch_stays_open_in_the_constant() -> None:
    b = Build()
    y = flatten(b, b.input((1, 3, 4)), -1)
    model, before = b.model(y), b.bytes(y)
    rewrite(model, [shape_of_static, evaluate_constants, reshape_chain, identity_reshape])
    assert names(model) == ["RESHAPE"] and operand(model, 0) == [-1, 12]
    after = flatbuffer.write(model)
    assert verify(before, after).equal
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    for data in (before, after):
        runs = interpreter.Interpreter(model_content=data)
        runs.resize_tensor_input(runs.get_input_details()[0]["index"], (5, 3, 4))
        runs.allocate_tensors()
        runs.set_tensor(runs.get_input_details()[0]["index"], np.arange(60, dtype=np.float32).reshape(5, 3, 4))
        runs.invoke()
        out = runs.get_tensor(runs.get_output_details()[0]["index"])
        assert np.array_equal(out, np.arange(60).reshape(5, 12))


def test_a_size_left_open_takes_what_a_known_input_has() -> None:
    """The 1 of its shape stands for a size that is not known."""
    b = Build()
    y = b.op("RESHAPE", [b.input((2, 3)), b.input((2,), np.int32)], (1, 3))
    y.shape_signature = (-1, 3)
    model = b.model(y)
    rewrite(model, [reshape_chain])
    assert operand(model, 0) == [-1, 3]


def reason(b: Build, y: Tensor) -> str:
    refusals = plan(b.model(y), [reshape_chain]).refusals
    assert len(refusals) == 1
    return refusals[0].reason


def test_two_open_dimensions_are_refused() -> None:
    b = Build()
    y = reshape(b, reshape(b, b.input((1, 4)), 4), 1, 4)
    y.shape_signature = (-1, -1)
    assert reason(b, y) == "more than one dimension is left open until the model runs"


@pytest.mark.parametrize("outer", [False, True])
def test_a_shape_that_is_not_the_outputs_is_refused(outer: bool) -> None:
    b = Build()
    y = reshape(b, reshape(b, b.input((2, 3)), 6), 3, 2)
    b.operators[outer].inputs[1] = b.constant(i32(1, 6))
    assert reason(b, y) == "the shape it asks for is not that of its output"


def test_options_that_disagree_are_refused_where_there_is_no_operand() -> None:
    b = Build()
    inner = b.op("RESHAPE", [b.input((2, 3))], (6,), new_shape=i32(3, 2))
    assert reason(b, reshape(b, inner, 1, 6)) == "the shape it asks for is not that of its output"


def test_a_shape_of_another_length_is_refused() -> None:
    b = Build()
    y = reshape(b, reshape(b, b.input((2, 3)), 6), 3, 2)
    b.operators[1].inputs[1] = b.constant(i32(3, 2, 1))
    assert reason(b, y) == "the shape it asks for is not that of its output"


def test_a_size_left_to_the_interpreter_agrees_with_any() -> None:
    b = Build()
    y = reshape(b, reshape(b, b.input((2, 3)), 6), 3, 2)
    b.operators[0].inputs[1], b.operators[1].inputs[1] = b.constant(i32(-1)), b.constant(i32(-1, 2))
    model, before = b.model(y), b.bytes(y)
    rewrite(model, [reshape_chain])
    assert names(model) == ["RESHAPE"] and verify(before, flatbuffer.write(model)).equal


def test_a_scalar_as_old_converters_write_it_agrees() -> None:
    b = Build()
    scalar = b.op("RESHAPE", [b.input((1, 1))], (), new_shape=i32(0))
    model = b.model(reshape(b, scalar, 1))
    rewrite(model, [reshape_chain])
    assert names(model) == ["RESHAPE"] and operand(model, 0) == [1]


def test_a_signature_of_another_rank_or_a_size_of_0_is_refused() -> None:
    b = Build()
    y = reshape(b, reshape(b, b.input((2, 3)), 6), 3, 2)
    y.shape_signature = (-1, 3, 2)
    assert reason(b, y) == "the shape and its signature differ in rank"
    b = Build()
    assert reason(b, reshape(b, reshape(b, b.input((0, 3)), 3, 0), 0)) == "the tensor has no elements"


def test_a_changed_quantization_is_refused() -> None:
    b = Build()
    y = b.op("RESHAPE", [reshape(b, b.input((2, 3), scale=0.5), 6), b.constant(i32(3, 2))], (3, 2), None, 0.25)
    assert reason(b, y) == "the quantization changes"


def test_another_number_of_elements_is_refused() -> None:
    b = Build()
    y = b.op("RESHAPE", [b.input((2, 3)), b.input((1,), np.int32)], (5,))
    assert reason(b, y) == "the number of elements changes"


def test_a_scalar_is_refused() -> None:
    b = Build()
    y = b.op("SQUEEZE", [reshape(b, b.input((1,)), 1, 1)], ())
    assert reason(b, y) == "a scalar has no shape to write down"


def test_a_variable_that_is_read_later_is_refused() -> None:
    b = Build()
    state = b.tensor((2, 3), is_variable=True)
    y = reshape(b, reshape(b, state, 6), 3, 2)
    assert reason(b, y) == "it reads a variable, whose value depends on the order"
