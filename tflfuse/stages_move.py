"""PAD, PADV2, SLICE, STRIDED_SLICE and CONCATENATION as stages: bytes that move within rows of pixels."""
from __future__ import annotations

from dataclasses import dataclass

from .chain import Add, Pad, Slice, Value
from .ir import Operator, Tensor
from .numerics import add_parameters
from .pattern import require
from .planes import Plane, check_int8, integers_of, plane_of, value_of
from .windows import Pads

OTHER_SHAPES = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "offset")


@dataclass(frozen=True)
class Moved:
    """Where the smaller of two planes begins in the larger one. plane: the output's."""

    top: int
    left: int
    front: int
    plane: Plane


def padding_of(operator: Operator, source: Tensor) -> Moved:
    """What a PAD or PADV2 puts in front of a plane; refused where it pads with something else than the zero point."""
    _check_quantization(operator, source)
    out = operator.outputs[0]
    around = integers_of(operator, 1, "paddings")
    require(len(around) == 2 * len(source.shape) and min(around, default=0) >= 0, "its paddings do not fit its input")
    before, after = around[::2], around[1::2]
    padded = tuple(a + size + b for a, size, b in zip(before, source.shape, after, strict=True))
    require(out.shape == padded, "its output does not fit its paddings")
    fill = operator.input(2)
    if fill is not None:
        zeros = fill.is_constant and fill.size == 1 and fill.type == source.type and (
            int(fill.array().reshape(-1)[0]) == out.zero_point)
        require(zeros, "it pads with another value than the zero point")
    require(not any(before[:-3] + after[:-3]), "it pads the batch")
    return _moved(before, padded)


def pads_of(moved: Moved, source: Plane) -> Pads | None:
    """The rows and columns around the source where that is all that was padded: what a convolution can do itself."""
    height, width, channels = moved.plane
    if moved.front or channels != source[2]:
        return None
    return Pads(moved.top, height - source[0] - moved.top, moved.left, width - source[1] - moved.left)


def pad_stage(operator: Operator, moved: Moved) -> Pad:
    return Pad(value_of(operator.outputs[0], moved.plane), moved.top, moved.left, moved.front)


def slice_stage(operator: Operator, source: Value, tensor: Tensor) -> Slice:
    """A range of rows, columns and channels. tensor: the input, whose plane is the source's."""
    _check_quantization(operator, tensor)
    begin, end = _strided(operator, tensor) if operator.name == "STRIDED_SLICE" else _sliced(operator, tensor)
    taken = tuple(b - a for a, b in zip(begin, end, strict=True))
    require(min(taken) > 0 and operator.outputs[0].shape == taken, "its output does not fit what it takes")
    moved = _moved(begin, taken)
    return Slice(value_of(operator.outputs[0], moved.plane), moved.top, moved.left, moved.front)


def joined_stages(operator: Operator, tensors: list[Tensor]) -> tuple[list[Pad], Add]:
    """CONCATENATION: a PAD of each operand to the whole plane, and the sum that puts two of them together.

    At each place all operands but one have the zero point. ADD between equal scales is exact: it halves, adds and
    doubles numbers that were shifted left by 20 bits before.
    """
    out = operator.outputs[0]
    for tensor in tensors:
        _check_quantization(operator, tensor)
    require(operator.activation == 0, "it has an activation")
    rank, axis = len(out.shape), int(operator.option("axis", 0))
    require(-rank <= axis < rank and all(len(t.shape) == rank for t in tensors), "its operands do not fit its axis")
    axis %= rank
    others = {t.shape[:axis] + t.shape[axis + 1:] for t in (*tensors, out)}
    require(len(others) == 1 and sum(t.shape[axis] for t in tensors) == out.shape[axis],
            "its output does not fit its operands")
    require(axis >= rank - 3, "it joins batches")
    value = value_of(out, plane_of(out))
    pads, begin = [], 0
    for tensor in tensors:
        front = [0, 0, 0]
        front[axis - rank] = begin
        begin += tensor.shape[axis]
        pads.append(Pad(value, *front))
    return pads, Add(value, add_parameters(value.scale, value.scale, value.scale))


def _check_quantization(operator: Operator, source: Tensor) -> None:
    check_int8(source)
    q = source.quantization
    require(q is not None and q.same_as(operator.outputs[0].quantization),
            "its output is quantized otherwise than its input")


def _strided(operator: Operator, tensor: Tensor) -> tuple[list[int], list[int]]:
    """STRIDED_SLICE's begin and end; masks and negative numbers as TFLM reads them."""
    begin, end, strides = (integers_of(operator, k, what) for k, what in ((1, "begin"), (2, "end"), (3, "strides")))
    rank = len(tensor.shape)
    require(len(begin) == len(end) == len(strides) == rank, "its ranges do not fit its input")
    require(set(strides) == {1}, "it takes not every element of its range")
    require(not any(operator.option(name, 0) for name in OTHER_SHAPES), "it adds or drops dimensions")
    masks = int(operator.option("begin_mask", 0)), int(operator.option("end_mask", 0))
    ranges = [slice(None if masks[0] >> axis & 1 else begin[axis], None if masks[1] >> axis & 1 else end[axis])
              .indices(size) for axis, size in enumerate(tensor.shape)]
    return [r[0] for r in ranges], [r[1] for r in ranges]


def _sliced(operator: Operator, tensor: Tensor) -> tuple[list[int], list[int]]:
    """SLICE's begin and end; a size of -1 reaches to the end."""
    begin, sizes = (integers_of(operator, k, what) for k, what in ((1, "begin"), (2, "sizes")))
    require(len(begin) == len(sizes) == len(tensor.shape), "its ranges do not fit its input")
    end = [size if n == -1 else b + n for b, n, size in zip(begin, sizes, tensor.shape, strict=True)]
    inside = all(0 <= b <= e <= size for b, e, size in zip(begin, end, tensor.shape, strict=True))
    require(inside, "its ranges do not fit its input")
    return begin, end


def _moved(before: list[int], shape: tuple[int, ...]) -> Moved:
    """before: in front, by axis; shape: the output's."""
    require(all(size == 1 for size in shape[:-3]), "the batch is larger than 1")
    top, left, front = ([0, 0, 0] + before)[-3:]
    height, width, channels = ((1, 1, 1) + shape)[-3:]
    return Moved(top, left, front, (height, width, channels))
