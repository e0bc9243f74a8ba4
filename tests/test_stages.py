"""Runs of operators as one chain: equal bits in TFLM, or a refusal with its sentence."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tflite

from tests.build import PADDING, Build, random_int8
from tests.fused import check
from tests.kernels.conftest import library  # noqa: F401  the fixture
from tflfuse.chain import (Add, AveragePool, Convolution, Depthwise, GlobalAverage, MaxPool, Mean, Multiply, Pad, Slice,
                           Table, Transpose)
from tflfuse.errors import Refused
from tflfuse.ir import Quantization, Table as Options, Tensor
from tflfuse.packing import pack as packed
from tflfuse.stages import Run, Stages, run_of, stage_of

pytestmark = pytest.mark.usefixtures("library")

SCALE = 0.02
ONE_OPERAND = ["RELU", "RELU6", "QUANTIZE", "TANH", "HARD_SWISH", "ABS", "ELU", "LOGISTIC", "LEAKY_RELU"]


def constant(b: Build, rng: np.random.Generator, shape: Any, scale: Any = 0.01, zero_point: int = 0,
             **more: Any) -> Tensor:
    return b.constant(random_int8(rng, shape), scale=scale, zero_point=zero_point, **more)


def bias(b: Build, rng: np.random.Generator, channels: int, scale: Any) -> Tensor:
    return b.constant(rng.integers(-3000, 3000, channels).astype(np.int32), scale=scale)


def conv(b: Build, rng: np.random.Generator, x: Tensor, out: int, kernel: tuple[int, int] = (3, 3), scale: float = 0.3,
         per_channel: bool = True, **more: Any) -> Tensor:
    """A CONV_2D, or with kind a DEPTHWISE_CONV_2D, whose sums fill about the output's range."""
    depthwise = more.get("kind") == "DEPTHWISE_CONV_2D"
    shape = (1, *kernel, out) if depthwise else (out, *kernel, x.shape[3])
    scales = rng.uniform(0.004, 0.02, out if per_channel else 1).astype(np.float32)
    w = constant(b, rng, shape, scales, axis=3 if depthwise else 0)
    return b.conv(x, w, bias(b, rng, out, scales * np.float32(x.scale)), scale=scale, zero_point=3, **more)


def image(b: Build, shape: Any = (1, 7, 6, 4), zero_point: int = -5, scale: float = SCALE) -> Tensor:
    return b.input(shape, scale=scale, zero_point=zero_point)


def pad(b: Build, x: Tensor, rows: list[int], columns: list[int]) -> Tensor:
    n, h, w, c = x.shape
    around = b.constant(np.array([[0, 0], rows, columns, [0, 0]], np.int32))
    return b.op("PAD", [x, around], (n, h + sum(rows), w + sum(columns), c), None, x.scale, x.zero_point)


def kinds(run: Run) -> list[type[object]]:
    return [type(link.stage) for link in run.chain.links]


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("per_channel", [True, False])
def test_convolutions(kind: str, padding: str, per_channel: bool) -> None:
    rng = np.random.default_rng(1)
    for size in ((7, 6), (8, 8), (5, 9)):
        for stride, dilation in (((1, 1), (1, 1)), ((2, 1), (1, 1)), ((2, 2), (1, 1)), ((1, 1), (2, 2)),
                                 ((2, 3), (1, 2))):
            b = Build()
            x = image(b, (1, *size, 4), zero_point=int(rng.choice([-128, 7])))
            y = conv(b, rng, x, 8, kind=kind, padding=padding, stride=stride, dilation=dilation, activation="RELU6",
                     per_channel=per_channel)
            check(b, y, rng)


def test_a_convolution_without_a_bias_and_an_even_kernel() -> None:
    rng = np.random.default_rng(2)
    b = Build()
    x = image(b)
    y = b.conv(x, constant(b, rng, (3, 2, 2, 4)), None, scale=0.3, zero_point=-128)
    assert kinds(check(b, y, rng)) == [Convolution]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_fully_connected_takes_planes_flattened_or_not_and_rows(after: int) -> None:
    rng = np.random.default_rng(3)
    b = Build()
    x = image(b)
    y = conv(b, rng, x, 5, padding="SAME")
    if after == 1:
        y = b.op("RESHAPE", [y, b.constant(np.array([1, 210], np.int32))], (1, 210), None, 0.3, 3)
        w, shape = constant(b, rng, (6, 210), 0.003), (1, 6)
    elif after == 2:
        w, shape = constant(b, rng, (6, 210), 0.003), (1, 6)
    else:
        w, shape = constant(b, rng, (6, 5), 0.003), (1, 7, 6, 6)  # type: ignore[assignment]
    out = b.op("FULLY_CONNECTED", [y, w, bias(b, rng, 6, 0.3 * 0.003)], shape, None, 0.5, -9, activation="RELU",
               keep_num_dims=after == 3)
    assert kinds(check(b, out, rng)) == [Convolution, Convolution]


def test_fully_connected_multiplies_its_scales_in_float32() -> None:
    """Scales chosen so that float64 gives other multipliers."""
    rng = np.random.default_rng(4)
    differing = 0
    for _ in range(20):
        b = Build()
        x = b.input((3, 40), scale=float(rng.uniform(0.01, 0.1)), zero_point=4)
        w = constant(b, rng, (6, 40), float(rng.uniform(0.001, 0.01)))
        y = b.dense(x, w, None, scale=float(rng.uniform(0.2, 0.3)), zero_point=1)
        run = check(b, y, rng)
        stage = run.chain.links[0].stage
        assert isinstance(stage, Convolution)
        double = x.scale * w.scale / y.scale
        differing += abs(int(stage.multipliers[0]) * 2.0 ** (int(stage.shifts[0]) - 31) / double - 1) > 2.0 ** -30
    assert differing


def test_fully_connected_with_scales_per_channel() -> None:
    rng = np.random.default_rng(5)
    b = Build()
    x = b.input((1, 12), scale=0.1, zero_point=4)
    w = constant(b, rng, (6, 12), rng.uniform(0.001, 0.01, 6).astype(np.float32))
    check(b, b.dense(x, w, None, scale=0.05, zero_point=1), rng)


@pytest.mark.parametrize("kind, stage", [("AVERAGE_POOL_2D", AveragePool), ("MAX_POOL_2D", MaxPool)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pools(kind: str, stage: type[object], padding: str) -> None:
    rng = np.random.default_rng(6)
    for size in (2, 3):
        b = Build()
        x = image(b, scale=0.05)
        y = b.pool(kind, x, size, padding, scale=0.05, zero_point=-5, activation="RELU_N1_TO_1")
        assert kinds(check(b, y, rng)) == [stage]


def test_an_average_over_the_whole_plane_accumulates() -> None:
    rng = np.random.default_rng(7)
    for padding, kernel in (("VALID", (4, 5)), ("SAME", (9, 9))):
        b = Build()
        x = image(b, (1, 4, 5, 3))
        y = b.op("AVERAGE_POOL_2D", [x], (1, 1, 1, 3), None, SCALE, -5, padding=PADDING[padding], stride_h=5,
                 stride_w=5, filter_height=kernel[0], filter_width=kernel[1])
        assert kinds(check(b, y, rng)) == [GlobalAverage]


@pytest.mark.parametrize("axes", [[1, 2], [2, 1], [-3, -2], [1, 2, 2]])
@pytest.mark.parametrize("keep", [True, False])
def test_means(axes: list[int], keep: bool) -> None:
    rng = np.random.default_rng(8)
    b = Build()
    x = image(b, (1, 3, 5, 6))
    y = b.op("MEAN", [x, b.constant(np.array(axes, np.int32))], (1, 1, 1, 6) if keep else (1, 6), None, 0.013, 7,
             keep_dims=keep)
    assert kinds(check(b, y, rng)) == [Mean]


def test_a_mean_over_a_rank_3_sequence() -> None:
    rng = np.random.default_rng(9)
    b = Build()
    x = b.input((1, 9, 6), scale=SCALE, zero_point=2)
    check(b, b.op("MEAN", [x, b.constant(np.array([1], np.int32))], (1, 6), None, 0.013, 7, keep_dims=False), rng)


def test_a_residual_block() -> None:
    rng = np.random.default_rng(10)
    b = Build()
    x = image(b, (1, 9, 8, 6))
    y = conv(b, rng, x, 12, (1, 1), padding="SAME", activation="RELU6")
    y = conv(b, rng, y, 12, kind="DEPTHWISE_CONV_2D", padding="SAME", activation="RELU6")
    y = conv(b, rng, y, 6, (1, 1), padding="SAME")
    y = b.op("ADD", [x, y], x.shape, None, 0.4, -3, activation="RELU")
    run = check(b, y, rng)
    assert kinds(run) == [Convolution, Depthwise, Convolution, Add]
    assert set(run.inner) == {t for o in b.operators[:-1] for t in o.outputs}


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("shape", [(4,), (1, 1, 1, 4), (1,), ()])
@pytest.mark.parametrize("first", [True, False])
def test_a_constant_for_each_channel_or_for_all(name: str, shape: tuple[int, ...], first: bool) -> None:
    rng = np.random.default_rng(11)
    b = Build()
    x = image(b)
    k = b.constant(rng.integers(-100, 100, shape).astype(np.int8), scale=0.3, zero_point=20)
    y = b.op(name, [k, x] if first else [x, k], x.shape, np.int8, 0.05, 9, activation="RELU6")
    scalar = shape in ((1,), ())
    if name == "SUB" and first and not scalar:
        with pytest.raises(Refused, match="subtracts from a constant for each channel"):
            run_of(b.operators)
        return
    assert kinds(check(b, y, rng)) == [Table if scalar else Multiply if name == "MUL" else Add]


@pytest.mark.parametrize("zero_point", [-128, -60, 20, 127])
def test_a_product_whose_constant_less_its_zero_point_takes_nine_bits(zero_point: int) -> None:
    rng = np.random.default_rng(18)
    b = Build()
    x = conv(b, rng, image(b), 19, padding="SAME")
    k = b.constant(np.append(random_int8(rng, 17), [-128, 127]).astype(np.int8), scale=0.01, zero_point=zero_point)
    y = b.op("MUL", [x, k], x.shape, None, 0.2, 9, activation="RELU6")
    assert kinds(check(b, y, rng)) == [Convolution, Multiply]


@pytest.mark.parametrize("name", ONE_OPERAND)
def test_an_elementwise_operator_between_convolutions(name: str) -> None:
    rng = np.random.default_rng(12)
    b = Build()
    y = conv(b, rng, image(b), 4, padding="SAME")
    options: dict[str, Any] = {"alpha": 0.2} if name == "LEAKY_RELU" else {}
    y = b.op(name, [y], y.shape, None, *((1 / 256, -128) if name == "LOGISTIC" else (0.04, 0)), **options)
    y = conv(b, rng, y, 3, padding="SAME")
    assert kinds(check(b, y, rng)) == [Convolution, Table, Convolution]


def test_functions_of_one_value_are_one_table() -> None:
    """SiLU, and x * relu6(x + 3) / 6 as some write it; the value itself is still read by a convolution."""
    rng = np.random.default_rng(13)
    b = Build()
    x = conv(b, rng, image(b), 4, padding="SAME", scale=0.04)
    s = b.op("LOGISTIC", [x], x.shape, None, 1 / 256, -128)
    silu = b.op("MUL", [x, s], x.shape, None, 0.03, -100)
    three = b.constant(np.array(127, np.int8), scale=3 / 127)
    a = b.op("RELU6", [b.op("ADD", [x, three], x.shape, None, 0.05, -60)], x.shape, None, 0.05, -60)
    swish = b.op("MUL", [a, x], x.shape, None, 0.1, 4)
    y = b.op("ADD", [silu, conv(b, rng, swish, 4, padding="SAME")], x.shape, None, 0.2, 0)
    run = check(b, y, rng)
    assert kinds(run) == [Convolution, Table, Table, Convolution, Add]


def test_a_value_twice_and_two_functions_of_it() -> None:
    rng = np.random.default_rng(14)
    for name in ("ADD", "SUB", "MUL"):
        b = Build()
        x = image(b)
        y = b.op(name, [x, x], x.shape, None, 0.05, 9)
        t = b.op("TANH", [x], x.shape, None, 1 / 128, 0)
        y = b.op(name, [b.op("RELU", [y], x.shape, None, 0.04, 9), t], x.shape, None, 0.06, -2)
        assert kinds(check(b, y, rng)) == [Table]


def test_a_pad_becomes_padding_of_the_convolutions_that_read_it() -> None:
    rng = np.random.default_rng(15)
    for padding in ("VALID", "SAME"):
        b = Build()
        x = image(b, (1, 8, 8, 4))
        p = pad(b, x, [1, 0], [2, 1])
        y = conv(b, rng, p, 4, padding=padding, stride=(2, 2), kind="DEPTHWISE_CONV_2D")
        z = conv(b, rng, p, 4, padding=padding, stride=(2, 2))
        assert kinds(check(b, b.op("ADD", [y, z], y.shape, None, 0.3, 0), rng)) == [Depthwise, Convolution, Add]


def strided(b: Build, x: Tensor, begin: Any, end: Any, shape: Any, strides: Any = None, **masks: Any) -> Tensor:
    ends = [b.constant(np.array(n, np.int32)) for n in (begin, end, strides or [1] * len(begin))]
    return b.op("STRIDED_SLICE", [x, *ends], shape, None, x.scale, x.zero_point, **masks)


def sized(b: Build, x: Tensor, begin: Any, sizes: Any, shape: Any) -> Tensor:
    operands = [b.constant(np.array(n, np.int32)) for n in (begin, sizes)]
    return b.op("SLICE", [x, *operands], shape, None, x.scale, x.zero_point)


@pytest.mark.parametrize("begin, end, shape, masks", [
    ([0, 0, 0, 0], [0, 0, 0, 2], (1, 7, 6, 2), dict(begin_mask=15, end_mask=7)),
    ([0, 2, 1, 1], [1, 7, 4, 3], (1, 5, 3, 2), {}),
    ([0, -3, -99, -3], [1, -1, 99, -1], (1, 2, 6, 2), {}),
    ([-1, 5, 3, 2], [1, 0, 0, 0], (1, 2, 3, 2), dict(end_mask=14)),
    ([0, 5, 3, 2], [1, 6, 4, 3], (1, 6, 4, 3), dict(begin_mask=14)),
])
def test_a_strided_slice_of_every_element_in_a_range(begin: Any, end: Any, shape: Any, masks: Any) -> None:
    rng = np.random.default_rng(22)
    for inside in (False, True):
        b = Build()
        x = image(b)
        y = strided(b, conv(b, rng, x, 4, padding="SAME") if inside else x, begin, end, shape, **masks)
        assert kinds(check(b, conv(b, rng, y, 3, padding="SAME"), rng)) == [*[Convolution] * inside, Slice, Convolution]


def test_a_slice_by_its_sizes() -> None:
    rng = np.random.default_rng(23)
    b = Build()
    y = sized(b, image(b), [0, 2, 0, 1], [-1, 3, -1, 2], (1, 3, 6, 2))
    assert kinds(check(b, conv(b, rng, y, 3, padding="SAME"), rng)) == [Slice, Convolution]


def test_slices_and_paddings_of_sequences_and_rows() -> None:
    rng = np.random.default_rng(24)
    for shape in ((1, 9, 6), (3, 4, 5), (1, 12), (7,)):
        b = Build()
        x = b.input(shape, scale=SCALE, zero_point=2)
        whole = [0] * len(shape)
        y = strided(b, x, [*whole[1:], 2], [*shape[:-1], 5], (*shape[:-1], 3))
        around = b.constant(np.array([[0, 0]] * (len(shape) - 1) + [[1, 2]], np.int32))
        y = b.op("PAD", [y, around], (*shape[:-1], 6), None, SCALE, 2)
        assert kinds(check(b, b.op("TANH", [y], y.shape, None, 1 / 128, 0), rng)) == [Slice, Pad, Table]


@pytest.mark.parametrize("name", ["PAD", "PADV2"])
def test_a_pad_is_a_stage_where_no_convolution_reads_it(name: str) -> None:
    """In front of a pool, of channels, at the end, of a pad; a convolution that reads it too pads for itself."""
    rng = np.random.default_rng(25)
    fill = [] if name == "PAD" else [np.array([-5], np.int8)]

    def padded(b: Build, x: Tensor, *around: list[int]) -> Tensor:
        shape = tuple(size + sum(n) for size, n in zip(x.shape, around, strict=True))
        more = [b.constant(f, scale=SCALE, zero_point=-5) for f in fill]
        return b.op(name, [x, b.constant(np.array(around, np.int32)), *more], shape, None, SCALE, -5)

    b = Build()
    y = padded(b, image(b), [0, 0], [1, 1], [1, 0], [0, 0])
    assert kinds(check(b, b.pool("MAX_POOL_2D", y, 3, scale=SCALE, zero_point=-5), rng)) == [Pad, MaxPool]
    b = Build()
    assert kinds(check(b, padded(b, image(b), [0, 0], [0, 2], [0, 0], [1, 3]), rng)) == [Pad]
    b = Build()
    y = padded(b, padded(b, image(b), [0, 0], [1, 0], [0, 2], [0, 2]), [0, 0], [1, 1], [1, 1], [0, 0])
    assert kinds(check(b, conv(b, rng, y, 3, padding="VALID"), rng)) == [Pad, Convolution]
    b = Build()
    y = padded(b, image(b), [0, 0], [1, 1], [1, 1], [0, 0])
    z = conv(b, rng, y, 4, padding="VALID", stride=(3, 3))
    pooled = b.op("MAX_POOL_2D", [y], (1, 3, 2, 4), None, SCALE, -5, padding=PADDING["VALID"], stride_h=3, stride_w=3,
                  filter_height=3, filter_width=3)
    assert kinds(check(b, b.op("ADD", [z, pooled], z.shape, None, 0.3, 0), rng)) == [Convolution, Pad, MaxPool, Add]


def test_a_residual_that_takes_some_channels_and_pads_the_others() -> None:
    rng = np.random.default_rng(26)
    b = Build()
    x = conv(b, rng, image(b, (1, 9, 8, 6)), 8, padding="SAME")
    y = strided(b, x, [0, 0, 0, 0], [1, 9, 8, 4], (1, 9, 8, 4))
    y = conv(b, rng, y, 4, padding="SAME", activation="RELU")
    y = b.op("PAD", [y, b.constant(np.array([[0, 0]] * 3 + [[1, 3]], np.int32))], x.shape, None, 0.3, 3)
    check(b, b.op("ADD", [x, y], x.shape, None, 0.4, -3), rng)


@pytest.mark.parametrize("axis", [1, 2, 3, -1, -3])
def test_a_concatenation_along_every_axis(axis: int) -> None:
    """Of every number that int8 has, of three operands, of one twice; what is joined is read and is the output."""
    rng = np.random.default_rng(28)
    for zero_point in (-128, 0, 127):
        b = Build()
        shapes = [tuple(size if k == axis % 4 else 5 for k, size in enumerate((1, *sizes)))
                  for sizes in ((2, 2, 2), (1, 1, 1), (13, 13, 13))]
        xs = [image(b, (1, *shape[1:]), zero_point) for shape in shapes]
        joined = [*xs, xs[1]]
        total = sum(x.shape[axis] for x in joined)
        shape = tuple(total if k == axis % 4 else n for k, n in enumerate(xs[0].shape))
        y = b.op("CONCATENATION", joined, shape, None, SCALE, zero_point, axis=axis)
        assert kinds(check(b, y, rng)) == [Pad, Pad, Add, Pad, Add, Pad, Add]
        check(b, conv(b, rng, y, 3, padding="SAME"), rng)


def test_a_concatenation_of_sequences_and_rows() -> None:
    rng = np.random.default_rng(29)
    for shape, axis in (((1, 6), 1), ((1, 6), -1), ((1, 3, 4), 1), ((3, 4), 0), ((2, 3, 4), 0)):
        b = Build()
        x, z = (b.input(shape, scale=SCALE, zero_point=2) for _ in range(2))
        double = tuple(2 * n if k == axis % len(shape) else n for k, n in enumerate(shape))
        y = b.op("CONCATENATION", [x, b.op("RELU", [z], shape, None, SCALE, 2)], double, None, SCALE, 2, axis=axis)
        assert sorted(k.__name__ for k in kinds(check(b, y, rng))) == ["Add", "Pad", "Pad", "Table"]


@pytest.mark.parametrize("listed", [[], [None]])
def test_a_depthwise_convolution_without_a_bias(listed: list[None]) -> None:
    """TFLM reads one that is listed as -1: such a file is compared with one that lists nothing."""
    rng = np.random.default_rng(27)
    b = Build()
    y = b.conv(image(b), constant(b, rng, (1, 3, 3, 4)), None, kind="DEPTHWISE_CONV_2D", scale=0.3, zero_point=-128)
    b.operators[0].inputs[2:] = listed
    run = run_of(b.operators)
    b.operators[0].inputs[2:] = []
    assert packed(run.chain)[0] == packed(check(b, y, rng).chain)[0]


def test_a_transposed_image_and_reshapes_at_both_ends() -> None:
    rng = np.random.default_rng(16)
    b = Build()
    x = b.input((1, 3, 7, 6), scale=SCALE, zero_point=-5)
    t = b.op("TRANSPOSE", [x, b.constant(np.array([0, 2, 3, 1], np.int32))], (1, 7, 6, 3), None, SCALE, -5)
    y = conv(b, rng, t, 4, padding="SAME")
    assert kinds(check(b, y, rng)) == [Transpose, Convolution]
    b = Build()
    x = b.input((1, 126), scale=SCALE, zero_point=-5)
    y = b.op("RESHAPE", [x, b.constant(np.array([1, 7, 6, 3], np.int32))], (1, 7, 6, 3), None, SCALE, -5)
    y = conv(b, rng, y, 4)
    y = b.op("RESHAPE", [y, b.constant(np.array([1, 168], np.int32))], (1, 168), None, 0.3, 3)
    run = check(b, y, rng)
    assert run.inputs == (x,) and run.output is y and kinds(run) == [Convolution]


def test_planes_of_one_row_column_or_channel() -> None:
    rng = np.random.default_rng(17)
    for shape in ((1, 1, 1, 1), (1, 1, 9, 3), (1, 9, 1, 1), (1, 2, 2, 17)):
        b = Build()
        x = image(b, shape)
        y = conv(b, rng, x, 5, padding="SAME")
        y = conv(b, rng, y, 10, (5, 5), kind="DEPTHWISE_CONV_2D", padding="SAME")
        check(b, b.op("ADD", [y, y], y.shape, None, 0.7, 0), rng)


def refused(build: Callable[[Build, np.random.Generator], object]) -> str:
    b = Build()
    build(b, np.random.default_rng(20))
    with pytest.raises(Refused) as caught:
        run_of(b.operators)
    assert caught.value.at is not None
    return caught.value.reason


def conv_of(**changes: Any) -> Callable[[Build, np.random.Generator], object]:
    """A convolution with one thing wrong: its input's, weights' or bias's properties, or an option."""
    def build(b: Build, rng: np.random.Generator) -> object:
        x = image(b, changes.get("shape", (1, 7, 6, 4)))
        y = conv(b, rng, x, 4, kind=changes.get("kind", "CONV_2D"))
        operator = b.operators[0]
        for position, what in enumerate(("x", "w", "bias")):
            tensor = operator.inputs[position]
            if what in changes and tensor is not None:
                operator.inputs[position] = tensor.like(**changes[what])
        if "y" in changes:
            operator.outputs[0] = y.like(**changes["y"])
        if "options" in changes:
            assert operator.options is not None
            operator.options = operator.options.with_(**changes["options"])
        return y
    return build


PER_CHANNEL = Quantization.of([0.1, 0.2, 0.1, 0.2], 0)


@pytest.mark.parametrize("changes, reason", [
    (dict(shape=(2, 7, 6, 4)), "the batch is larger than 1"),
    (dict(x=dict(type=tflite.TensorType.UINT8)), "UINT8 values are not computed by a chain, only INT8"),
    (dict(x=dict(type=tflite.TensorType.FLOAT32)), "FLOAT32 values are not computed by a chain, only INT8"),
    (dict(x=dict(quantization=None)), "the tensor has no scale and zero point"),
    (dict(x=dict(quantization=PER_CHANNEL)), "the tensor is not quantized per tensor"),
    (dict(x=dict(quantization=Quantization.of(0.0, 0))), "the scale is not a positive number"),
    (dict(x=dict(quantization=Quantization.of(0.1, 300))), "the zero point lies outside of the type's range"),
    (dict(x=dict(quantization=Quantization(np.array([0.1], np.float32)))), "the tensor has no scale and zero point"),
    (dict(x=dict(is_variable=True)), "the tensor is a variable"),
    (dict(x=dict(shape_signature=(-1, 7, 6, 4))), "a dimension is left open"),
    (dict(w=dict(is_variable=True)), "the weights are not constant"),
    (dict(w=dict(type=tflite.TensorType.INT4)), "the weights are INT4, not INT8"),
    (dict(w=dict(quantization=Quantization.of(0.1, 3))), "the weights have a zero point other than 0"),
    (dict(w=dict(quantization=Quantization.of([0.1, 0.1], 0))), "scales for another number of channels"),
    (dict(w=dict(quantization=Quantization.of([0.1] * 4, 0, 1))), "the weights' scales lie along another axis"),
    (dict(w=dict(sparsity=Options.of("SparsityParameters"))), "the constant is stored sparse"),
    (dict(w=dict(shape=(4, 3, 6, 2))), "the operator is grouped"),
    (dict(bias=dict(type=tflite.TensorType.INT64)), "the bias is INT64, not INT32"),
    (dict(bias=dict(is_variable=True)), "the bias is not constant"),
    (dict(y=dict(shape=(1, 7, 6, 3))), "the tensor's shape does not fit what the operator computes"),
    (dict(y=dict(shape=(1, 6, 7, 4))), "the output's shape is not the one computed"),
    (dict(y=dict(quantization=Quantization.of(1e-15, 0))), "the scales are too far apart for 32-bit arithmetic"),
    (dict(options=dict(fused_activation_function=4)), "TFLM's int8 kernels have no activation TANH"),
    (dict(options=dict(stride_h=0)), "its strides or dilations are not positive"),
    (dict(options=dict(padding=1, dilation_h_factor=9)), "its window is larger than its input"),
    (dict(kind="DEPTHWISE_CONV_2D", options=dict(depth_multiplier=0)), "its depth_multiplier does not fit the weights"),
])
def test_what_is_wrong_with_a_convolution(changes: dict[str, Any], reason: str) -> None:
    assert reason in refused(conv_of(**changes))


def test_a_bias_that_leaves_32_bits_with_the_zero_point_is_refused() -> None:
    def build(b: Build, rng: np.random.Generator) -> None:
        x = image(b, zero_point=-128)
        w = b.constant(np.full((1, 1, 1, 4), 127, np.int8), scale=0.1)
        b.conv(x, w, b.constant(np.array([2 ** 31 - 10], np.int32), scale=0.002), scale=0.3)
    assert refused(build) == "the bias with the zero point's share does not fit 32 bits"


def test_the_bias_of_fully_connected_must_have_the_scale_of_the_sums() -> None:
    def build(b: Build, rng: np.random.Generator) -> None:
        x = b.input((1, 4), scale=SCALE)
        b.dense(x, constant(b, rng, (3, 4)), bias(b, rng, 3, 0.5), scale=0.3)
    assert refused(build) == "the bias's scale is not the product of the input's and the weights'"


def other(name: str, shape: Any = (1, 7, 6, 4), scale: float = SCALE, zero_point: int = -5, second: Any = None,
          first: Any = (1, 7, 6, 4), **more: Any) -> Callable[[Build, np.random.Generator], object]:
    def build(b: Build, rng: np.random.Generator) -> object:
        x = image(b, first)
        operands = [x] if second is None else [x, b.constant(second) if second.dtype == np.int32
                                               else b.constant(second, scale=0.1, zero_point=-5)]
        return b.op(name, operands, shape, None, scale, zero_point, **more)
    return build


@pytest.mark.parametrize("build, reason", [
    (other("SOFTMAX"), "SOFTMAX is not computed by a chain"),
    (other("MAX_POOL_2D", (1, 3, 3, 4), 0.05, stride_h=2, stride_w=2, filter_height=2, filter_width=2, padding=1),
     "its output is quantized otherwise than its input"),
    (other("MEAN", (1, 7, 6, 1), second=np.array([3], np.int32)), "the mean is not taken over rows and columns"),
    (other("MEAN", (1, 7, 4), second=np.array([2], np.int32)), "the mean is not taken over rows and columns"),
    (other("TRANSPOSE", (1, 4, 6, 7), second=np.array([0, 3, 2, 1], np.int32)), "otherwise than NCHW to NHWC"),
    (other("RESHAPE", (1, 168), second=np.array([1, 168], np.int32)), "nothing is left to compute"),
    (other("RESHAPE", (1, 168), 0.5, second=np.array([1, 168], np.int32)), "quantized otherwise than its input"),
    (other("PAD", (2, 7, 6, 4), second=np.array([[0, 1], [0, 0], [0, 0], [0, 0]], np.int32)), "it pads the batch"),
    (other("PAD", (1, 7, 6, 4), second=np.array([[0, 0], [1, 0], [0, 0], [0, 0]], np.int32)), "does not fit its"),
    (other("PAD", (1, 6, 6, 4), second=np.array([[0, 0], [-1, 0], [0, 0], [0, 0]], np.int32)), "do not fit its input"),
    (other("PAD", (1, 8, 6, 4), second=np.array([[0, 0], [1, 0], [0, 0]], np.int32)), "do not fit its input"),
    (other("PAD", (1, 8, 6, 4), 0.5, second=np.array([[0, 0], [1, 0], [0, 0], [0, 0]], np.int32)), "quantized other"),
    (other("ADD", second=np.ones((1, 7, 6, 4), np.int8)), "neither one number nor one number for each channel"),
    (other("ADD", second=np.ones((1, 7, 1, 1), np.int8)), "neither one number nor one number for each channel"),
    (other("ADD", (1, 7, 6, 8), second=np.ones(8, np.int8), first=(1, 7, 6, 1)), "constant makes the output larger"),
    (other("LOGISTIC", zero_point=0), "an output zero point of -128"),
    (other("PRELU", second=np.ones((1, 1, 4), np.int8)), "neither one number nor one number for each channel"),
])
def test_what_else_is_refused(build: Callable[[Build, np.random.Generator], object], reason: str) -> None:
    assert reason in refused(build)


def test_operands_that_broadcast_are_no_residual() -> None:
    for shape in ((1, 1, 1, 4), (1, 7, 6, 1), (4,)):
        def build(b: Build, rng: np.random.Generator, shape: Any = shape) -> None:
            x, y = image(b), b.input(shape, scale=SCALE)
            b.op("ADD", [x, y], x.shape, None, 0.1, 0)
        assert refused(build) == "its operands have different shapes"


def test_two_values_are_only_added() -> None:
    for name in ("SUB", "MUL"):
        def build(b: Build, rng: np.random.Generator, name: str = name) -> None:
            x = image(b)
            b.op(name, [x, image(b)], x.shape, None, 0.1, 0)
        assert refused(build) == f"{name} of two values is not computed by a chain"


Slicing = Callable[[Build, Tensor], object]


@pytest.mark.parametrize("build, reason", [
    (lambda b, x: strided(b, x, [0] * 4, [1, 7, 6, 4], (1, 4, 6, 4), [1, 2, 1, 1]), "takes not every element"),
    (lambda b, x: strided(b, x, [0, 6, 0, 0], [1, 0, 6, 4], (1, 6, 6, 4), [1, -1, 1, 1]), "takes not every element"),
    *((lambda b, x, m=mask: strided(b, x, [0] * 4, [1, 1, 6, 4], (1, 6, 4), **{m: 2}), "adds or drops dimensions")
      for mask in ("shrink_axis_mask", "new_axis_mask", "ellipsis_mask")),
    (lambda b, x: strided(b, x, [0] * 4, [1, 1, 6, 4], (1, 1, 6, 4), offset=True), "adds or drops dimensions"),
    (lambda b, x: strided(b, x, [0] * 4, [1, 3, 6, 4], (1, 4, 6, 4)), "its output does not fit what it takes"),
    (lambda b, x: strided(b, x, [0, 5, 0, 0], [1, 3, 6, 4], (1, 7, 6, 4)), "its output does not fit what it takes"),
    (lambda b, x: strided(b, x, [0] * 3, [1, 3, 6], (1, 3, 6, 4)), "its ranges do not fit its input"),
    (lambda b, x: sized(b, x, [0, 5, 0, 0], [1, 3, 6, 4], (1, 3, 6, 4)), "its ranges do not fit its input"),
    (lambda b, x: sized(b, x, [0, -1, 0, 0], [1, 1, 6, 4], (1, 1, 6, 4)), "its ranges do not fit its input"),
])
def test_what_is_no_plain_slice(build: Slicing, reason: str) -> None:
    assert reason in refused(lambda b, rng: build(b, image(b)))


def joining(*shapes: Any, out: Any, scale: float = SCALE, **options: Any) -> Callable[[Build, Any], object]:
    def build(b: Build, rng: np.random.Generator) -> object:
        return b.op("CONCATENATION", [image(b, s) for s in shapes], out, None, scale, -5, **options)
    return build


@pytest.mark.parametrize("build, reason", [
    (joining((1, 7, 6, 4), (1, 7, 6, 4), out=(1, 7, 6, 8), scale=0.5, axis=3), "quantized otherwise"),
    (joining((1, 7, 6, 4), (1, 7, 6, 4), out=(1, 7, 6, 8), axis=3, activation="RELU"), "it has an activation"),
    (joining((1, 7, 6, 4), (1, 7, 6, 4), out=(1, 7, 6, 8), axis=4), "do not fit its axis"),
    (joining((1, 7, 6, 4), (7, 6, 4), out=(1, 7, 6, 8), axis=3), "do not fit its axis"),
    (joining((1, 7, 6, 4), (1, 7, 5, 4), out=(1, 7, 6, 8), axis=3), "does not fit its operands"),
    (joining((1, 7, 6, 4), (1, 7, 6, 4), out=(1, 7, 6, 9), axis=3), "does not fit its operands"),
    (joining((1, 7, 6, 4), (1, 7, 6, 4), out=(2, 7, 6, 4), axis=0), "it joins batches"),
    (joining((1, 7, 6, 4), out=(1, 7, 6, 4), axis=3), "it joins nothing"),
])
def test_what_is_no_concatenation_of_planes(build: Callable[[Build, Any], object], reason: str) -> None:
    assert reason in refused(build)


def test_slices_of_batches_or_of_another_quantization_are_refused() -> None:
    assert "the batch is larger" in refused(lambda b, rng: strided(b, image(b, (3, 7, 6, 4)), [0] * 4, [1, 7, 6, 4],
                                                                   (1, 7, 6, 4)))

    def scaled(b: Build, rng: np.random.Generator) -> None:
        strided(b, image(b), [0] * 4, [1, 7, 6, 2], (1, 7, 6, 2)).quantization = Quantization.of(SCALE, 4)
    assert refused(scaled) == "its output is quantized otherwise than its input"


def test_other_padding_and_rows_of_another_shape_are_refused() -> None:
    def reshaped(b: Build, rng: np.random.Generator) -> None:
        y = conv(b, rng, image(b), 4)
        y = b.op("RESHAPE", [y, b.constant(np.array([1, 6, 7, 4], np.int32))], (1, 6, 7, 4), None, 0.3, 3)
        conv(b, rng, y, 4)
    assert refused(reshaped) == "its input is computed in rows of another shape"

    def valued(b: Build, rng: np.random.Generator) -> None:
        x = image(b)
        paddings = b.constant(np.array([[0, 0], [1, 0], [0, 0], [0, 0]], np.int32))
        seven = b.constant(np.array([7], np.int8), scale=SCALE, zero_point=-5)
        p = b.op("PADV2", [x, paddings, seven], (1, 8, 6, 4), None, SCALE, -5)
        conv(b, rng, p, 4)
    assert refused(valued) == "it pads with another value than the zero point"


def test_windows_of_padding_alone() -> None:
    rng = np.random.default_rng(21)
    b = Build()
    x = image(b)
    p = pad(b, x, [4, 5], [3, 6])
    check(b, conv(b, rng, p, 4, padding="VALID"), rng)


def test_runs_that_grow_are_those_of_their_operators() -> None:
    rng = np.random.default_rng(31)
    b = Build()
    x = image(b)
    y = conv(b, rng, pad(b, x, [1, 0], [0, 0]), 4, padding="VALID")
    y = b.op("RELU", [y], y.shape, None, 0.3, 3)
    b.op("SOFTMAX", [y], y.shape, None, 1 / 256, -128)
    b.op("RELU", [y], y.shape, None, 0.3, 3)
    stages = Stages()
    grown = list(stages.growing(b.operators))
    told = [g.reason if isinstance(g, Refused) else kinds(g) for g in grown]
    assert told == [[Pad], [Convolution], [Convolution, Table],
                    "SOFTMAX is not computed by a chain"]
    alone = stages.run(b.operators[:3])
    assert isinstance(grown[2], Run) and packed(grown[2].chain)[0] == packed(alone.chain)[0] and grown[2].inputs == (x,)


def test_what_one_operator_needs_is_worked_out_once() -> None:
    rng = np.random.default_rng(30)
    b = Build()
    y = conv(b, rng, image(b), 4)
    b.op("RELU", [y], y.shape, None, 0.3, 3)
    stages = Stages()
    alone, both = stages.run(b.operators[:1]), stages.run(b.operators)
    assert alone.chain.links[0].stage is both.chain.links[0].stage
    assert kinds(stage_of(b.operators[1])) == [Table]
