"""The steps by which random models grow: each reads a value and returns whether it fits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tflite import TensorType

from tflfuse.ir import Array, Tensor

from .build import PADDING, same, valid
from .random_models import FLOAT, INT8, INT16, Grown
from .random_more import from_channels_first, global_pool, inside, table_function, there_and_back, unused_tensor
from .random_weighted import depthwise, dense, conv, padded_conv, transpose_conv

Step = Callable[[Grown, Tensor], bool]

LARGEST = 400
"""Elements of a value."""


def affine(g: Grown, x: Tensor) -> bool:
    """MUL, ADD, SUB, DIV with a constant of some shape on either side."""
    name = g.pick("MUL", "ADD", "SUB", "MUL", "ADD", "DIV")
    if name == "DIV" and x.dtype != FLOAT or len(x.shape) > 4:
        return False
    c = x.shape[-1]
    shapes: list[tuple[int, ...]] = [(), (1,), (c,), (c,), (c,), (*[1] * (len(x.shape) - 1), c), x.shape]
    if len(x.shape) == 4:
        shapes += [(1, x.shape[1], 1, 1), (1, 1, x.shape[2], 1)]
    if c == 1 and g.chance(0.3):
        shapes += [(4,)]
    shape = g.pick(*shapes)
    size = g.near() if name in ("MUL", "DIV") else g.spread[x] * g.near()
    k = g.constant(x, shape, size)
    if name == "DIV" and not k.array().all():
        return False
    first = name != "DIV" and g.chance(0.3)
    spread = g.spread[x] * size if name == "MUL" else g.spread[x] / size if name == "DIV" else g.spread[x] + size
    out = np.broadcast_shapes(x.shape, shape)
    g.op(name, [k, x] if first else [x, k], out, x, spread, activation=g.activation() if g.chance(0.4) else "NONE")
    return True


def batch_norm(g: Grown, x: Tensor) -> bool:
    """MUL and ADD per channel, a RELU now and then."""
    if len(x.shape) > 4 or not x.shape:
        return False
    shape = g.pick((x.shape[-1],), (*[1] * (len(x.shape) - 1), x.shape[-1]))
    scaled = g.op("MUL", [x, g.constant(x, shape, g.near())], x.shape, x, g.spread[x])
    g.op("ADD", [scaled, g.constant(x, shape, g.spread[x])], x.shape, x, 1.4 * g.spread[x], activation=g.activation())
    return True


def binary(g: Grown, x: Tensor) -> bool:
    """MUL, ADD, SUB, DIV of two values, of the same one too, and of shapes that broadcast."""
    name = g.pick("ADD", "ADD", "MUL", "SUB", "DIV")
    if name == "DIV" and x.dtype != FLOAT or len(x.shape) > 4:
        return False
    fitting = [v for v in g.values if v.dtype == x.dtype and len(v.shape) == len(x.shape)
               and all(a == b or 1 in (a, b) for a, b in zip(v.shape, x.shape))]
    y = g.pick(*fitting, *(v for v in fitting if v.shape == x.shape and v is not x))
    shape = np.broadcast_shapes(x.shape, y.shape)
    if int(np.prod(shape)) > LARGEST or g.open and shape[0] != 1:
        return False
    spread = g.spread[x] * g.spread[y] if name == "MUL" else g.spread[x] + g.spread[y]
    g.op(name, g.pick([x, y], [y, x]), shape, x, spread, activation=g.activation())
    return True


def clamp(g: Grown, x: Tensor) -> bool:
    """RELU, RELU6; MINIMUM and MAXIMUM with a constant; the output scaled as the input or not."""
    name = g.pick("RELU", "RELU", "RELU6", "MINIMUM", "MAXIMUM")
    if name.startswith("RELU"):
        g.op(name, [x], x.shape, x, g.pick(None, None, g.spread[x]))
        return True
    bound = g.pick(0.0, 0.0, 6.0, 1.0, -1.0, g.spread[x])
    scale, zero = g.same(x)
    if scale is None:
        k = g.b.constant(np.full(g.pick((), (1,)), bound, np.float32))
    else:
        limits = np.iinfo(x.dtype)
        whole = np.clip(round(bound / scale) + zero, limits.min, limits.max)
        k = g.b.constant(np.full(g.pick((), (1,)), whole, x.dtype), scale * g.pick(1, 1, 1, 1, 1.5), zero)
    g.op(name, g.pick([x, k], [k, x]), x.shape, x, None)
    return True


def curve(g: Grown, x: Tensor) -> bool:
    """LEAKY_RELU, LOGISTIC, TANH, HARD_SWISH, SOFTMAX."""
    name = g.pick("LEAKY_RELU", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH", "SOFTMAX")
    if name in ("LEAKY_RELU", "HARD_SWISH"):
        if name == "HARD_SWISH" and x.dtype == INT16:
            return False
        g.op(name, [x], x.shape, x, g.spread[x], **({"alpha": g.pick(0.1, 0.3, -0.5)} if name[0] == "L" else {}))
        return True
    steps = {FLOAT: None, INT8: 128 if name == "TANH" else 256, INT16: 32768}[x.dtype]
    zero = -128 if x.dtype == INT8 and name != "TANH" else 0
    more: dict[str, Any] = {"beta": 1.0} if name == "SOFTMAX" else {}
    g.put(g.b.op(name, [x], x.shape, x.dtype, steps and 1 / steps, zero, **more), 0.5)
    return True


def pad(g: Grown, x: Tensor) -> bool:
    """PAD and PADV2, of nothing too, and of channels."""
    if len(x.shape) not in (2, 4):
        return False
    amounts: Array = np.zeros((len(x.shape), 2), np.int32)
    if g.chance(0.75):
        amounts[1:-1] = g.rng.integers(0, 3, (len(x.shape) - 2, 2))
        if g.chance(0.2):
            amounts[-1] = g.rng.integers(0, 2, 2)
    shape = tuple(int(d) for d in np.array(x.shape) + amounts.sum(1))
    if int(np.prod(shape)) > LARGEST:
        return False
    inputs: list[Tensor | None] = [x, g.b.constant(amounts)]
    name = g.pick("PAD", "PADV2")
    if name == "PADV2":
        scale, zero = g.same(x)
        value = g.pick(zero, zero, -3)
        inputs.append(g.b.constant(np.full((1,), value, x.dtype), scale, zero))
    g.op(name, inputs, shape, x, None if g.chance(0.95) else g.spread[x])
    return True


def quantize(g: Grown, x: Tensor) -> bool:
    """QUANTIZE: of real numbers, to another scale, to the same scale, to another type."""
    dtype = g.pick(INT8, INT8, INT16) if x.dtype == FLOAT else g.pick(x.dtype, x.dtype, x.dtype, INT8, INT16)
    scale, zero = g.quantized(dtype, g.spread[x] * g.near())
    if dtype == x.dtype and g.chance(0.2):
        scale, zero = g.same(x)
    y = g.put(g.b.op("QUANTIZE", [x], x.shape, dtype, scale, zero), g.spread[x])
    return x.dtype != FLOAT or g.chance(0.5) or bool(g.put(g.b.op("DEQUANTIZE", [y], x.shape, np.float32), g.spread[x]))


def dequantize(g: Grown, x: Tensor) -> bool:
    """DEQUANTIZE, and often a QUANTIZE after it, to the same scale or to another one."""
    if x.dtype == FLOAT:
        return False
    real = g.put(g.b.op("DEQUANTIZE", [x], x.shape, np.float32), g.spread[x])
    if g.chance(0.6):
        scale, zero = g.same(x) if g.chance(0.5) else g.quantized(x.dtype, g.spread[x])
        g.put(g.b.op("QUANTIZE", [real], x.shape, x.dtype, scale, zero), g.spread[x])
    return True


def split_sizes(g: Grown, count: int, rank: int) -> list[int]:
    """Random factors of a count."""
    sizes = []
    for _ in range(rank - 1):
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        sizes.append(g.pick(*divisors))
        count //= sizes[-1]
    return [*sizes, count]


def reshape(g: Grown, x: Tensor) -> bool:
    """RESHAPE, told by an operand, with a -1, by its options alone; to the same shape as well."""
    count = int(np.prod(x.shape)) // (x.shape[0] if g.open else 1)
    rank = g.whole(1, 4)
    sizes = tuple(([x.shape[0]] if g.open else []) + split_sizes(g, count, rank))[:5]
    shape = x.shape if g.chance(0.2) else sizes
    asked = list(shape)
    if g.chance(0.3):
        asked[g.whole(0, len(asked) - 1)] = -1
    told: list[Tensor | None] = [g.numbers(asked)] if g.chance(0.85) else []
    g.op("RESHAPE", [x, *told], shape, x, None, new_shape=np.array(asked, np.int32))
    return True


def rank_change(g: Grown, x: Tensor) -> bool:
    """SQUEEZE and EXPAND_DIMS."""
    least = 1 if g.open else 0
    if g.chance(0.5):
        axes = [a for a, d in enumerate(x.shape) if d == 1 and a >= least]
        if not axes or len(x.shape) < 2:
            return False
        axis = g.pick(*axes)
        shape = x.shape[:axis] + x.shape[axis + 1:]
        g.op("SQUEEZE", [x], shape, x, None, squeeze_dims=np.array([axis], np.int32))
        return True
    if len(x.shape) > 4:
        return False
    axis = g.whole(least, len(x.shape))
    g.op("EXPAND_DIMS", [x, g.numbers(axis) if g.chance(0.5) else g.numbers([axis])],
         (*x.shape[:axis], 1, *x.shape[axis:]), x, None)
    return True


def transpose(g: Grown, x: Tensor) -> bool:
    """TRANSPOSE, sometimes there and back, sometimes of nothing."""
    rank = len(x.shape)
    if not 2 <= rank <= 5:
        return False
    for _ in range(1 + g.chance(0.4)):
        fixed = [0] if g.open else []
        perm = [*fixed, *(int(a) for a in g.rng.permutation(np.arange(len(fixed), rank)))]
        if g.chance(0.15):
            perm = list(range(rank))
        x = g.op("TRANSPOSE", [x, g.numbers(perm)], tuple(x.shape[a] for a in perm), x, None)
    return True


def cut(g: Grown, x: Tensor) -> bool:
    """STRIDED_SLICE and SLICE, of everything too."""
    rank = len(x.shape)
    if not 1 <= rank <= 4:
        return False
    ends = [(0, d) if g.open and a == 0 or g.chance(0.6) else tuple(sorted((g.whole(0, d - 1), g.whole(1, d))))
            for a, d in enumerate(x.shape)]
    if any(b >= e for b, e in ends):
        return False
    begin, end = ([int(pair[i]) for pair in ends] for i in (0, 1))
    sizes = tuple(e - b for b, e in ends)
    if g.chance(0.3):
        g.op("SLICE", [x, g.numbers(begin), g.numbers([-1 if e == d and g.chance(0.3) else s for s, e, d in
                                                       zip(sizes, end, x.shape)])], sizes, x, None)
        return True
    strides = [g.pick(1, 1, 1, 1, 2) if a else 1 for a in range(rank)]
    shape = tuple(-(-s // t) for s, t in zip(sizes, strides))
    mask = sum(1 << a for a, (b, e) in enumerate(ends) if (b, e) == (0, x.shape[a]) and g.chance(0.5))
    for a, d in enumerate(x.shape):  # the same places, counted from behind and beyond the end
        begin[a] -= d * g.chance(0.15)
        end[a] += (2 ** 30 if end[a] == d else -d) * g.chance(0.15)
    g.op("STRIDED_SLICE", [x, g.numbers(begin), g.numbers(end), g.numbers(strides)], shape, x, None, begin_mask=mask,
         end_mask=mask)
    return True


def pool(g: Grown, x: Tensor) -> bool:
    """AVERAGE_POOL_2D, MAX_POOL_2D."""
    if len(x.shape) != 4:
        return False
    window, stride, padding = (g.whole(1, 3), g.whole(1, 3)), (g.whole(1, 2), g.whole(1, 2)), g.pick("SAME", "VALID")
    if padding == "VALID" and (window[0] > x.shape[1] or window[1] > x.shape[2]):
        return False
    plane = tuple(same(x.shape[1 + i], stride[i]) if padding == "SAME" else valid(x.shape[1 + i], window[i], stride[i])
                  for i in (0, 1))
    g.op(g.pick("AVERAGE_POOL_2D", "MAX_POOL_2D"), [x], (x.shape[0], *plane, x.shape[3]), x, None,
         activation=g.activation(), padding=PADDING[padding], stride_h=stride[0], stride_w=stride[1],
         filter_height=window[0], filter_width=window[1])
    return True


def mean(g: Grown, x: Tensor) -> bool:
    """MEAN over the plane."""
    if len(x.shape) != 4:
        return False
    keep = g.chance(0.5)
    shape = (x.shape[0], 1, 1, x.shape[3]) if keep else (x.shape[0], x.shape[3])
    g.op("MEAN", [x, g.numbers([1, 2])], shape, x, g.spread[x] * g.near(), keep_dims=keep)
    return True


def concatenation(g: Grown, x: Tensor) -> bool:
    """CONCATENATION with values of the same scale, or of a value with itself."""
    if not x.shape or len(x.shape) > 4:
        return False
    axis = g.whole(1 if g.open else 0, len(x.shape) - 1) if len(x.shape) > 1 else 0
    rest = [d for a, d in enumerate(x.shape) if a != axis]
    mates = [v for v in g.values if v.dtype == x.dtype and len(v.shape) == len(x.shape) and g.same(v) == g.same(x)
             and [d for a, d in enumerate(v.shape) if a != axis] == rest]
    parts: list[Tensor | None] = [x, g.pick(*mates)]
    size = sum(p.shape[axis] for p in parts if p is not None)
    g.op("CONCATENATION", parts, (*x.shape[:axis], size, *x.shape[axis + 1:]), x, None, axis=axis)
    return True


def shape_arithmetic(g: Grown, x: Tensor) -> bool:
    """SHAPE, STRIDED_SLICE, PACK into the shape of a RESHAPE, as converters write a flatten."""
    if len(x.shape) < 2 or int(np.prod(x.shape)) == 0:
        return False
    shape = g.b.op("SHAPE", [x], (len(x.shape),), np.int32, out_type=TensorType.INT32)
    batch = g.b.op("STRIDED_SLICE", [shape, g.numbers([0]), g.numbers([1]), g.numbers([1])], (), np.int32,
                   shrink_axis_mask=1)
    rest = int(np.prod(x.shape[1:]))
    last = g.numbers(rest)
    if len(x.shape) == 3 and g.chance(0.7) and not g.open:
        sizes = [g.b.op("STRIDED_SLICE", [shape, g.numbers([a]), g.numbers([a + 1]), g.numbers([1])], (), np.int32,
                        shrink_axis_mask=1) for a in (1, 2)]
        last = g.b.op("MUL", sizes, (), np.int32)
    packed = g.b.op("PACK", [batch, last], (2,), np.int32, values_count=2, axis=0)
    g.op("RESHAPE", [x, packed], (x.shape[0], rest), x, None)
    return True


def constant_branch(g: Grown, x: Tensor) -> bool:
    """An ADD or MUL with what a RESHAPE, TRANSPOSE or, of floats, arithmetic makes of constants."""
    if len(x.shape) != 4:
        return False
    c = x.shape[-1]
    k = g.constant(x, (c, 1, 1), g.near())
    quantization = g.same(k)
    name = g.pick("RESHAPE", "TRANSPOSE", "ADD", "MUL")
    shape: tuple[int, ...]
    if name == "RESHAPE":
        inputs, shape = [k, g.numbers([c])], (c,)
    elif name == "TRANSPOSE":
        inputs, shape = [k, g.numbers([1, 2, 0])], (1, 1, c)
    elif x.dtype == FLOAT:
        inputs, shape = [k, g.constant(x, (c,), g.near())], (c, 1, c)
        if x.shape[1:3] != (c, 1):
            return False
    else:
        return False
    made = g.b.op(name, inputs, shape, x.dtype, *quantization)
    g.op(g.pick("ADD", "MUL"), [x, made], x.shape, x, g.spread[x] * 1.5)
    return True


def split(g: Grown, x: Tensor) -> bool:
    """SPLIT of the channels into two halves."""
    if len(x.shape) < 2 or x.shape[-1] % 2 or len(x.shape) > 4:
        return False
    axis, shape = len(x.shape) - 1, (*x.shape[:-1], x.shape[-1] // 2)
    parts = [g.b.tensor(shape, x.dtype, *g.same(x)) for _ in range(2)]
    g.b.add("SPLIT", [g.numbers(axis), x], parts, num_splits=2)
    for part in parts:
        g.put(part, g.spread[x])
    return True


def runs_on(base: Step) -> Step:
    """A step and, more often than not, what folds look for behind it: constants, clamps, another scale."""
    def both(g: Grown, x: Tensor) -> bool:
        if not base(g, x):
            return False
        while g.chance(0.55):
            g.pick(affine, batch_norm, batch_norm, clamp, clamp, quantize)(g, g.values[-1])
        return True
    return both


def normalized(g: Grown, x: Tensor) -> bool:
    """Constants before an operator with weights."""
    if g.pick(affine, batch_norm)(g, x):
        g.pick(conv, conv, depthwise, dense, transpose_conv)(g, g.values[-1])
        return True
    return False


STEPS: tuple[tuple[int, Step], ...] = (
    (9, runs_on(conv)), (7, runs_on(depthwise)), (6, runs_on(dense)), (4, runs_on(transpose_conv)),
    (4, runs_on(padded_conv)), (4, normalized), (5, affine), (5, runs_on(binary)), (3, runs_on(pool)),
    (4, clamp), (4, curve), (3, pad), (3, quantize), (5, dequantize), (3, reshape), (3, rank_change), (3, transpose),
    (3, cut), (2, mean), (2, concatenation), (2, shape_arithmetic), (2, constant_branch), (1, split),
    (3, table_function), (2, global_pool), (3, from_channels_first), (1, unused_tensor), (2, inside),
    (4, there_and_back))
"""How often each is tried, and what it does."""
