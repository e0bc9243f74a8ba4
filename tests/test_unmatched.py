"""Every constant MUL, ADD, SUB or DIV and every activation that stays is said to stay, and why, once."""
from __future__ import annotations

import numpy as np
import pytest

from tests.build import Build, random_int8
from tests.converted import DATA, FILES
from tests.folds.affine import step
from tflfuse import flatbuffer, fuse
from tflfuse.ir import Model, Operator, Tensor
from tflfuse.plan import Refusal
from tflfuse.unmatched import REASON, unmatched

ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
BETWEEN = "an activation lies between"
READERS = "its result has more than one reader"
PADDED = "the constant shifts the input, and the padding's zeros would not be shifted"
NO_PRODUCER = "no operator that takes a fused activation computes its input"
LEFT: dict[str, list[str]] = {
    "bn_after_add_relu": [f"affine_before #5: {BETWEEN}"],
    "bn_after_add_relu_int16x8": [f"affine_before #5: {BETWEEN}"],
    "preactivation": [f"affine_before #7: {BETWEEN}", f"affine_before #3: {BETWEEN}", f"affine_after #2: {READERS}",
                      f"affine_after #1: {READERS}"],
    "bn_before_same_conv": [f"affine_before #2: {PADDED}"],
    "relu_after_concat": [f"activation_into_producer #3: {NO_PRODUCER}"],
    "relu_after_mean": [f"activation_into_producer #2: {NO_PRODUCER}"],
    "relu_beside_add": [f"activation_into_producer #1: {READERS}"],
    "dilated_open_batch": [f"affine_after #{place}: {REASON}" for place in (3, 4, 5)],
}


def sentences(data: bytes, custom_ops: bool = False) -> list[str]:
    refusals = fuse(data, custom_ops=custom_ops).report.plan.refusals
    return [f"{r.rule} {r.place}: {r.reason}" for r in refusals if r.rule != "chain_runs"]


@pytest.mark.parametrize("name", LEFT)
def test_what_is_said_of_converted_models(name: str) -> None:
    assert sorted(sentences((DATA / f"{name}.tflite").read_bytes())) == sorted(LEFT[name])


@pytest.mark.parametrize("name", FILES)
def test_everything_that_stays_has_one_sentence(name: str) -> None:
    result = fuse((DATA / f"{name}.tflite").read_bytes(), custom_ops=False)
    said = result.report.plan.refusals
    assert len(set(said)) == len(said)
    graph = flatbuffer.read((DATA / f"{name}.tflite").read_bytes()).subgraphs[0]
    left = {(o.name, o.outputs[0].name) for o in flatbuffer.read(result.model).subgraphs[0].operators}
    for operator in graph.operators:
        if (operator.name, operator.outputs[0].name) not in left:
            continue
        if operator.name in ACTIVATIONS:
            assert [r.rule for r in said if r.place == operator.place] == ["activation_into_producer"]
        elif operator.name in ("MUL", "ADD", "SUB", "DIV") and any(t and t.is_constant for t in operator.inputs):
            assert about(operator, graph.operators, said), operator.label


def about(operator: Operator, operators: list[Operator], said: tuple[Refusal, ...]) -> bool:
    """Whether one refusal is about the operator, or about a convolution that reads it, through others like it."""
    own = [r for r in said if r.place == operator.place]
    assert [r.rule for r in own] in ([], ["affine_after"])
    readers = [o for o in operators if operator.outputs[0] in o.inputs]
    return bool(own) or any(r.rule == "affine_before" and r.place == o.place for r in said for o in readers) or (
        len(readers) == 1 and about(readers[0], operators, said))


def reasons(model: Model) -> list[str]:
    return [f"{r.place} {r.reason}" for r in unmatched(model)]


def plane(b: Build) -> Tensor:
    return b.input((1, 6, 6, 4), scale=1 / 32, zero_point=-5)


def conv(b: Build, x: Tensor) -> Tensor:
    w = b.constant(random_int8(np.random.default_rng(1), (4, 3, 3, 4)), scale=[0.01] * 4)
    return b.conv(x, w, scale=1 / 16, zero_point=3)


def batch_norm(b: Build, x: Tensor) -> Tensor:
    return step(b, "ADD", step(b, "MUL", x, [1.5, -0.75, 0.5, 1.25]), [0.5, -1.0, 0.25, 1.5])


def test_a_batch_norm_after_a_pool_at_the_end() -> None:
    b = Build()
    x = b.pool("MAX_POOL_2D", conv(b, plane(b)), scale=1 / 16, zero_point=3)
    assert reasons(b.model(batch_norm(b, x))) == [f"#2 {REASON}", f"#3 {REASON}"]


def test_a_batch_norm_between_a_sum_and_a_relu() -> None:
    b = Build()
    x = plane(b)
    y = batch_norm(b, b.op("ADD", [x, conv(b, x)], x.shape, scale=1 / 8))
    z = b.op("RELU", [y], y.shape, scale=y.scale, zero_point=y.zero_point)
    assert reasons(b.model(b.op("MAXIMUM", [y, z], y.shape, scale=y.scale, zero_point=y.zero_point))) == [
        f"#2 {REASON}", f"#3 {REASON}"]


def test_what_the_rules_speak_of_is_not_said_again() -> None:
    """The batch norm of a LEAKY_RELU that a convolution and a sum read, and one that goes into the convolution."""
    b = Build()
    x = conv(b, plane(b))
    normed = batch_norm(b, b.op("LEAKY_RELU", [x], x.shape, scale=1 / 16, zero_point=3, alpha=0.1))
    y = b.op("ADD", [batch_norm(b, conv(b, normed)), normed], x.shape, scale=1 / 8)
    assert reasons(b.model(y)) == []
    said = sentences(b.bytes(y))
    assert said == [f"affine_before #6: {READERS}"], "the convolution stands where the ADD was that it took"


def test_what_another_rule_takes_is_not_mentioned() -> None:
    b = Build()
    x = b.pool("MAX_POOL_2D", conv(b, plane(b)), scale=1 / 16, zero_point=3)
    y = conv(b, batch_norm(b, b.op("RESHAPE", [x, b.constant(np.array(x.shape, np.int32))], x.shape, scale=1 / 16,
                                   zero_point=3)))
    assert not any(REASON in s for s in sentences(b.bytes(y)))


def test_an_operator_inside_of_a_fused_run_is_not_mentioned() -> None:
    b = Build()
    x = b.pool("MAX_POOL_2D", conv(b, plane(b)), scale=1 / 16, zero_point=3)
    data = b.bytes(batch_norm(b, x))
    assert len(sentences(data)) == 2 and sentences(data, custom_ops=True) == []


def test_sizes_constants_and_pairs_of_values_are_no_affine_operators() -> None:
    b = Build()
    size, x = b.input((3,), np.int32), plane(b)
    twice = b.op("MUL", [size, b.constant(np.array([2], np.int32))], (3,))
    square = b.op("MUL", [x, x], x.shape, scale=0.5)
    known = step(b, "MUL", b.constant(np.ones((1, 4), np.int8), 0.5), [1, 2, 3, 4])
    assert reasons(b.model(twice, square, known)) == []


@pytest.mark.parametrize("name", ["MUL", "ADD", "SUB", "DIV"])
def test_floats_and_each_kind(name: str) -> None:
    b = Build()
    x = b.input((1, 4))
    first = b.op(name, [b.constant(np.ones(4, np.float32)), x], x.shape)
    second = b.op(name, [x, b.constant(np.ones(4, np.float32))], x.shape)
    expected = [f"#1 {REASON}"] if name == "DIV" else [f"#0 {REASON}", f"#1 {REASON}"]
    assert reasons(b.model(first, second)) == expected


def test_what_stands_before_weights_in_a_fused_run_is_said_of_them() -> None:
    """Two operators stay outside of the run; what reads one of them is in it, and is not said to be nothing."""
    b = Build()
    y = conv(b, step(b, "SUB", plane(b), [0.5, 1, -2, 1.5], first=True))
    z = step(b, "SUB", b.op("TANH", [y], y.shape, None, 1 / 128), [0.5, 1, -2, 1.5], first=True)
    said = sentences(b.bytes(z), custom_ops=True)
    assert sorted(said) == sorted([f"affine_before #1: {PADDED}", f"affine_after #3: {REASON}"])
