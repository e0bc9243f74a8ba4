"""A model that does not hold together is told apart from one that does, in one sentence."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite

from tests.build import Build
from tflfuse import flatbuffer, invariants
from tflfuse.errors import BadModel
from tflfuse.ir import Buffer, Model, Operator, OperatorCode, Quantization, Signature, Table, Tensor

INT8, INT4, FLOAT32 = tflite.TensorType.INT8, tflite.TensorType.INT4, tflite.TensorType.FLOAT32


def two_operators() -> Model:
    """CONV_2D -> RELU on int8, with per-channel weights."""
    b = Build()
    x = b.input((1, 4, 4, 2), scale=0.5, name=b"x")
    w = b.constant(np.zeros((3, 1, 1, 2), np.int8), scale=[0.25, 0.5, 0.75], name=b"w")
    y = b.conv(x, w, b.constant(np.zeros(3, np.int32), name=b"b"), scale=0.25)
    y.name = b"y"
    z = b.op("RELU", [y], y.shape, scale=0.25)
    z.name = b"z"
    return b.model(z, signature=True)


def set_shape(model: Model, name: bytes, shape: tuple[int, ...]) -> None:
    tensor(model, name).shape = shape


def tensor(model: Model, name: bytes) -> Tensor:
    return next(t for t in model.subgraphs[0].tensors if t.name == name)


def quantize(model: Model, name: bytes, q: Quantization) -> None:
    tensor(model, name).quantization = q


def stranger() -> Tensor:
    return Tensor((1,), INT8, Buffer(), b"stranger")


def swap(model: Model) -> None:
    model.subgraphs[0].operators.reverse()


def read_own_result(model: Model) -> None:
    """Without elements, so that nothing would have to compute it."""
    z = tensor(model, b"z")
    z.shape = (0, 4)
    model.subgraphs[0].operators[1].inputs = [z]


def drop_first(model: Model) -> None:
    del model.subgraphs[0].operators[0]


def compute_twice(model: Model) -> None:
    graph = model.subgraphs[0]
    graph.operators.append(graph.operators[1])


def compute_input(model: Model) -> None:
    model.subgraphs[0].operators[1].outputs = [tensor(model, b"x")]


def compute_constant(model: Model) -> None:
    model.subgraphs[0].operators[1].outputs = [tensor(model, b"w")]


def use_stranger(model: Model) -> None:
    model.subgraphs[0].operators[1].inputs = [stranger()]


def intermediate_stranger(model: Model) -> None:
    model.subgraphs[0].operators[1].intermediates = [stranger()]


def output_stranger(model: Model) -> None:
    model.subgraphs[0].outputs = [stranger()]


def call_missing_subgraph(model: Model) -> None:
    model.subgraphs[0].operators[1].options = Table.of("WhileOptions", cond_subgraph_index=0, body_subgraph_index=1)


def sign_stranger(model: Model) -> None:
    model.signatures = [Signature(b"serve", [(b"x", stranger())], [])]


def sign_missing_subgraph(model: Model) -> None:
    model.signatures = [Signature(b"serve", [], [], 3)]


@pytest.mark.parametrize("damage, message", [
    (lambda m: m.subgraphs.clear(), r"the model has no subgraphs"),
    (swap, r"RELU #1 'z' reads 'y' before it is computed"),
    (read_own_result, r"RELU #1 'z' reads 'z' before it is computed"),
    (drop_first, r"RELU #1 'z' reads 'y', which nothing computes"),
    (compute_twice, r"RELU #1 'z' computes 'z', which is computed already"),
    (compute_input, r"RELU #1 'x' computes 'x', which is computed already"),
    (compute_constant, r"RELU #1 'w' computes 'w', which is a constant"),
    (use_stranger, r"RELU #1 'z' uses 'stranger', which is not among its subgraph's tensors"),
    (intermediate_stranger, r"RELU #1 'z' uses 'stranger', which is not among"),
    (output_stranger, r"'stranger', an input or output, is not among its tensors"),
    (call_missing_subgraph, r"RELU #1 'z' calls subgraph 1; the model has 1"),
    (sign_stranger, r"signature 'serve' names 'stranger', which is not in its subgraph"),
    (sign_missing_subgraph, r"signature 'serve' belongs to subgraph 3; the model has 1"),
    (lambda m: set_shape(m, b"w", (3, 1, 1, 3)), r"tensor 'w' has 6 bytes of data; INT8 \[3, 1, 1, 3\] takes 9"),
    (lambda m: set_shape(m, b"b", (2,)), r"tensor 'b' has 12 bytes of data; INT32 \[2\] takes 8"),
    (lambda m: set_shape(m, b"y", (1, -2)), r"tensor 'y' has a negative dimension: \[1, -2\]"),
    (lambda m: set_shape(m, b"y", (2 ** 16,) * 4), r"tensor 'y' has 18446744073709551616 elements, too many"),
    (lambda m: quantize(m, b"w", Quantization.of([1, 2, 3], 0, 4)), r"'w' is quantized along dimension 4; it has 4"),
    (lambda m: quantize(m, b"w", Quantization.of([1, 2, 3], 0, 3)), r"tensor 'w' has 3 scales for 2 slices"),
    (lambda m: quantize(m, b"w", Quantization.of([1, 2], 0, 0)), r"tensor 'w' has 2 scales for 3 slices"),
    (lambda m: quantize(m, b"b", Quantization.of([1, 2], 0, 3)), r"tensor 'b' has 2 scales for 3 slices"),
    (lambda m: quantize(m, b"w", Quantization(np.ones(3, np.float32), np.zeros(2, np.int64))),
     r"tensor 'w' has 3 scales but 2 zero points"),
])
def test_damage_is_told(damage: Callable[[Model], None], message: str) -> None:
    model = two_operators()
    invariants.check(model)
    damage(model)
    with pytest.raises(BadModel, match=message) as error:
        invariants.check(model)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damage", [swap, drop_first, compute_twice])
def test_damage_in_a_file_is_told(damage: Callable[[Model], None]) -> None:
    model = two_operators()
    damage(model)
    with pytest.raises(BadModel):
        invariants.check(flatbuffer.read(flatbuffer.write(model)))


def test_damage_in_a_second_subgraph_names_it() -> None:
    model = two_operators()
    other = two_operators().subgraphs[0]
    model.subgraphs.append(other)
    invariants.check(model)
    other.tensors[1].shape = (7,)
    with pytest.raises(BadModel, match="of subgraph 1 has 6 bytes"):
        invariants.check(model)


def test_an_input_of_another_subgraph_is_a_stranger() -> None:
    model = two_operators()
    model.subgraphs.append(two_operators().subgraphs[0])
    model.subgraphs[1].operators[1].inputs = [model.subgraphs[0].inputs[0]]
    with pytest.raises(BadModel, match="uses 'x', which is not among its subgraph's tensors"):
        invariants.check(model)


def test_a_bias_may_claim_the_axis_of_its_filter() -> None:
    model = two_operators()
    quantize(model, b"b", Quantization.of([1, 2, 3], 0, 3))
    invariants.check(model)


def test_data_whose_size_does_not_follow_from_the_shape() -> None:
    """Packed, sparse and string constants are left alone."""
    model = two_operators()
    w = tensor(model, b"w")
    w.buffer = Buffer(np.zeros(3, np.uint8))
    w.type = INT4
    invariants.check(model)
    w.type, w.sparsity = INT8, Table.of("SparsityParameters")
    invariants.check(model)
    w.type, w.sparsity = tflite.TensorType.STRING, None
    invariants.check(model)


def test_open_dimensions_are_allowed_without_data() -> None:
    model = two_operators()
    set_shape(model, b"x", (-1, 4, 4, 2))
    tensor(model, b"x").shape_signature = (-1, 4, 4, 2)
    invariants.check(model)
    set_shape(model, b"w", (-1, 1, 1, 2))
    with pytest.raises(BadModel, match="'w' has 6 bytes"):
        invariants.check(model)


def test_variables_and_constants_without_elements_need_no_producer() -> None:
    model = two_operators()
    graph = model.subgraphs[0]
    state, nothing = stranger(), Tensor((0,), FLOAT32, Buffer(), b"nothing")
    state.is_variable = True
    graph.tensors += [state, nothing]
    graph.operators[1].inputs = [tensor(model, b"y"), state, nothing, None]
    invariants.check(model)


def test_a_custom_operator_may_take_scratch_memory() -> None:
    model = two_operators()
    graph = model.subgraphs[0]
    scratch = stranger()
    graph.tensors.append(scratch)
    graph.operators.append(Operator(OperatorCode.of("CUSTOM:ethos-u"), [scratch], []))
    invariants.check(model)
    graph.operators[-1].code = OperatorCode.of("RELU")
    with pytest.raises(BadModel, match="reads 'stranger', which nothing computes"):
        invariants.check(model)
