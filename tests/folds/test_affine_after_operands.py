"""Operands that a fold into a convolution must not change, or cannot read."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tflite

from tflfuse import flatbuffer
from tflfuse.folds.affine_after import affine_after
from tflfuse.ir import Buffer, Model, Quantization, Subgraph, Table
from tflfuse.plan import rewrite

from ..build import Build, names, random_int8
from .affine import GAINS, OFFSETS, declined, f32, i32, nearly, operand, read, root, scales, small, small8, step
from .checks import folded, outputs, refused
from .kinds import FLOAT, INT16, computed

RULES = [affine_after]
checked = partial(nearly, RULES)
reasons = partial(declined, RULES)


# What shares data

def test_weights_of_two_convolutions_are_copied() -> None:
    b = Build()
    x = b.input((1, 4, 4, 2))
    w = b.constant(np.arange(8, dtype=np.float32).reshape(4, 1, 1, 2))
    also = w.like(name=b"also")
    b.tensors.append(also)
    outs = [step(b, "MUL", b.conv(x, w), GAINS[:4]), b.conv(x, w), b.conv(x, also)]
    before, after, model, _ = folded(b, *outs, rules=RULES)
    assert names(model) == ["CONV_2D"] * 3
    for old, new in zip(outputs(before), outputs(after)):
        np.testing.assert_allclose(new, old, rtol=1e-6, atol=1e-6)
    first, second, third = (o.inputs[1] for o in model.subgraphs[0].operators)
    assert first is not None and second is w and third is also and first.buffer is not w.buffer
    np.testing.assert_array_equal(w.array().reshape(-1), np.arange(8))


def test_weights_shared_with_another_subgraph_are_copied() -> None:
    b, other = Build(), Build()
    y = step(b, "MUL", small(b), GAINS[:4])
    w = b.operators[0].inputs[1]
    assert w is not None
    twin = w.like(name=b"twin")
    other.tensors.append(twin)
    z = other.conv(other.input((1, 4, 4, 2)), twin)
    model = b.model(y)
    model.subgraphs.append(Subgraph(other.tensors, other.inputs, [z], other.operators, b"other"))
    model.buffers.append(other.empty)
    model.operator_codes += other.codes.values()
    rewrite(model, RULES)
    data = flatbuffer.read(flatbuffer.write(model))
    weights = [read(g.operators[0], 1) for g in data.subgraphs]
    np.testing.assert_array_equal(weights[1].array(), w.array())
    np.testing.assert_array_equal(weights[0].array(), w.array() * f32(GAINS[:4]).reshape(4, 1, 1, 1))


# What is not what it seems

def altered(position: int, **changes: Any) -> Model:
    """An int8 CONV_2D and a MUL, one operand of the convolution changed."""
    b = Build()
    bias = b.constant(i32([1, 2, 3, 4]), 0.0001)
    conv = small8(b, random_int8(np.random.default_rng(10), (4, 1, 1, 8)), 0.005, bias)
    y = step(b, "MUL", conv, GAINS[:4])
    model = b.model(y)
    tensor = b.operators[0].inputs[position]
    assert tensor is not None
    for name, value in changes.items():
        setattr(tensor, name, value)
    if tensor.buffer not in model.buffers:
        model.buffers.append(tensor.buffer)
    return model


@pytest.mark.parametrize("position, changes, reason", [
    (1, {"type": tflite.TensorType.INT4, "buffer": Buffer(np.zeros(16, np.uint8))}, "int4 weights are not folded"),
    (1, {"type": tflite.TensorType.UINT8}, "uint8 operators are not folded: TFLM does not run them"),
    (0, {"type": tflite.TensorType.INT16}, "input and output are of different types"),
    (1, {"sparsity": Table.of("SparsityParameters")}, "the constant is stored sparse"),
    (1, {"buffer": Buffer()}, "the weights are not constant"),
    (2, {"buffer": Buffer()}, "the bias is not constant"),
    (1, {"quantization": Quantization.of(0.005, 3)}, "the weights' zero point is not 0"),
    (1, {"quantization": Quantization.of([0.01] * 8, 0, 3)},
     "the weights' scales do not lie along the output channels"),
    (1, {"quantization": None}, "the weights have no scale"),
    (1, {"quantization": Quantization.of(0.0)}, "a weight's scale is not a positive number"),
    (0, {"quantization": None}, "the tensor is not quantized per tensor"),
])
def test_operands_that_are_not_folded(position: int, changes: dict[str, Any], reason: str) -> None:
    model = altered(position, **changes)
    producer = model.subgraphs[0].operators[0]
    if changes.get("buffer") is not None and len(changes["buffer"]) == 0:  # then it is computed at run time
        model.subgraphs[0].inputs.append(read(producer, position))
    assert reasons(model) == [reason]


def test_float_activations_with_integer_weights() -> None:
    b = Build()
    conv = b.conv(b.input((1, 4, 4, 2)), b.constant(np.ones((4, 1, 1, 2), np.int8), 0.1))
    said = reasons(b.model(step(b, "MUL", conv, GAINS[:4])))
    assert said == ["the weights are int8 and the activations float32 (hybrid): TFLM does not run it"]


def test_float16_weights_behind_a_dequantize() -> None:
    b = Build()
    half = b.constant(np.ones((4, 1, 1, 2), np.float16))
    conv = b.conv(b.input((1, 4, 4, 2)), b.op("DEQUANTIZE", [half], half.shape, np.float32))
    assert reasons(b.model(step(b, "MUL", conv, GAINS[:4]))) == ["the weights are not constant"]


def test_uint8() -> None:
    b = Build()
    w = b.constant(np.ones((4, 1, 1, 2), np.uint8), 0.1)
    conv = b.op("CONV_2D", [b.input((1, 4, 4, 2), np.uint8, 0.1), w], (1, 4, 4, 4), scale=0.1)
    y = b.op("MUL", [conv, b.constant(np.asarray([2], np.uint8), 0.5)], conv.shape, scale=0.1)
    assert reasons(b.model(y)) == ["uint8 operators are not folded: TFLM does not run them"]


@pytest.mark.parametrize("name, values, reason", [
    ("MUL", [np.inf] * 4, "the constant holds NaN or infinity"),
    ("ADD", [1, np.nan, 1, 1], "the constant holds NaN or infinity"),
    ("MUL", [3e38] * 4, "the folded constants would be infinite or NaN"),
    ("DIV", [1, 0, 1, 1], "the constant divides by zero"),
    ("DIV", [1e-40] * 4, "the folded constants would be infinite or NaN")])
def test_numbers_that_float32_cannot_hold(name: str, values: list[float], reason: str) -> None:
    b = Build()
    assert reasons(b.model(step(b, name, small(b), values))) == [reason]


def test_weights_that_hold_nan_are_left_alone() -> None:
    b = Build()
    conv = b.conv(b.input((1, 4, 4, 2)), b.constant(np.full((4, 1, 1, 2), np.nan, np.float32)))
    assert reasons(b.model(step(b, "MUL", conv, GAINS[:4]))) == ["the folded constants would be infinite or NaN"]


def test_large_gains_that_cancel_are_folded_in_float64() -> None:
    b = Build()
    y = step(b, "MUL", step(b, "MUL", small(b), [1e30]), [1e-30])
    old = read(b.operators[0], 1).array()
    model = checked(b, y, FLOAT)
    np.testing.assert_allclose(operand(model, 1).array(), old, rtol=2e-7)


# Versions

@pytest.mark.parametrize("activation, version", [("NONE", 3), ("RELU", 4)])
def test_a_transpose_conv_gets_the_version_of_what_it_gets(activation: str, version: int) -> None:
    b = Build()
    conv = computed(b, "TRANSPOSE_CONV", FLOAT)
    b.operators[-1].inputs.pop()
    b.operators[-1].code.version = 1
    model = checked(b, step(b, "ADD", conv, OFFSETS[:4], activation=activation), FLOAT)
    assert root(model).code.version == version


# 16-bit activations

@pytest.mark.parametrize("kind, given, stated, want", [
    ("CONV_2D", np.int64, 0, "INT64"), ("CONV_2D", np.int32, 0, "INT32"), ("CONV_2D", None, 0, "INT64"),
    ("CONV_2D", None, 2, "INT32"), ("CONV_2D", None, 4, "INT64"), ("FULLY_CONNECTED", np.int32, 2, "INT32"),
    ("FULLY_CONNECTED", None, 2, "INT32"), ("DEPTHWISE_CONV_2D", None, 0, "INT64"),
    ("TRANSPOSE_CONV", np.int16, 0, "INT64"), ("TRANSPOSE_CONV", None, 2, "INT64")])
def test_the_accumulator_stays_as_wide(kind: str, given: Any, stated: int, want: str) -> None:
    b = Build()
    conv = computed(b, kind, INT16)
    operator = b.operators[-1]
    position = 3 if kind == "TRANSPOSE_CONV" else 2
    old = operator.inputs[position]
    assert old is not None and operator.options is not None
    values = np.clip(old.array(), -30000, 30000)
    bias = None if given is None else b.constant(values.astype(given), scales(old))
    operator.inputs[position:] = [] if bias is None else [bias]
    if kind != "DEPTHWISE_CONV_2D":
        operator.options = operator.options.with_(quantized_bias_type=stated)
    y = step(b, "ADD", step(b, "MUL", conv, [0.5]), OFFSETS[:conv.shape[-1]])
    model = checked(b, y, INT16)
    assert operand(model, position).type == getattr(tflite.TensorType, want)
    assert root(model).option("quantized_bias_type") == (stated if kind != "DEPTHWISE_CONV_2D" else 0)


def test_a_factor_that_sixteen_bits_express_worse() -> None:
    """TFLM scales 64-bit sums by 16-bit factors: this one is off by more than the original's two."""
    b = Build()
    y = step(b, "ADD", step(b, "MUL", computed(b, "FULLY_CONNECTED", INT16), [-1.5]), OFFSETS[:4], 1 / 16)
    assert set(refused(b, y, rules=RULES)) == {
        "the result would be further from the real-valued function than the original"}


def test_a_left_out_bias_of_a_depthwise_convolution_by_number() -> None:
    b = Build()
    conv = computed(b, "DEPTHWISE_CONV_2D", FLOAT)
    b.operators[-1].inputs[2] = None
    model = b.model(step(b, "ADD", conv, OFFSETS))
    rewrite(model, RULES)
    assert names(model) == ["DEPTHWISE_CONV_2D"]
    np.testing.assert_array_equal(operand(model, 2).array(), f32(OFFSETS))


def test_a_bias_that_the_kernel_would_misread() -> None:
    b = Build()
    conv = computed(b, "DEPTHWISE_CONV_2D", INT16)
    b.operators[-1].inputs[2] = b.constant(np.zeros(6, np.int32))
    y = step(b, "MUL", conv, [0.5])
    assert reasons(b.model(y)) == ["TFLM does not read a bias of type int32 here"]
