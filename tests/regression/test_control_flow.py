"""Several subgraphs, variables and open sizes: what is folded or fused in one place must hold in all."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tflite

from tflfuse import flatbuffer
from tflfuse.ir import Array, Model, Operator, OperatorCode, Signature, Table, Tensor
from tflfuse.tflm import Interpreter

from ..build import Build, names
from ..folds.affine import GAINS, OFFSETS, f32, i32, step
from ..folds.checks import same_bits
from ..kernels.conftest import library  # noqa: F401  the fixture
from .compare import FLOAT_TOLERANCE, SCALE, ZERO, conv, folded, image, like, rewritten

pytestmark = pytest.mark.usefixtures("library")
both_ways = pytest.mark.parametrize("custom_ops", [False, True])
CHAIN = "CUSTOM:TFLFUSE_CHAIN_1"
SHAPE = (1, 6, 6, 4)


def joined(*parts: tuple[Build, tuple[Tensor, ...]]) -> Model:
    """One subgraph for each builder, the first the main one."""
    models = [b.model(*outputs) for b, outputs in parts]
    whole = models[0]
    for model in models[1:]:
        whole.subgraphs += model.subgraphs
        whole.buffers += model.buffers
        whole.operator_codes += model.operator_codes
    return whole


def operator(b: Build, name: str, inputs: list[Tensor], outputs: list[Tensor], options: Table | None = None) -> None:
    code = b.codes.setdefault((name, 1), OperatorCode.of(name))
    b.operators.append(Operator(code, list(inputs), outputs, options))


def kinds(model: Model) -> list[list[str]]:
    return [[o.name for o in g.operators] for g in model.subgraphs]


def branch(activation: str, size: int) -> tuple[Build, tuple[Tensor, ...]]:
    """CONV, an activation, CONV."""
    b = Build()
    y = conv(b, image(b))
    y = like(b, activation, [y], y)
    return b, (conv(b, y, size=size),)


def branching() -> Model:
    """CONV -> RELU, then an IF of two branches, then CONV -> RELU6."""
    b = Build()
    which = b.input((1,), np.bool_)
    y = conv(b, image(b))
    y = like(b, "RELU", [y], y)
    chosen = b.tensor(SHAPE, scale=SCALE, zero_point=ZERO)
    operator(b, "IF", [which, y], [chosen], Table.of("IfOptions", then_subgraph_index=1, else_subgraph_index=2))
    z = conv(b, chosen)
    return joined((b, (like(b, "RELU6", [z], z),)), branch("RELU", 3), branch("RELU6", 1))


@both_ways
def test_both_branches_are_rewritten_and_still_chosen(custom_ops: bool) -> None:
    before = flatbuffer.write(branching())
    after, report = rewritten(before, custom_ops=custom_ops)
    model = flatbuffer.read(after)
    assert kinds(model)[0][1] == "IF" and sum(map(len, kinds(model))) < 9
    if not custom_ops:
        assert kinds(model) == [["CONV_2D", "IF", "CONV_2D"], ["CONV_2D"] * 2, ["CONV_2D"] * 2]
    rng = np.random.default_rng(1)
    results: list[Array] = []
    old, new = Interpreter(before), Interpreter(after)
    x = rng.integers(-128, 128, SHAPE).astype(np.int8)
    for which in (True, False, True):
        inputs = [np.array([which]), x]
        expected, got = old.run(inputs)[0].copy(), new.run(inputs)[0].copy()
        np.testing.assert_array_equal(got, expected)
        results.append(got)
    assert np.array_equal(results[0], results[2]) and not np.array_equal(results[0], results[1])


def looping(turns: int) -> Model:
    """WHILE count < turns: count += 1, x = CONV(RELU(CONV(x)))."""
    b, condition, body = Build(), Build(), Build()
    x = image(b)
    zero = b.constant(i32([0]))
    y = conv(b, x)
    y = like(b, "RELU", [y], y)
    ends = [b.tensor((1,), np.int32), b.tensor(SHAPE, scale=SCALE, zero_point=ZERO)]
    operator(b, "WHILE", [zero, y], ends, Table.of("WhileOptions", cond_subgraph_index=1, body_subgraph_index=2))
    count = condition.input((1,), np.int32)
    image(condition)
    more = condition.op("LESS", [count, condition.constant(i32([turns]))], (1,), np.bool_)
    count = body.input((1,), np.int32)
    value = image(body)
    following = body.op("ADD", [count, body.constant(i32([1]))], (1,))
    value = conv(body, value)
    value = like(body, "RELU", [value], value)
    return joined((b, (conv(b, ends[1]), ends[0])), (condition, (more,)), (body, (following, conv(body, value))))


@both_ways
@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_loop_turns_as_often_over_its_rewritten_body(turns: int, custom_ops: bool) -> None:
    before = flatbuffer.write(looping(turns))
    after, _ = rewritten(before, custom_ops=custom_ops)
    same_bits(before, after)
    model = flatbuffer.read(after)
    assert "WHILE" in kinds(model)[0] and sum(map(len, kinds(model))) < 9
    assert Interpreter(after).run([np.zeros(SHAPE, np.int8)])[1].tolist() == [turns]


def handle(b: Build) -> Tensor:
    t = b.tensor((1,), np.int32)
    t.type = tflite.TensorType.RESOURCE
    operator(b, "VAR_HANDLE", [], [t], Table.of("VarHandleOptions", container=b"", shared_name=b"state"))
    return t


def stateful() -> Model:
    """CALL_ONCE writes 0 to a variable; each run adds CONV(x) to it, behind a RELU, and reads it twice."""
    b, start = Build(), Build()
    operator(b, "CALL_ONCE", [], [], Table.of("CallOnceOptions", init_subgraph_index=1))
    x = b.input(SHAPE)
    state = handle(b)
    old = b.op("READ_VARIABLE", [state], SHAPE, np.float32)
    y = conv(b, x)
    y = b.op("MUL", [like(b, "RELU", [y], y), b.constant(f32([0.5]))], SHAPE)
    total = like(b, "ADD", [old, y], y)
    operator(b, "ASSIGN_VARIABLE", [state, total], [])
    new = b.op("READ_VARIABLE", [state], SHAPE, np.float32)
    twice = like(b, "RELU6", [like(b, "ADD", [new, old], y)], y)
    first = start.constant(np.zeros(SHAPE, np.float32))
    operator(start, "ASSIGN_VARIABLE", [handle(start), first], [])
    return joined((b, (twice, total)), (start, ()))


@both_ways
def test_variables_are_read_and_written_in_their_order(custom_ops: bool) -> None:
    before = flatbuffer.write(stateful())
    after, _ = rewritten(before, custom_ops=custom_ops)
    model = flatbuffer.read(after)
    assert kinds(model) == [["CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "CONV_2D", "MUL", "ADD", "ASSIGN_VARIABLE",
                             "READ_VARIABLE", "ADD"], ["VAR_HANDLE", "ASSIGN_VARIABLE"]]
    rng = np.random.default_rng(2)
    old, new = Interpreter(before), Interpreter(after)
    seen = []
    for _ in range(4):
        x = rng.normal(size=SHAPE).astype(np.float32)
        expected, got = ([a.copy() for a in i.run([x])] for i in (old, new))
        for a, c in zip(expected, got, strict=True):
            np.testing.assert_allclose(c, a, rtol=FLOAT_TOLERANCE, atol=FLOAT_TOLERANCE)
        seen.append(got[1].sum())
    assert all(a < c for a, c in zip(seen, seen[1:]))


@both_ways
def test_the_state_of_a_filter_is_no_constant(custom_ops: bool) -> None:
    """SVDF's state is a variable and evolves as before; a RELU in front of it is folded."""
    b = Build()
    x = b.input((1, 8))
    y = b.dense(x, b.constant(np.random.default_rng(1).normal(size=(6, 8)).astype(np.float32)))
    y = b.op("RELU", [y], (1, 6))
    rng = np.random.default_rng(2)
    features, times = (b.constant(rng.normal(size=s).astype(np.float32)) for s in ((4, 6), (4, 3)))
    state = b.tensor((1, 12), is_variable=True)
    z = b.tensor((1, 4))
    options = Table.of("SVDFOptions", rank=1, fused_activation_function=0)
    bias = b.constant(np.zeros(4, np.float32))
    operator(b, "SVDF", [y, features, times, bias, state], [z], options)
    out = like(b, "RELU6", [z], z)
    before = b.bytes(out)
    after, _ = rewritten(before, custom_ops=custom_ops)
    model = flatbuffer.read(after)
    assert names(model) == ["FULLY_CONNECTED", "SVDF", "RELU6"]
    kept = model.subgraphs[0].operators[1].inputs[4]
    assert kept is not None and kept.is_variable and not kept.is_constant
    old, new = Interpreter(before), Interpreter(after)
    for _ in range(4):
        given = [rng.normal(size=(1, 8)).astype(np.float32)]
        np.testing.assert_array_equal(new.run(given)[0], old.run(given)[0])


def open_batch() -> tuple[Build, Tensor]:
    """SHAPE of an input whose batch is left open, its size as the first size of a RESHAPE."""
    b = Build()
    x = image(b)
    y = conv(b, x)
    y = like(b, "RELU", [y], y)
    for t in (x, *(o.outputs[0] for o in b.operators)):
        t.shape_signature = (-1, *t.shape[1:])
    shape = b.op("SHAPE", [y], (4,), np.int32, out_type=2)
    ends = [b.constant(i32([n])) for n in (0, 1, 1)]
    first = b.op("STRIDED_SLICE", [shape, *ends], (), np.int32, shrink_axis_mask=1)
    target = b.op("PACK", [first, b.constant(i32(144))], (2,), np.int32, values_count=2)
    flat = b.op("RESHAPE", [y, target], (1, 144), np.int8, SCALE, ZERO)
    flat.shape_signature = (-1, 144)
    w = b.constant(np.random.default_rng(1).integers(-9, 9, (5, 144)).astype(np.int8), 0.02)
    out = b.dense(flat, w, None, 0.3, 1)
    out.shape_signature = (-1, 5)
    return b, out


def test_an_open_batch_becomes_one_and_the_report_says_so() -> None:
    b, out = open_batch()
    before = b.bytes(out)
    after, report = rewritten(before, custom_ops=False)
    model = flatbuffer.read(after)
    assert names(model) == ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"]
    assert all(t.is_static for t in model.subgraphs[0].tensors)
    assert "static_shapes" in report.text()
    same_bits(before, after)


@both_ways
def test_an_open_batch_that_is_kept_may_be_any_size(custom_ops: bool) -> None:
    """What TFLM cannot show, an interpreter that takes any batch does."""
    b, out = open_batch()
    before = b.bytes(out)
    after, report = rewritten(before, custom_ops=custom_ops, keep_dynamic=True)
    model = flatbuffer.read(after)
    assert names(model) == ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"]
    graph = model.subgraphs[0]
    assert graph.inputs[0].shape_signature == (-1, 6, 6, 4) and graph.outputs[0].shape_signature == (-1, 5)
    target = graph.operators[1].inputs[1]
    assert target is not None and target.array().tolist() == [-1, 144]
    assert "static_shapes" not in report.text()
    same_bits(before, after)
    given = np.random.default_rng(4).integers(-128, 128, (3, 6, 6, 4)).astype(np.int8)
    expected, got = (with_batch(data, given) for data in (before, after))
    assert got.shape == (3, 5)
    np.testing.assert_array_equal(got, expected)


def with_batch(data: bytes, given: Array) -> Array:
    from ai_edge_litert.interpreter import Interpreter as LiteRt
    from ai_edge_litert.interpreter import OpResolverType
    interpreter = LiteRt(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, given.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, given)
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


@both_ways
def test_weights_that_another_subgraph_reads_are_not_changed(custom_ops: bool) -> None:
    """Two branches with the same filter, batch norm behind one of them."""
    def part(normed: bool, shared: Tensor | None) -> tuple[Build, tuple[Tensor, ...], Tensor]:
        b = Build()
        y = conv(b, image(b, int8=False))
        w = b.operators[-1].inputs[1]
        assert w is not None
        if shared is not None:
            w.buffer = shared.buffer
        return b, (step(b, "ADD", step(b, "MUL", y, GAINS[:4]), OFFSETS[:4]) if normed else y,), w

    b = Build()
    which, x = b.input((1,), np.bool_), image(b, int8=False)
    chosen = b.tensor(SHAPE)
    operator(b, "IF", [which, x], [chosen], Table.of("IfOptions", then_subgraph_index=1, else_subgraph_index=2))
    one, outputs, w = part(True, None)
    other, others, _ = part(False, w)
    model = joined((b, (chosen,)), (one, outputs), (other, others))
    model.buffers = list(dict.fromkeys(model.buffers))
    unread = [k for k in model.buffers if not any(t.buffer is k for g in model.subgraphs for t in g.tensors)]
    model.buffers = [k for k in model.buffers if k not in unread]
    before = flatbuffer.write(model)
    after, _ = rewritten(before, custom_ops=custom_ops)
    assert kinds(flatbuffer.read(after)) == [["IF"], ["CONV_2D"], ["CONV_2D"]]
    given = np.random.default_rng(3).normal(size=SHAPE).astype(np.float32)
    for flag in (True, False):
        expected, got = (Interpreter(data).run([np.array([flag]), given])[0] for data in (before, after))
        np.testing.assert_allclose(got, expected, rtol=FLOAT_TOLERANCE, atol=FLOAT_TOLERANCE)


def test_a_signature_of_another_subgraph_is_renumbered_with_it() -> None:
    model = branching()
    graph = model.subgraphs[2]
    model.signatures = [Signature(b"else", [(b"x", graph.inputs[0])], [(b"y", graph.outputs[0])], 2)]
    read, _ = folded(flatbuffer.write(model))
    told: Any = read.signatures
    assert told[0].inputs[0][1] is read.subgraphs[2].inputs[0]
    assert told[0].outputs[0][1] is read.subgraphs[2].outputs[0]
