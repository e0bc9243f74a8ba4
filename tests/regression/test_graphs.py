"""Readers, outputs, order and cycles: whole small models, with builtin operators only and with fused ones."""
from __future__ import annotations

import numpy as np
import pytest

from tflfuse import flatbuffer
from tflfuse.ir import Signature

from ..build import ACTIVATION, Build, names
from ..folds.affine import GAINS, OFFSETS, step
from ..folds.checks import same_bits
from ..kernels.conftest import library  # noqa: F401  the fixture
from .compare import SCALE, ZERO, conv, exactly, image, like, rewritten, roughly

pytestmark = pytest.mark.usefixtures("library")
both_ways = pytest.mark.parametrize("custom_ops", [False, True])
CHAIN = "CUSTOM:TFLFUSE_CHAIN_1"


@both_ways
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("second", ["RELU", "MUL", "ADD", "RESHAPE"])
def test_a_value_with_two_readers_keeps_its_meaning(second: str, int8: bool, custom_ops: bool) -> None:
    """CONV -> t, an operator on t, and t again: the operator does not go into the convolution."""
    b = Build()
    t = conv(b, image(b, int8=int8))
    if second == "RELU":
        beside = like(b, "RELU", [t], t)
    elif second == "RESHAPE":
        shape = b.constant(np.array([1, 144], np.int32))
        flat = b.op("RESHAPE", [t, shape], (1, 144), scale=SCALE if int8 else None, zero_point=ZERO if int8 else 0)
        out = like(b, "RELU", [t], t)
        model = exactly(b.bytes(flat, out), custom_ops)
        assert custom_ops and int8 or names(model) == ["CONV_2D", "RESHAPE", "RELU"]
        return
    else:
        beside = step(b, second, t, GAINS[:4])
    y = like(b, "ADD", [t, beside], t)
    model = exactly(b.bytes(y), custom_ops)
    assert names(model) == ([CHAIN] if custom_ops and int8 else ["CONV_2D", second, "ADD"])


@both_ways
def test_outputs_and_inputs_stay_where_they_were(custom_ops: bool) -> None:
    """RELUs stand behind an output, behind a value that only a signature names, and behind one that goes."""
    b = Build()
    p, q = image(b), image(b)
    first = conv(b, q, activation="RELU")
    inner = conv(b, first)
    merged = like(b, "RELU6", [inner], inner)
    signed = conv(b, merged)
    seen = conv(b, like(b, "RELU", [signed], signed))
    last = like(b, "ADD", [like(b, "RELU", [seen], seen), p], p)
    model = b.model(last, first, seen, merged)
    model.signatures = [Signature(b"s", [(b"p", p), (b"q", q)], [(b"signed", signed), (b"last", last)])]
    before = flatbuffer.write(model)
    after, report = rewritten(before, custom_ops=custom_ops)
    assert report.plan.steps
    same_bits(before, after)
    graph, told = flatbuffer.read(after).subgraphs[0], flatbuffer.read(after).signatures
    assert [t.name for t in graph.inputs] == [p.name, q.name]
    assert [t.name for t in graph.outputs] == [last.name, first.name, seen.name, merged.name]
    assert told is not None and [t.name for _, t in told[0].outputs] == [signed.name, last.name]
    made = {t.name for o in graph.operators for t in o.outputs}
    assert {last.name, first.name, seen.name, merged.name, signed.name} <= made and inner.name not in made


@both_ways
def test_a_sum_at_the_end_that_nobody_reads(custom_ops: bool) -> None:
    b = Build()
    x = image(b)
    y = conv(b, x)
    like(b, "ADD", [conv(b, y), x], x)
    exactly(b.bytes(y), custom_ops)


@pytest.mark.parametrize("linked", [False, True])
def test_two_convolutions_and_their_sum(linked: bool) -> None:
    """The sum's operands come from two inputs, or one from the other: no cycle, and the order holds."""
    b = Build()
    x = image(b)
    left = conv(b, x)
    right = conv(b, left if linked else image(b))
    last = like(b, "ADD", [left, right], x, activation="RELU")
    beyond = b.op("SOFTMAX", [last], last.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    model = exactly(b.bytes(beyond), custom_ops=True)
    assert names(model)[-2:] == [CHAIN, "SOFTMAX"]


@pytest.mark.parametrize("int8", [False, True])
def test_the_longest_run_first_and_each_operator_once(int8: bool) -> None:
    """CONV, batch norm, RELU and a residual ADD."""
    b = Build()
    x = image(b, int8=int8)
    y = step(b, "ADD", step(b, "MUL", conv(b, x), GAINS[:4], 1 / 24), OFFSETS[:4], 1 / 16)
    y = like(b, "RELU", [y], y)
    model = roughly(b.bytes(like(b, "ADD", [y, x], x)))
    assert names(model) == ["CONV_2D", "ADD"]
    assert [o.activation for o in model.subgraphs[0].operators] == [ACTIVATION["RELU"], ACTIVATION["NONE"]]


@pytest.mark.parametrize("size", [(6, 6), (7, 5)])
@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_pointwise_and_a_sum_are_one_operator(size: tuple[int, int], stride: int) -> None:
    b = Build()
    x = image(b, (1, *size, 4))
    y = conv(b, x, kind="DEPTHWISE_CONV_2D", stride=(stride, stride), activation="RELU6")
    y = conv(b, y, size=1)
    z = like(b, "ADD", [y, x if stride == 1 else image(b, y.shape)], y)
    assert names(exactly(b.bytes(z), custom_ops=True)) == [CHAIN]


@both_ways
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("name", ["ADD", "MUL"])
def test_one_tensor_twice(name: str, int8: bool, custom_ops: bool) -> None:
    """Behind a convolution, as both operands and as two outputs."""
    b = Build()
    t = conv(b, image(b, int8=int8))
    y = like(b, name, [t, t], t, **({"scale": 0.4} if int8 else {}))
    model = exactly(b.bytes(y, y), custom_ops)
    outputs = model.subgraphs[0].outputs
    assert len(outputs) == 2 and outputs[0] is outputs[1]
    assert custom_ops and int8 or names(model) == ["CONV_2D", name]
    b = Build()
    t = conv(b, image(b, int8=int8))
    clamped = like(b, "RELU", [t], t)
    exactly(b.bytes(t, t, clamped), custom_ops)


@pytest.mark.parametrize("inner, outer", [("RELU", "NONE"), ("NONE", "RELU6"), ("RELU6", "RELU")])
def test_clamps_on_both_sides_of_a_residual(inner: str, outer: str) -> None:
    """Inside of a fused operator too, a clamp of the operand is none of the sum."""
    b = Build()
    x = image(b)
    y = conv(b, x, activation=inner)
    assert names(exactly(b.bytes(like(b, "ADD", [y, x], x, activation=outer)), custom_ops=True)) == [CHAIN]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1, 4), (1, 6, 1, 4), (1, 6, 6, 1)])
def test_a_convolution_whose_result_broadcasts_is_no_residual(shape: tuple[int, ...], swapped: bool) -> None:
    b = Build()
    small = conv(b, image(b, (*shape[:3], 4)), channels=shape[3])
    large = image(b)
    operands = [large, small] if swapped else [small, large]
    model = exactly(b.bytes(like(b, "ADD", operands, large)), custom_ops=True)
    assert names(model)[-1] == "ADD"


@pytest.mark.parametrize("shape", [(1, 1, 1, 4), (1, 6, 6, 1), (4,), (1, 6, 6, 4)])
def test_a_residual_is_of_the_same_shape(shape: tuple[int, ...]) -> None:
    b = Build()
    y = conv(b, image(b))
    z = like(b, "ADD", [y, b.input(shape, scale=0.07, zero_point=-20)], y)
    model = exactly(b.bytes(z), custom_ops=True)
    assert names(model) == ([CHAIN] if len(shape) == 4 and shape[1:] == (6, 6, 4) else [*names(model)[:1], "ADD"])
