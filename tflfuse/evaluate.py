"""What an operator computes from constants, in numpy, with the bits that an interpreter computes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from .errors import Refused
from .ir import Array, Operator, Tensor, float64
from .pattern import require
from .reshapes import agrees
from .sameness import same_meaning

Evaluator = Callable[[Operator, Sequence[Array]], Array]
Index = tuple[slice | int | EllipsisType | None, ...]

EVALUATORS: dict[str, Evaluator] = {}
MOVES: dict[str, Callable[[Operator], list[Tensor | None]]] = {}
"""Operators that only move data, of any type and quantization, with the operands whose data they move."""


MOST_FACTORS = 1000
"""Of an exact product, whose length in bits grows with each."""


def evaluate(operator: Operator) -> Array:
    """The only output of an operator whose operands are all constant, of the output's shape and type.

    Refused, with one sentence, for operators that are not in the table and where an interpreter's result would
    depend on the machine: overflow, a division by zero, an index that is out of range.
    """
    name, out = operator.name, operator.outputs[0]
    require(name in EVALUATORS, f"{name} of constants is not computed when the file is written", at=operator)
    operands = [t for t in operator.inputs if t is not None]
    if name in MOVES:
        moved = [t for t in MOVES[name](operator) if t is not None]
        require(all(same_meaning(t, out) for t in moved), "the type or the quantization changes", at=out)
    else:
        require(not any(t.is_quantized for t in (*operands, out)), "it computes with quantized constants", at=operator)
    require(not operator.activation, "it has an activation of its own", at=operator)
    try:
        with np.errstate(all="ignore"):
            result = np.array(EVALUATORS[name](operator, [t.array() for t in operands]))
    except (IndexError, ValueError, TypeError, ArithmeticError) as error:
        raise Refused(f"its operands do not fit together ({error})", at=operator) from error
    require(result.shape == out.shape and result.dtype == out.dtype, "the result does not fit the output", at=out)
    return result


def evaluator(*names: str) -> Callable[[Evaluator], Evaluator]:
    """Enter a function into the table."""
    def enter(function: Evaluator) -> Evaluator:
        EVALUATORS.update(dict.fromkeys(names, function))
        return function
    return enter


def mover(*names: str, data: slice = slice(0, 1)) -> Callable[[Evaluator], Evaluator]:
    """Enter a function that moves the data of some operands."""
    def enter(function: Evaluator) -> Evaluator:
        MOVES.update(dict.fromkeys(names, lambda operator: operator.inputs[data]))
        return evaluator(*names)(function)
    return enter


def integers(array: Array) -> tuple[int, ...]:
    require(array.dtype.kind in "iu", f"positions or sizes are given as {array.dtype}")
    return tuple(int(i) for i in array.reshape(-1))


# Moving data

@mover("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def reshape(operator: Operator, arrays: Sequence[Array]) -> Array:
    require(agrees(operator), "the shape it asks for is not that of its output", at=operator)
    return arrays[0].reshape(operator.outputs[0].shape)


@mover("TRANSPOSE")
def transpose(operator: Operator, arrays: Sequence[Array]) -> Array:
    axes = integers(arrays[1])
    require(min(axes, default=0) >= 0, "an axis is negative", at=operator.inputs[1])
    return arrays[0].transpose(axes)


@mover("PACK", data=slice(None))
def pack(operator: Operator, arrays: Sequence[Array]) -> Array:
    return np.stack(arrays, operator.option("axis"))


@mover("CONCATENATION", data=slice(None))
def concatenation(operator: Operator, arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays, operator.option("axis"))


@mover("UNPACK")
def unpack(operator: Operator, arrays: Sequence[Array]) -> Array:
    return np.squeeze(arrays[0], operator.option("axis"))


@mover("SPLIT", data=slice(1, 2))
def split(operator: Operator, arrays: Sequence[Array]) -> Array:
    """The single part of a SPLIT in one."""
    return arrays[1]


@mover("GATHER")
def gather(operator: Operator, arrays: Sequence[Array]) -> Array:
    data, positions = arrays
    axis, batch = operator.option("axis"), operator.option("batch_dims")
    axis, batch = axis + data.ndim * (axis < 0), batch + positions.ndim * (batch < 0)
    require(0 <= batch <= axis < data.ndim and data.shape[:batch] == positions.shape[:batch],
            "its axes do not fit the operands", at=operator)
    require(bool(((positions >= 0) & (positions < data.shape[axis])).all()), "an index is out of range", at=operator)
    out = data.shape[:axis] + positions.shape[batch:] + data.shape[axis + 1:]
    result = np.empty(asked(operator, out), data.dtype)
    for at in np.ndindex(data.shape[:batch]):
        result[at] = np.take(data[at], positions[at], axis - batch)
    return result


@mover("SLICE")
def take_slice(operator: Operator, arrays: Sequence[Array]) -> Array:
    return arrays[0][slice_index(arrays[0].shape, *arrays[1:])]


def slice_index(shape: tuple[int, ...], begin: Array, size: Array) -> Index:
    """What SLICE takes, as a numpy index; a size of -1 means all that is left."""
    require(begin.size == size.size == len(shape), "the begin and size operands do not fit the rank of the input")
    parts = list(zip(integers(begin), integers(size), strict=True))
    ends = [d if s == -1 else b + s for (b, s), d in zip(parts, shape, strict=True)]
    within = all(0 <= b <= e <= d for (b, _), e, d in zip(parts, ends, shape, strict=True))
    require(within, "the slice reaches beyond the input")
    return tuple(slice(b, e) for (b, _), e in zip(parts, ends, strict=True))


@mover("STRIDED_SLICE")
def take_strided_slice(operator: Operator, arrays: Sequence[Array]) -> Array:
    return arrays[0][strided_slice_index(operator, *arrays[1:])]


def strided_slice_index(operator: Operator, begin: Array, end: Array, strides: Array) -> Index:
    """What STRIDED_SLICE takes, as a numpy index: ranges, single elements, new axes and an ellipsis.

    Refused where TensorFlow and the kernels disagree on what the masks mean.
    """
    require(not operator.option("offset"), "its ends count from its begins", at=operator)
    require(begin.size == end.size == strides.size, "its begins, ends and strides are not as many", at=operator)
    masks = {n: operator.option(f"{n}_mask") for n in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    parts: list[slice | int | EllipsisType | None] = []
    for number, (b, e, s) in enumerate(zip(integers(begin), integers(end), integers(strides), strict=True)):
        on = {name for name, mask in masks.items() if mask >> number & 1}
        if "ellipsis" in on:
            parts.append(Ellipsis)
        elif "new_axis" in on:
            parts.append(None)
        elif "shrink_axis" in on:
            require("begin" not in on and s == 1, "an axis that is dropped has a mask or a stride too", at=operator)
            parts.append(b)
        else:
            require(s != 0, "a stride is 0", at=operator)
            parts.append(slice(None if "begin" in on else b, None if "end" in on else e, s))
    return tuple(parts)


@mover("FILL", data=slice(1, 2))
def fill(operator: Operator, arrays: Sequence[Array]) -> Array:
    return np.broadcast_to(arrays[1], asked(operator, integers(arrays[0])))


@mover("BROADCAST_TO")
def broadcast_to(operator: Operator, arrays: Sequence[Array]) -> Array:
    return np.broadcast_to(arrays[0], asked(operator, integers(arrays[1])))


@mover("TILE")
def tile(operator: Operator, arrays: Sequence[Array]) -> Array:
    data, times = arrays[0], integers(arrays[1])
    asked(operator, tuple(d * n for d, n in zip(data.shape, times, strict=True)))
    return np.tile(data, times)


def asked(operator: Operator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the operands ask for, which must be the output's before anything that large is made."""
    require(shape == operator.outputs[0].shape, "the shape it asks for is not that of its output", at=operator)
    return shape


# Arithmetic

def fitting(wide: Any, dtype: np.dtype[Any], operator: Operator) -> Array:
    """Exact Python integers as a machine type, refused where they overflow: C leaves open what happens then."""
    values = np.asarray(wide, object)
    limits = np.iinfo(dtype)
    low, high = (min(values.reshape(-1), default=0), max(values.reshape(-1), default=0))
    require(limits.min <= low and high <= limits.max, f"the result does not fit {dtype}", at=operator)
    return values.astype(dtype)


def computed(function: Callable[..., Any], operator: Operator, arrays: Sequence[Array]) -> Array:
    """A function of int32, int64 or float32 arrays: integers exactly, floats rounded once and finite."""
    dtype = arrays[0].dtype
    require(dtype in (np.int32, np.int64, np.float32) and all(a.dtype == dtype for a in arrays),
            f"{operator.name} is not computed for {', '.join(str(a.dtype) for a in arrays)}", at=operator)
    asked(operator, np.broadcast_shapes(*(a.shape for a in arrays)))
    if dtype != np.float32:
        return fitting(function(*(a.astype(object) for a in arrays)), dtype, operator)
    result = np.asarray(function(*arrays), np.float32)
    require(all(bool(np.isfinite(a).all()) for a in (*arrays, result)), "a value is not finite", at=operator)
    return result


def floor_div(a: Array, b: Array) -> Any:
    """Floats are divided in float64, as the kernels do: 1 // 0.1 is 9, because the float32 0.1 is above a tenth."""
    return np.floor(float64(a) / b) if a.dtype == np.float32 else a // b


def floor_mod(a: Array, b: Array) -> Any:
    """The remainder with the sign of the divisor; C's fmod, then one addition, for floats."""
    if a.dtype != np.float32:
        return a % b
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "NEG": lambda a: -a,
    "MAXIMUM": lambda a, b: np.where(a > b, a, b),
    "MINIMUM": lambda a, b: np.where(a < b, a, b),
    "FLOOR_DIV": floor_div,
    "FLOOR_MOD": floor_mod,
}


@evaluator(*ELEMENTWISE)
def elementwise(operator: Operator, arrays: Sequence[Array]) -> Array:
    return computed(ELEMENTWISE[operator.name], operator, arrays)


@evaluator("DIV")
def divide(operator: Operator, arrays: Sequence[Array]) -> Array:
    require(arrays[0].dtype == np.float32, "an integer DIV is not computed", at=operator)
    return computed(lambda a, b: a / b, operator, arrays)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "SUM": np.sum,
    "REDUCE_PROD": np.prod,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
}


@evaluator(*REDUCTIONS)
def reduce(operator: Operator, arrays: Sequence[Array]) -> Array:
    data, axes = arrays
    require(data.dtype in (np.int32, np.int64), "a sum of floats depends on the order of its terms", at=operator)
    require(operator.name != "REDUCE_PROD" or data.size <= MOST_FACTORS, "it has too many factors", at=operator)
    along = tuple({a + data.ndim * (a < 0) for a in integers(axes)})
    wide = REDUCTIONS[operator.name](data.astype(object), axis=along, keepdims=bool(operator.option("keep_dims")))
    return fitting(wide, data.dtype, operator)


@evaluator("CAST")
def cast(operator: Operator, arrays: Sequence[Array]) -> Array:
    """As static_cast does: floats are cut off, integers wrap."""
    data, target = arrays[0], operator.outputs[0].dtype
    for dtype in (data.dtype, target):
        require(dtype.kind in "biu" or dtype == np.float32, f"CAST is not computed for {dtype}", at=operator)
    if data.dtype.kind == "f" and target.kind in "iu":
        limits, whole = np.iinfo(target), np.trunc(float64(data))
        within = bool(((whole >= limits.min) & (whole < float(limits.max) + 1)).all())
        require(within, f"a value does not fit {target}", at=operator)
    return data.astype(target)


@evaluator("RANGE")
def count(operator: Operator, arrays: Sequence[Array]) -> Array:
    dtype = arrays[0].dtype
    require(dtype in (np.int32, np.int64), "only a RANGE of integers is computed", at=operator)
    values = range(*(int(a) for a in arrays))
    asked(operator, (len(values),))
    return np.array(values, dtype)


@evaluator("ZEROS_LIKE")
def zeros_like(operator: Operator, arrays: Sequence[Array]) -> Array:
    return np.zeros_like(arrays[0])
