"""What fuzzing found, each kind once, built in code: refused in one line, or left as it is."""
from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tests.build import Build
from tests.fuzz.attacks import attacked, numbers
from tests.fuzz.target import Reached
from tflfuse import flatbuffer
from tflfuse.errors import BadModel
from tflfuse.invariants import MOST_DIMENSIONS, check
from tflfuse.ir import Buffer, Model, Operator, OperatorCode, Quantization, Subgraph, Table, Tensor
from tflfuse.memory import MemoryPlan, Place
from tflfuse.memory_check import overlapping
from tflfuse.pipeline import fuse
from tflfuse.placement import joint

SMALL = 1 << 20
"""Bytes that working on a small file takes at most, whatever it claims."""


@pytest.mark.parametrize("name", ["RESHAPE", "QUANTIZE", "CONV_2D", "MEAN"])
def test_a_builtin_operator_that_computes_nothing_is_refused(name: str) -> None:
    b = Build()
    x = b.input((1, 2), scale=0.5)
    b.add(name, [x], [])
    with pytest.raises(BadModel, match="computes nothing"):
        check(b.model(x))
    assert attacked(b.bytes(x)) == Reached.READ


@pytest.mark.parametrize("name", ["MEAN", "SUM", "REDUCE_MAX", "TRANSPOSE_CONV", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM",
                                  "MIRROR_PAD", "CONV_2D", "RESHAPE", "SLICE", "STRIDED_SLICE", "TRANSPOSE", "PAD",
                                  "FULLY_CONNECTED", "ADD", "CONCATENATION", "GATHER", "BATCH_MATMUL", "PRELU"])
@pytest.mark.parametrize("operands", [0, 1, 2])
def test_an_operator_without_its_operands_stays_as_it_is(name: str, operands: int) -> None:
    b = Build()
    x = b.input((1, 2), scale=0.5)
    y = b.op(name, [x] * operands, (1, 2), np.int8, scale=0.5)
    b.op("RELU", [y], (1, 2), scale=0.5)
    assert attacked(b.bytes(b.tensors[-1])) >= Reached.FUSE


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_weights_of_another_rank_are_left_alone(rank: int) -> None:
    b = Build()
    x, w = b.input((1, 4, 4, 1), scale=0.5), b.constant(np.ones((1,) * rank, np.int8), scale=0.1)
    for name in ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED"):
        x = b.op(name, [x, w], (1, 4, 4, 1), scale=0.5)
    assert attacked(b.bytes(x)) >= Reached.FUSE


@pytest.mark.parametrize("wrong", [0, 2 ** 31 - 1])
@pytest.mark.parametrize("option", ["stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor",
                                    "depth_multiplier", "filter_height", "filter_width"])
@pytest.mark.parametrize("scale", [None, 0.5])
def test_windows_of_no_size_are_left_alone(wrong: int, option: str, scale: float | None) -> None:
    b = Build()
    x, y = b.input((1, 6, 6, 2), scale=scale), b.input((1, 6, 6, 2), scale=scale)
    weights = np.ones((2, 3, 3, 2), np.float32 if scale is None else np.int8)
    w, d = b.constant(weights, scale=scale), b.constant(weights[:1], scale=scale and [scale] * 2, axis=3)
    k = b.constant(weights[0, 0, 0], scale=scale)
    around = b.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    before: tuple[Callable[[], Tensor], ...] = (
        lambda: b.op("PAD", [x, around], (1, 8, 8, 2), scale=scale), lambda: b.op("MUL", [y, k], y.shape, scale=scale))
    out = []
    for first in before:  # for each reader one of its own: what others read too stays as it is
        for padding in ("SAME", "VALID"):
            out += [b.conv(first(), w, None, scale=scale, padding=padding),
                    b.depthwise(first(), d, None, scale=scale, padding=padding),
                    b.pool("MAX_POOL_2D", first(), padding=padding, scale=scale),
                    b.pool("AVERAGE_POOL_2D", first(), padding=padding, scale=scale)]
    for operator in b.operators:
        if operator.options is not None and option in operator.options.values:
            operator.options = operator.options.with_(**{option: wrong})
    assert attacked(b.bytes(*out)) >= Reached.FUSE


@pytest.mark.parametrize("scale", [None, 0.5])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("size", [0, -1])
def test_values_without_elements_or_of_an_open_size_are_left_alone(scale: float | None, at: int, size: int) -> None:
    b = Build()
    x = b.input((1, 4, 4, 2), scale=scale)
    weights = np.ones((2, 3, 3, 2), np.float32 if scale is None else np.int8)
    w, d = b.constant(weights, scale=scale), b.constant(weights[:1], scale=scale and [scale] * 2, axis=3)
    k = b.constant(weights[0, 0, 0], scale=scale)
    y = b.op("MUL", [x, k], x.shape, scale=scale)
    y = b.conv(b.depthwise(y, d, k, scale=scale), w, k, scale=scale)
    y = b.op("ADD", [b.op("MUL", [y, k], y.shape, scale=scale), x], y.shape, scale=scale)
    y = b.op("RELU", [b.pool("MAX_POOL_2D", y, scale=scale)], (1, 2, 2, 2), scale=scale)
    mean = b.op("MEAN", [y, b.constant(numbers(1, 2))], (1, 2), scale=scale)
    flat = b.op("RESHAPE", [y, b.constant(numbers(1, 8))], (1, 8), scale=scale)
    dense = b.dense(flat, b.constant(np.ones((2, 8), weights.dtype), scale=scale), scale=scale)
    out = b.op("CONCATENATION", [dense, mean], (1, 4), scale=scale, axis=1)
    values = [t for t in b.tensors if not t.is_constant]
    for tensors in (values, *([t] for t in values[::3])):
        old = [t.shape for t in tensors]
        for t in tensors:
            t.shape = tuple(size if axis == at else d for axis, d in enumerate(t.shape))
        assert attacked(b.bytes(out)) >= Reached.FUSE
        for t, shape in zip(tensors, old, strict=True):
            t.shape = shape


@pytest.mark.parametrize("lengths", [(1, 2), (2, 1), (3, 3), (1, 1)])
def test_a_slice_whose_operands_differ_in_length_is_left_alone(lengths: tuple[int, int]) -> None:
    b = Build()
    x = b.input((2, 2))
    ends = [b.constant(np.zeros(n, np.int32)) for n in lengths]
    y = b.op("SLICE", [x, *ends], x.shape)
    z = b.op("STRIDED_SLICE", [y, *ends, b.constant(numbers(1, 1))], x.shape)
    assert attacked(b.bytes(z)) >= Reached.FUSE


SIGNALING = np.uint32(0x7FA00000).view(np.float32)
"""A NaN that numpy warns of when it is computed with."""


WITH_POSITIONS = ["SLICE", "STRIDED_SLICE", "PAD", "PADV2", "MIRROR_PAD", "TRANSPOSE", "RESHAPE", "MEAN", "SUM", "TILE",
                  "FILL", "BROADCAST_TO", "GATHER", "EXPAND_DIMS", "RANGE", "SPLIT", "CONCATENATION"]


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf, SIGNALING])
@pytest.mark.parametrize("name", WITH_POSITIONS)
def test_positions_that_are_no_integers_are_left_alone(name: str, number: float) -> None:
    b = Build()
    for dtype in (np.float32, np.int8):
        operands = [b.constant(np.full(2, number, np.float32)) for _ in range(3)]
        operands[1] = b.constant(np.full(4, number, np.float32).view(np.complex64))
        for x in (b.input((2, 2), dtype), b.constant(np.ones((2, 2), dtype))):
            b.op(name, [x, *operands], x.shape, dtype)
            for operand in operands[:2]:
                b.op(name, [x, operand], x.shape, dtype)
            b.op(name, operands, x.shape, np.float32)
    outs = [t for o in b.operators for t in o.outputs]
    assert attacked(b.bytes(*outs)) >= Reached.FUSE


@pytest.mark.parametrize("number", [np.uint64(1 << 63), np.uint64((1 << 64) - 1), np.int64(-1 << 63),
                                    np.int32(-1 << 31)])
@pytest.mark.parametrize("name", [*WITH_POSITIONS, "REDUCE_MAX", "REDUCE_PROD", "SQUEEZE"])
def test_positions_that_nothing_is_long_enough_for_are_left_alone(name: str, number: np.integer[Any]) -> None:
    """Of values and of constants, which are computed when the file is written."""
    b = Build()
    for x in (b.input((2, 2)), b.constant(np.ones((2, 2), np.int32))):
        for count in (1, 4):
            positions = [b.constant(np.full(count, number)) for _ in range(3)]
            for operands in (positions, positions[:1]):
                b.op(name, [x, *operands], x.shape, x.dtype)
    outs = [t for o in b.operators for t in o.outputs]
    assert attacked(b.bytes(*outs)) >= Reached.FUSE


@pytest.mark.parametrize("kind", ["EqualOptions", "DepthwiseConv2DOptions", "CastOptions"])
@pytest.mark.parametrize("name", ["CONV_2D", "ADD", "FULLY_CONNECTED", "MEAN", "RESHAPE", "LEAKY_RELU", "WHILE"])
def test_options_of_another_operator_are_refused(name: str, kind: str) -> None:
    b = Build()
    x = b.input((1, 2, 2, 1))
    b.add(name, [x, x], [b.tensor((1, 2, 2, 1))]).options = Table.of(kind)
    out = b.op("RELU", [b.tensors[-1]], (1, 2, 2, 1))
    with pytest.raises(BadModel, match=f"{name} #0 .* has {kind} instead of "):
        check(b.model(out))
    assert attacked(b.bytes(out)) == Reached.READ


def test_a_shape_in_a_type_that_holds_none_is_left_alone() -> None:
    b = Build()
    shape = b.op("SHAPE", [b.input((1, 300))], (2,), np.int8)
    assert attacked(b.bytes(shape)) == Reached.FUSE


def grown(kind: str, count: int) -> bytes:
    """A model of an operator that would make many numbers of few constants, which are then added to an input."""
    b = Build()
    one = b.constant(np.ones(1, np.float32))
    operands = {
        "FILL": [b.constant(numbers(count)), b.constant(np.float32(1).reshape(()))],
        "BROADCAST_TO": [one, b.constant(numbers(count))], "TILE": [one, b.constant(numbers(count))],
        "RANGE": [b.constant(np.array(n, np.int32)) for n in (0, count, 1)]}
    dtype = np.int32 if kind == "RANGE" else np.float32
    out = b.op(kind, operands[kind], (count,), dtype)
    return b.bytes(b.op("ADD", [b.input((count,), dtype), out], (count,), dtype))


@pytest.mark.parametrize("count", [2 ** 22, 2 ** 31 - 1])
@pytest.mark.parametrize("kind", ["FILL", "BROADCAST_TO", "TILE", "RANGE"])
def test_constants_that_would_fill_the_memory_are_not_computed(kind: str, count: int) -> None:
    data = grown(kind, count)
    assert len(data) < 4096
    tracemalloc.start()
    try:
        reached = attacked(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reached >= Reached.FUSE and peak < SMALL


def test_an_outer_sum_is_compared_with_its_output_before_it_is_made() -> None:
    b = Build()
    column, row = b.constant(np.ones((300, 1), np.int32)), b.constant(np.ones((1, 300), np.int32))
    out = b.op("ADD", [column, row], (7,), np.int32)
    tracemalloc.start()
    try:
        attacked(b.bytes(out))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < SMALL / 2


def test_a_slice_of_a_huge_value_takes_no_memory() -> None:
    b = Build()
    shape = (1, 46_340, 46_340)
    x = b.input(shape, np.int8)
    y = b.op("SLICE", [x, b.constant(numbers(0, 0, 0)), b.constant(numbers(*shape))], shape)
    z = b.op("RELU", [y], shape)
    tracemalloc.start()
    try:
        reached = attacked(b.bytes(z))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reached == Reached.REWRITTEN and peak < SMALL


@pytest.mark.parametrize("name", [b"n" * 5000, b"a\nb", b"\x1b[31m"])
def test_names_in_messages_are_short_and_in_one_line(name: bytes) -> None:
    b = Build()
    x = b.input((1, 2))
    model = b.model(b.op("RELU", [x], x.shape), signature=True)
    assert model.signatures is not None
    model.signatures[0].key = name
    model.signatures[0].inputs = [(name, x)]
    model.operator_codes[0].custom_code = name
    x.name = name
    root = flatbuffer.write(model)
    assert attacked(root) >= Reached.FUSE
    model.signatures[0].inputs = [(name, Tensor((1,), 0, Buffer()))]
    with pytest.raises(BadModel) as raised:
        check(model)
    assert len(str(raised.value)) < 300 and str(raised.value).isprintable()
    label = Operator(OperatorCode(32, 32, 1, name), [], []).label
    assert len(label) < 300 and label.isprintable()


@pytest.mark.parametrize("field", ["shape", "shape_signature"])
def test_more_dimensions_than_anybody_takes_are_refused(field: str) -> None:
    b = Build()
    x = b.input((1, 2))
    out = b.op("RELU", [x], x.shape)
    setattr(x, field, (1,) * MOST_DIMENSIONS)
    check(b.model(out))
    setattr(x, field, (1,) * 2000)
    with pytest.raises(BadModel, match="more than 32 dimensions"):
        check(b.model(out))
    assert attacked(b.bytes(out)) == Reached.READ


def calling(depth: int, times: int) -> bytes:
    """Subgraphs of which each calls the next a few times."""
    code = OperatorCode.of("CALL_ONCE")
    graphs = [Subgraph([], [], [], [Operator(code, [], [], Table.of("CallOnceOptions", init_subgraph_index=g + 1))
                                    for _ in range(times if g + 1 < depth else 0)]) for g in range(depth)]
    return flatbuffer.write(Model(graphs, [code], [Buffer()]))


@pytest.mark.parametrize(("depth", "times"), [(3000, 1), (40, 2)])
def test_subgraphs_that_call_each_other_deeply_or_often_end(depth: int, times: int) -> None:
    data = calling(depth, times)
    assert attacked(data) == Reached.FUSE
    assert any("subgraphs call each other" in note for note in fuse(data).report.notes)


def test_a_plan_for_more_memory_than_there_is_is_not_written() -> None:
    b = Build()
    x = b.input((1, 1), np.int8)
    most = 2 ** 31 - 1
    wide = b.op("CAST", [x], (1, most), np.float32)
    turned = b.op("RESHAPE", [wide, b.constant(numbers(most, 1))], (most, 1))  # lies where `wide` does, if planned
    data = b.bytes(turned, b.op("RELU", [wide], (1, most)))
    assert attacked(data) == Reached.FUSE and fuse(data).model == data


def test_an_output_over_many_inputs_is_placed_in_no_time() -> None:
    """In the order of their distances; once all orders were tried, and of sixteen inputs there are 2 * 10 ** 13."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        output, *numbers_ = (int(n) for n in rng.integers(1, 40, 1 + 2 * int(rng.integers(0, 5))))
        inputs = [(s, d - 1) for s, d in zip(numbers_[::2], numbers_[1::2], strict=True)]
        assert joint(output, inputs) == min(total_of(output, order, over) for order in permutations(inputs)
                                            for over in range(len(order) + 1))
    b = Build()
    values = [b.input((1, 4), scale=0.1)]
    for k in range(50):  # each value lives until 30 others were made of it
        values.append(b.op("ADD", [values[-1], values[max(0, k - 30)]], (1, 4), scale=0.1))
    assert attacked(b.bytes(values[-1])) >= Reached.REWRITTEN


def total_of(output: int, order: tuple[tuple[int, int], ...], over: int) -> int:
    """Bytes of an output with the first inputs over it one behind the other, and the rest beside it."""
    end = 0
    for size, distance in order[:over]:
        end = max(end, distance) + size
    return max(output, end) + sum(size for size, _ in order[over:])


def test_many_values_at_one_time_are_placed_in_no_time() -> None:
    b = Build()
    x = b.input((1, 4))
    outs = [b.op("RELU", [x], x.shape) for _ in range(150)]
    assert attacked(b.bytes(*outs)) >= Reached.FUSE


def test_pairs_of_values_do_not_fill_the_memory() -> None:
    b = Build()
    x = b.input((1, 4))
    outs = [b.op("RELU", [x], x.shape) for _ in range(2000)]
    notes = fuse(b.bytes(*outs)).report.notes
    assert "where tensors lie is not known: so many tensors are needed at one time" in " ".join(notes)


def test_all_subgraphs_together_take_the_time_of_one() -> None:
    graphs = []
    for _ in range(12):
        b = Build()
        x = b.input((1, 4))
        outs = [b.op("TANH", [x], (1, 4 + k)) for k in range(16)]
        graphs.append(b.model(b.op("CONCATENATION", outs, (1, 184), axis=1)))
    model = graphs[0]
    for other in graphs[1:]:
        model.subgraphs += other.subgraphs
        model.operator_codes += other.operator_codes
    assert attacked(flatbuffer.write(model)) >= Reached.FUSE


def test_scratch_memory_of_no_bytes_overlaps_nothing() -> None:
    """A MEAN of a value without dimensions asks for numbers for each of them: none, at the arena's beginning."""
    b = Build()
    tensor, operator = b.input((1, 32), np.int8), b.add("MEAN", [], [])
    whole, empty = Place(0, 32, 0, 2, tensor, None), Place(16, 0, 1, 1, None, operator)
    assert not list(overlapping(MemoryPlan((whole, empty), 32, 32, 32, 1, {}, "written")))
    some = Place(16, 16, 1, 1, None, operator)
    assert list(overlapping(MemoryPlan((whole, some), 32, 32, 32, 1, {}, "written"))) == [(whole, some)]


@pytest.mark.parametrize("scale", [1e-45, 1e-30, 1e-10, 1e10, 1e30, 3.4e38, np.inf, np.nan, 0.0, -1.0])
@pytest.mark.parametrize("at", ["input", "weights", "constant", "value", "output"])
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_scales_at_the_ends_of_float32_are_fused_and_lowered_or_refused(scale: float, at: str, kind: str) -> None:
    b = Build()
    s = {"input": 0.5, "weights": 0.1, "constant": 0.02, "value": 0.25, "output": 0.3, at: np.float32(scale)}
    x = b.input((1, 2, 2, 3), scale=s["input"])
    k = b.constant(np.array([1, -7, 90], np.int8), scale=s["constant"], zero_point=3)
    y = b.op(kind, [x, k], x.shape, scale=s["value"])
    z = b.conv(y, b.constant(np.ones((2, 1, 1, 3), np.int8), scale=[s["weights"]] * 2), scale=s["output"])
    for name in ("ELU", "LEAKY_RELU", "LOGISTIC", "RELU6", "HARD_SWISH"):
        z = b.op(name, [z], z.shape, scale=s["output"])
    dense = b.constant(np.ones((2, 8), np.int8), scale=s["weights"])
    flat = b.op("RESHAPE", [z, b.constant(numbers(1, 8))], (1, 8), scale=s["output"])
    assert attacked(b.bytes(b.dense(flat, dense, scale=s["value"]))) >= Reached.FUSE


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, SIGNALING, 3.4e38])
@pytest.mark.parametrize("step", [1.5, None])
def test_floats_that_are_no_numbers_are_not_folded(number: float, step: float | None) -> None:
    b = Build()
    x = b.input((1, 2, 2, 2))
    k = b.constant(np.array([step or number, 0], np.float32))
    w = b.constant(np.array([0, number, number, 1], np.float32).reshape(2, 1, 1, 2))
    y = b.op("ADD", [b.op("MUL", [x, k], x.shape), k], x.shape)
    z = b.conv(y, w, k, padding="VALID")
    out = b.op("ADD", [b.op("MUL", [z, k], z.shape), k], z.shape)
    assert attacked(b.bytes(out)) >= Reached.FUSE


def test_a_reshape_to_another_kind_of_quantization_is_not_fused() -> None:
    b = Build()
    x = b.input((1, 2, 2, 3), scale=0.5)
    y = b.conv(x, b.constant(np.ones((1, 1, 1, 3), np.int8), scale=[0.1]), scale=0.2)
    out = b.op("RESHAPE", [y, b.constant(numbers(1, 4))], (1, 4), scale=0.2)
    assert attacked(b.bytes(out)) == Reached.LOWERED
    assert isinstance(out.quantization, Quantization)
    out.quantization.details = Table.of("CustomQuantization")
    assert attacked(b.bytes(out)) >= Reached.FUSE


@pytest.mark.parametrize("own", [True, False])
def test_a_value_without_elements_that_is_read_before_it_is_computed(own: bool) -> None:
    """A constant without elements needs no data and no producer; this is none."""
    b = Build()
    x, late = b.input((1, 2)), b.tensor((0, 2))
    b.add("EXPAND_DIMS", [late if own else x, b.constant(numbers(0))], [late])
    y = b.op("RELU", [x], x.shape)
    assert attacked(b.bytes(late, y)) == (Reached.READ if own else Reached.FUSE)


@pytest.mark.parametrize("operands", [[], [None]])
def test_a_reshape_of_nothing_whose_result_lies_where_another_does(operands: list[None]) -> None:
    b = Build()
    y = b.tensor((1, 64), scale=1 / 256, zero_point=-128)
    b.add("RESHAPE", operands, [y], new_shape=np.array([1, 64], np.int32))
    flat = b.op("RESHAPE", [y], (64,), scale=1 / 256, zero_point=-128)
    out = b.op("SOFTMAX", [flat], flat.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    memory = fuse(b.bytes(out, y)).report.memory
    assert memory is not None and memory.written
