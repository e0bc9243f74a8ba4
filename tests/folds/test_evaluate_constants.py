"""What is computed from constants has the bits that the interpreters compute."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.build import Build, names
from tflfuse import flatbuffer
from tflfuse.errors import Refused
from tflfuse.evaluate import EVALUATORS, evaluate
from tflfuse.folds.evaluate_constants import evaluate_constants
from tflfuse.ir import Array, Tensor
from tflfuse.plan import plan, rewrite
from tflfuse.runner import Runner
from tflfuse.verify import verify

I32, I64, F32 = np.int32, np.int64, np.float32
BOTH, LITERT = ("TFLM", "LiteRT"), ("LiteRT",)
CUBE = np.arange(24, dtype=F32).reshape(2, 3, 4)
BYTES = np.arange(-12, 12, dtype=np.int8).reshape(2, 3, 4)
FLOATS = np.array([0.0, -0.0, 1.5, -2.25, 1e-40, 3e38, 1 / 3, -7.0], F32)
MORE = np.array([-0.0, 0.0, -0.5, 2.25, 1.0, 1e-3, 7.0, 2.5], F32)


def i32(*values: Any) -> Array:
    return np.array(values, I32)


def f32(*values: Any) -> Array:
    return np.array(values, F32)


def scalar(value: Any, dtype: Any = I32) -> Array:
    return np.array(value, dtype)


Case = tuple[str, list[Array], tuple[int, ...], Any, dict[str, Any], tuple[str, ...]]

CASES: list[Case] = [
    ("RESHAPE", [CUBE, i32(4, -1)], (4, 6), None, {}, BOTH),
    ("SQUEEZE", [CUBE.reshape(2, 1, 12)], (2, 12), None, {"squeeze_dims": i32(1)}, BOTH),
    ("EXPAND_DIMS", [CUBE, i32(1)], (2, 1, 3, 4), None, {}, BOTH),
    ("TRANSPOSE", [CUBE, i32(2, 0, 1)], (4, 2, 3), None, {}, BOTH),
    ("TRANSPOSE", [BYTES, i32(1, 2, 0)], (3, 4, 2), None, {}, BOTH),
    ("PACK", [i32(1, 2), i32(3, 4), i32(5, 6)], (3, 2), None, {"axis": 0, "values_count": 3}, BOTH),
    ("PACK", [CUBE, -CUBE], (2, 3, 4, 2), None, {"axis": -1, "values_count": 2}, BOTH),
    ("PACK", [scalar(7), scalar(-9)], (2,), None, {"axis": 0, "values_count": 2}, BOTH),
    ("CONCATENATION", [CUBE, CUBE[:, :1]], (2, 4, 4), None, {"axis": 1}, BOTH),
    ("CONCATENATION", [i32(1), i32(2, 3)], (3,), None, {"axis": -1}, BOTH),
    ("UNPACK", [CUBE[:1]], (3, 4), None, {"num": 1, "axis": 0}, BOTH),
    ("SPLIT", [scalar(1), CUBE], (2, 3, 4), None, {"num_splits": 1}, BOTH),
    ("GATHER", [CUBE, i32(1, 0, 1)], (3, 3, 4), None, {"axis": 0}, BOTH),
    ("GATHER", [CUBE, i32(2, 2).reshape(1, 2)], (2, 3, 1, 2), None, {"axis": -1}, BOTH),
    ("GATHER", [CUBE, scalar(1)], (2, 4), None, {"axis": 1}, BOTH),
    ("GATHER", [CUBE, i32(0, 2, 1, 1).reshape(2, 2)], (2, 2, 4), None, {"axis": 1, "batch_dims": 1}, BOTH),
    ("GATHER", [CUBE, i32(0, 2, 1, 1).reshape(2, 2)], (2, 2, 4), None, {"axis": -2, "batch_dims": -1}, BOTH),
    ("GATHER", [i32(1, 8, 8, 3), i32(1, 3)], (2,), None, {}, LITERT),
    ("SLICE", [CUBE, i32(0, 1, 2), i32(2, -1, 1)], (2, 2, 1), None, {}, BOTH),
    ("SLICE", [BYTES, np.array([1, 0, 0], I64), np.array([1, 3, -1], I64)], (1, 3, 4), None, {}, BOTH),
    ("STRIDED_SLICE", [i32(1, 8, 9, 3), i32(0), i32(1), i32(1)], (), None, {"shrink_axis_mask": 1}, BOTH),
    ("STRIDED_SLICE", [i32(1, 8, 9, 3), i32(-1), i32(0), i32(1)], (), None, {"shrink_axis_mask": 1}, BOTH),
    ("STRIDED_SLICE", [i32(1, 8, 9, 3), i32(1), i32(99), i32(2)], (2,), None, {}, BOTH),
    ("STRIDED_SLICE", [i32(1, 8, 9, 3), i32(9), i32(-9), i32(-1)], (4,), None, {}, BOTH),
    ("STRIDED_SLICE", [i32(1, 8, 9, 3), i32(0), i32(0), i32(-2)], (2,), None, {"begin_mask": 1, "end_mask": 1}, BOTH),
    ("STRIDED_SLICE", [CUBE, i32(0, -2, 3), i32(2, 9, 0), i32(1, 1, -2)], (2, 2, 2), None, {}, BOTH),
    ("STRIDED_SLICE", [CUBE, i32(1, 2, 1), i32(0, 0, 3), i32(1, -1, 1)], (2, 2), None,
     {"shrink_axis_mask": 1}, BOTH),
    ("STRIDED_SLICE", [CUBE, i32(1, 5, 1), i32(2, 1, 3), i32(1, -1, 1)], (1, 1, 3), None,
     {"begin_mask": 2, "end_mask": 4}, BOTH),
    ("STRIDED_SLICE", [CUBE, i32(0, 1), i32(0, 3), i32(1, 2)], (2, 3, 1), None, {"ellipsis_mask": 1}, LITERT),
    ("STRIDED_SLICE", [CUBE, i32(0, 1, 0), i32(0, 2, 0), i32(1, 1, 1)], (1, 1, 3, 4), None,
     {"new_axis_mask": 1, "end_mask": 4}, LITERT),
    ("STRIDED_SLICE", [CUBE, i32(1, 0, 2), i32(2, 0, 3), i32(1, 1, 1)], (3,), None,
     {"ellipsis_mask": 2, "shrink_axis_mask": 5}, LITERT),
    ("STRIDED_SLICE", [CUBE, i32(1), i32(2), i32(1)], (1, 3, 4), None, {}, LITERT),
    ("FILL", [i32(2, 3), scalar(1.5, F32)], (2, 3), None, {}, BOTH),
    ("BROADCAST_TO", [i32(1, 2, 3), i32(2, 3)], (2, 3), None, {"version": 2}, BOTH),
    ("TILE", [CUBE, i32(1, 2, 3)], (2, 6, 12), None, {}, LITERT),
    ("ADD", [i32(1, -2, 2 ** 31 - 6), i32(5, 7, 5)], (3,), None, {}, BOTH),
    ("ADD", [FLOATS, MORE], (8,), None, {}, BOTH),
    ("SUB", [i32(1, -2, 9), i32(5, 7, -5)], (3,), None, {}, BOTH),
    ("SUB", [FLOATS, MORE], (8,), None, {}, BOTH),
    ("MUL", [i32(3, -2, 46340), i32(5, 7, 46340)], (3,), None, {}, BOTH),
    ("MUL", [FLOATS, MORE], (8,), None, {}, BOTH),
    ("MUL", [np.array([2 ** 40, -3], I64), np.array([2 ** 22, 9], I64)], (2,), None, {}, LITERT),
    ("DIV", [FLOATS, MORE[::-1] + np.float32(2.875)], (8,), None, {}, BOTH),
    ("NEG", [FLOATS], (8,), None, {}, BOTH),
    ("NEG", [i32(0, -5, 2 ** 31 - 1)], (3,), None, {}, LITERT),
    ("MAXIMUM", [FLOATS, MORE], (8,), None, {}, BOTH),
    ("MINIMUM", [FLOATS, MORE], (8,), None, {}, BOTH),
    ("MAXIMUM", [i32(1, -9, 4), i32(3)], (3,), None, {}, BOTH),
    ("MINIMUM", [np.array([1, -9], I64), np.array([0, 3], I64)], (2,), None, {}, LITERT),
    ("FLOOR_DIV", [i32(7, -7, 7, -7, 6), i32(2, 2, -2, -2, 3)], (5,), None, {}, LITERT),
    ("FLOOR_DIV", [f32(7, -7, 7.5, -0.0, 1), f32(2, 2, -2, 3, 0.1)], (5,), None, {}, BOTH),
    ("FLOOR_MOD", [i32(7, -7, 7, -7, 6), i32(2, 2, -2, -2, 3)], (5,), None, {}, LITERT),
    ("FLOOR_MOD", [f32(7, -7, 7.5, -0.1, -6, 6, 1), f32(2, 2, -2, 3, 3, -3, 0.1)], (7,), None, {}, BOTH),
    ("SUM", [i32(*range(6)).reshape(2, 3), i32(1)], (2,), None, {}, LITERT),
    ("REDUCE_PROD", [i32(1, 8, 9, 3), i32(0)], (1,), None, {"keep_dims": True}, LITERT),
    ("REDUCE_PROD", [np.array([1, 8, 9, 3], I64), scalar(0)], (), None, {}, LITERT),
    ("REDUCE_MAX", [i32(*range(6)).reshape(2, 3), i32(-1, 0)], (), None, {}, LITERT),
    ("REDUCE_MIN", [i32(*range(6)).reshape(2, 3), i32(-1, 1)], (2, 1), None, {"keep_dims": True}, LITERT),
    ("CAST", [f32(1.9, -1.9, 2.0 ** 31 - 128, -(2.0 ** 31))], (4,), I32, {}, BOTH),
    ("CAST", [i32(2 ** 24 + 1, -7)], (2,), F32, {}, BOTH),
    ("CAST", [np.array([2 ** 33 + 5, -1], I64)], (2,), I32, {}, LITERT),
    ("CAST", [f32(127.5, -128.75)], (2,), np.int8, {}, BOTH),
    ("CAST", [i32(300, -129)], (2,), np.int8, {}, BOTH),
    ("CAST", [f32(0.0, 0.25, -3)], (3,), np.bool_, {}, LITERT),
    ("CAST", [np.array([True, False])], (2,), I32, {}, BOTH),
    ("RANGE", [scalar(3), scalar(-6), scalar(-2)], (5,), None, {}, LITERT),
    ("RANGE", [scalar(0, I64), scalar(7, I64), scalar(3, I64)], (3,), None, {}, LITERT),
    ("ZEROS_LIKE", [CUBE], (2, 3, 4), None, {}, BOTH),
]


@pytest.fixture(scope="module")
def runner() -> Any:
    with Runner() as child:
        yield child


def on_constants(name: str, arrays: list[Array], shape: tuple[int, ...], dtype: Any = None,
                 **options: Any) -> tuple[Build, Tensor]:
    b = Build()
    constants = [b.constant(a) for a in arrays]
    data = constants[1] if name in ("FILL", "SPLIT") else constants[0]
    return b, b.op(name, constants, shape, dtype or data.dtype, **options)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_the_interpreters_compute_the_same(case: Case, runner: Runner) -> None:
    name, arrays, shape, dtype, options, engines = case
    b, out = on_constants(name, arrays, shape, dtype, **options)
    here = evaluate(b.operators[0])
    model = b.bytes(out)
    for engine in engines:
        outcome = runner.run(engine, model, [[]])
        assert outcome.error is None, f"{engine}: {outcome.error}"
        there = outcome.outputs[0][0]
        assert there.shape == here.shape and there.dtype == here.dtype
        assert there.tobytes() == here.tobytes(), f"{engine}: {there} is not {here}"


def test_every_operator_of_the_table_is_compared() -> None:
    assert {c[0] for c in CASES} == set(EVALUATORS)


def refusal_of(name: str, arrays: list[Array], shape: tuple[int, ...], **options: Any) -> str:
    b, _ = on_constants(name, arrays, shape, **options)
    with pytest.raises(Refused) as refused:
        evaluate(b.operators[0])
    return refused.value.reason


@pytest.mark.parametrize("name, arrays, shape, options, reason", [
    ("ADD", [i32(2 ** 31 - 1), i32(1)], (1,), {}, "the result does not fit int32"),
    ("SUB", [np.array([-2 ** 63], I64), np.array([1], I64)], (1,), {}, "the result does not fit int64"),
    ("MUL", [i32(46341), i32(46341)], (1,), {}, "the result does not fit int32"),
    ("NEG", [i32(-2 ** 31)], (1,), {}, "the result does not fit int32"),
    ("REDUCE_PROD", [i32(65536, 65536), i32(0)], (), {}, "the result does not fit int32"),
    ("FLOOR_DIV", [i32(5), i32(0)], (1,), {}, "its operands do not fit together (integer division or modulo by zero)"),
    ("DIV", [f32(1), f32(0)], (1,), {}, "a value is not finite"),
    ("MUL", [f32(1e30), f32(1e30)], (1,), {}, "a value is not finite"),
    ("ADD", [f32(np.nan), f32(1)], (1,), {}, "a value is not finite"),
    ("DIV", [i32(6), i32(3)], (1,), {}, "an integer DIV is not computed"),
    ("ADD", [np.array([6], np.int16), np.array([3], np.int16)], (1,), {}, "ADD is not computed for int16, int16"),
    ("ADD", [i32(6), i32(3)], (1,), {"activation": "RELU"}, "it has an activation of its own"),
    ("SUM", [f32(6), i32(0)], (), {}, "a sum of floats depends on the order of its terms"),
    ("GATHER", [i32(6), i32(1)], (1,), {}, "an index is out of range"),
    ("GATHER", [i32(6), i32(-1)], (1,), {}, "an index is out of range"),
    ("GATHER", [CUBE, i32(0)], (2, 1, 4), {"axis": 1, "batch_dims": 1}, "its axes do not fit the operands"),
    ("SLICE", [i32(6, 7), i32(1), i32(2)], (2,), {}, "the slice reaches beyond the input"),
    ("STRIDED_SLICE", [i32(6, 7), i32(0), i32(2), i32(0)], (2,), {}, "a stride is 0"),
    ("STRIDED_SLICE", [i32(6, 7), i32(0), i32(2), i32(1)], (2,), {"offset": True}, "its ends count from its begins"),
    ("STRIDED_SLICE", [i32(6, 7), i32(0), i32(2), i32(1)], (), {"shrink_axis_mask": 1, "begin_mask": 1},
     "an axis that is dropped has a mask or a stride too"),
    ("RESHAPE", [CUBE, i32(3, 8)], (4, 6), {}, "the shape it asks for is not that of its output"),
    ("FILL", [i32(3, 8), scalar(1)], (4, 6), {}, "the shape it asks for is not that of its output"),
    ("RANGE", [scalar(0), scalar(10 ** 9), scalar(1)], (4,), {}, "the shape it asks for is not that of its output"),
    ("PACK", [i32(1), i32(2)], (2, 1, 1), {"axis": 0}, "the result does not fit the output"),
    ("TRANSPOSE", [CUBE, i32(0, 2, -2)], (2, 4, 3), {}, "an axis is negative"),
    ("GATHER", [CUBE, i32(1, 1)], (2, 3, 4), {"batch_dims": 1}, "its axes do not fit the operands"),
    ("STRIDED_SLICE", [i32(6, 7), i32(0), i32(2), i32(2)], (), {"shrink_axis_mask": 1},
     "an axis that is dropped has a mask or a stride too"),
    ("ADD", [i32(6), np.array([3], I64)], (1,), {}, "ADD is not computed for int32, int64"),
    ("ADD", [i32(6), i32(3)], (1,), {"dtype": I64}, "the result does not fit the output"),
    ("CAST", [np.array([1], np.float16)], (1,), {"dtype": F32}, "CAST is not computed for float16"),
    ("LOGISTIC", [f32(1)], (1,), {}, "LOGISTIC of constants is not computed when the file is written"),
])
def test_what_depends_on_the_machine_is_refused(name: str, arrays: list[Array], shape: tuple[int, ...],
                                                options: dict[str, Any], reason: str) -> None:
    assert refusal_of(name, arrays, shape, **options) == reason


@pytest.mark.parametrize("value", [2.0 ** 31, -(2.0 ** 31) - 256, np.nan, np.inf])
def test_floats_that_do_not_fit_an_integer_are_not_cast(value: float) -> None:
    assert refusal_of("CAST", [f32(value)], (1,), dtype=I32) == "a value does not fit int32"


def test_shape_arithmetic_dies_and_the_result_stands_in_its_place() -> None:
    b = Build()
    x = b.input((1, 8, 9, 3))
    shape = b.constant(i32(1, 8, 9, 3))
    height = b.op("STRIDED_SLICE", [shape, b.constant(i32(1)), b.constant(i32(2)), b.constant(i32(1))], (),
                  shrink_axis_mask=1)
    width = b.op("STRIDED_SLICE", [shape, b.constant(i32(2)), b.constant(i32(3)), b.constant(i32(1))], (),
                 shrink_axis_mask=1)
    target = b.op("PACK", [height, width, b.constant(scalar(3))], (3,), values_count=3)
    y = b.op("RESHAPE", [x, target], (8, 9, 3))
    z = b.op("NEG", [y], (8, 9, 3))
    model, before = b.model(z), b.bytes(z)
    done = rewrite(model, [evaluate_constants])
    assert names(model) == ["RESHAPE", "NEG"]
    assert np.array_equal(model.subgraphs[0].operators[0].inputs[1].array(), [8, 9, 3])  # type: ignore[union-attr]
    assert done.exact and [s.rule for s in done.steps] == ["evaluate_constants"] * 3
    assert verify(before, flatbuffer.write(model)).equal
    assert not plan(model, [evaluate_constants]).steps


def test_quantized_arithmetic_is_left_alone_and_quantized_data_are_moved() -> None:
    b = Build()
    x = b.input((2, 3), scale=0.5)
    a = b.constant(np.array([[1, 2, 3]], np.int8), scale=0.5)
    both = b.op("CONCATENATION", [a, a], (2, 3), scale=0.5, axis=0)
    other = b.op("ADD", [a, b.constant(np.array([[4, 5, 6]], np.int8), scale=0.5)], (1, 3), scale=0.5)
    moved = b.op("RESHAPE", [a, b.constant(i32(3, 1))], (3, 1), scale=0.25)
    outs = b.op("ADD", [x, both], (2, 3), scale=0.5), b.op("ADD", [x, other], (2, 3), scale=0.5), b.op(
        "RESHAPE", [moved, b.constant(i32(3))], (3,), scale=0.25)
    model, before = b.model(*outs), b.bytes(*outs)
    done = rewrite(model, [evaluate_constants])
    assert names(model) == ["ADD", "RESHAPE", "ADD", "ADD", "RESHAPE"]
    assert {r.reason for r in done.refusals} == {"it computes with quantized constants",
                                                 "the type or the quantization changes"}
    assert verify(before, flatbuffer.write(model)).equal


def reasons(b: Build, *outputs: Tensor) -> set[str]:
    model = b.model(*outputs)
    return {r.reason for r in plan(model, [evaluate_constants]).refusals}


def test_a_result_that_makes_the_file_larger_is_refused() -> None:
    """By more than 1,024 bytes: the operands have 5."""
    for size, refused in ((1029, False), (1030, True)):
        b = Build()
        ones = b.op("FILL", [b.constant(i32(size)), b.constant(scalar(1, np.int8))], (size,), np.int8)
        y = b.op("ADD", [b.input((size,), np.int8), ones], (size,))
        assert reasons(b, y) == ({"the result would make the file larger"} if refused else set())


def test_dequantized_weights_stay_as_they_are() -> None:
    b = Build()
    w = b.op("DEQUANTIZE", [b.constant(np.ones((2, 2), np.float16))], (2, 2), F32)
    y = b.dense(b.input((1, 2)), w)
    assert reasons(b, y) == {"the dequantized constant would make the file larger"}


def test_a_result_that_is_an_output_or_whose_size_is_open_is_refused() -> None:
    b = Build()
    y = b.op("NEG", [b.constant(f32(1, 2))], (2,))
    assert reasons(b, y) == {"the constant result is an output of the model"}
    b = Build()
    y = b.op("NEG", [b.constant(f32(1, 2))], (2,))
    y.shape_signature = (-1,)
    z = b.op("NEG", [y], (2,))
    assert reasons(b, z) == {"a dimension is left open until the model runs"}


def test_variables_packed_integers_and_sparse_constants_are_no_plain_constants() -> None:
    b = Build()
    variable = b.constant(f32(1, 2), is_variable=True)
    y = b.op("NEG", [b.op("NEG", [variable], (2,))], (2,))
    assert reasons(b, y) == set()
    b = Build()
    four = b.constant(np.array([1], np.int8), type=17)  # INT4: two elements in one byte
    y = b.op("NEG", [b.op("RESHAPE", [four, b.constant(i32(1))], (1,), np.int8)], (1,))
    b.tensors[2].type = 17
    assert reasons(b, y) == {"INT4 data are not read"}


def test_operators_with_effects_or_without_operands_do_not_match() -> None:
    b = Build()
    b.add("ASSIGN_VARIABLE", [b.constant(i32(0)), b.constant(f32(1))], [])
    b.add("CALL_ONCE", [], [])
    called = b.op("CALL", [b.constant(i32(0))], (1,))
    sensed = b.op("CUSTOM:Sensor", [], (1,), F32)
    assert reasons(b, called, sensed) == set()
