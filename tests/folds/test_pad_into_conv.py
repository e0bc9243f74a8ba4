"""A PAD goes into a convolution's own padding exactly where that pads the same amounts of the same value."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tflite import TensorType

from tflfuse.folds.pad_into_conv import pad_into_conv
from tflfuse.ir import Array, Model, Tensor
from tflfuse.plan import plan

from ..build import PADDING, Build, names, valid
from .checks import exact, refused
from .kinds import FLOAT, INT16, NUMBERS, PER_CHANNEL, input_of

RULES = [pad_into_conv]
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D")
NOT_SAME = "SAME would pad other amounts for this size, kernel, stride and dilation"
OTHER_VALUE = "it pads with something other than zero"
OTHER_TYPES = "only float32, int8 and int16 are padded so"
NOT_IMAGES = "the value is not [batch, height, width, channels]"
NO_STEP = "its strides or dilations are not positive"
Pairs = tuple[tuple[int, int], tuple[int, int]]


def spread(x: Tensor, amounts: Array) -> tuple[int, ...]:
    return tuple(d + int(a.sum()) for d, a in zip(x.shape, amounts))


def pad(b: Build, x: Tensor, rows: Any, columns: Any, value: Tensor | None = None, batch: Any = (0, 0),
        channels: Any = (0, 0), **more: Any) -> Tensor:
    amounts = np.array([batch, rows, columns, channels], np.int32)
    if x.quantization is not None:
        more = {"scale": x.scale, "zero_point": x.zero_point, **more}
    inputs = [x, b.constant(amounts)] + ([] if value is None else [value])
    return b.op("PAD" if value is None else "PADV2", inputs, spread(x, amounts), **more)


def conv(b: Build, x: Tensor, kind: str, size: tuple[int, int] = (3, 3), channels: int | None = None,
         **more: Any) -> Tensor:
    """A convolution of x with random weights and a bias (TFLM's depthwise kernel crashes without one)."""
    c = x.shape[3]
    shape = (2 if channels is None else channels, *size, c) if kind == "CONV_2D" else (1, *size, c)
    rng = np.random.default_rng(1)
    axis = 0 if kind == "CONV_2D" else 3
    if x.quantization is None:
        w = b.constant(rng.normal(size=shape).astype(np.float32))
        bias = b.constant(rng.normal(size=shape[axis]).astype(np.float32))
    else:
        scales = rng.uniform(0.002, 0.004, shape[axis]).astype(np.float32)
        w = b.constant(rng.integers(-127, 128, shape).astype(np.int8), scales, axis=axis)
        bias = b.constant(rng.integers(-99, 99, shape[axis]).astype(np.int64 if x.dtype == np.int16 else np.int32),
                          np.float32(x.scale) * scales)
        more = {"scale": x.scale, "zero_point": 0 if x.dtype == np.int16 else 11, **more}
    return b.conv(x, w, bias, kind=kind, **{"padding": "VALID", **more})


def padding_of(model: Model) -> int:
    return int(model.subgraphs[0].operators[-1].option("padding"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("height,width,size,stride,dilation,amounts", [
    (7, 7, (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    (7, 9, (3, 3), (2, 2), (1, 1), ((1, 1), (1, 1))),     # odd sizes: symmetric
    (8, 6, (3, 3), (2, 2), (1, 1), ((0, 1), (0, 1))),     # even sizes: bottom and right only
    (8, 7, (3, 3), (2, 2), (1, 1), ((0, 1), (1, 1))),
    (8, 7, (3, 5), (2, 1), (1, 1), ((0, 1), (2, 2))),     # strides differ
    (5, 6, (2, 2), (1, 1), (1, 1), ((0, 1), (0, 1))),
    (7, 8, (3, 3), (1, 1), (2, 2), ((2, 2), (2, 2))),     # dilation
    (6, 7, (1, 3), (1, 1), (1, 1), ((0, 0), (1, 1))),     # one axis needs nothing
])
def test_what_same_pads(kind: str, numbers: str, height: int, width: int, size: tuple[int, int],
                        stride: tuple[int, int], dilation: tuple[int, int], amounts: Pairs) -> None:
    b = Build()
    x = input_of(b, (1, height, width, 2), numbers, 7)
    model = exact(b, conv(b, pad(b, x, *amounts), kind, size, stride=stride, dilation=dilation), rules=RULES)
    assert names(model) == [kind] and padding_of(model) == PADDING["SAME"]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("zero_point", [-128, 0, 7, 127])
def test_the_border_counts_as_the_zero_point(zero_point: int, given: bool) -> None:
    b = Build()
    x = input_of(b, (1, 7, 7, 2), PER_CHANNEL, zero_point)
    value = b.constant(np.array([zero_point], np.int8), x.scale, zero_point) if given else None
    model = exact(b, conv(b, pad(b, x, (1, 1), (1, 1), value), "CONV_2D"), rules=RULES)
    assert names(model) == ["CONV_2D"] and padding_of(model) == PADDING["SAME"]


@pytest.mark.parametrize("numbers", [FLOAT, INT16])
def test_padv2_with_zero(numbers: str) -> None:
    b = Build()
    x = input_of(b, (1, 5, 5, 2), numbers, 0)
    zero = b.constant(np.zeros((), x.dtype), None if numbers == FLOAT else x.scale)
    model = exact(b, conv(b, pad(b, x, (1, 1), (1, 1), zero), "DEPTHWISE_CONV_2D"), rules=RULES)
    assert names(model) == ["DEPTHWISE_CONV_2D"] and padding_of(model) == PADDING["SAME"]


def test_what_no_window_reaches_is_not_padded() -> None:
    """Rows 9 and 10 of a 1x1 convolution at stride 4 on 9 rows; with more, SAME would make other outputs."""
    b = Build()
    x = input_of(b, (1, 9, 9, 2), PER_CHANNEL, 7)
    model = exact(b, conv(b, pad(b, x, (0, 2), (0, 3)), "CONV_2D", (1, 1), stride=(4, 4)), rules=RULES)
    assert names(model) == ["CONV_2D"] and padding_of(model) == PADDING["VALID"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size,amounts,options", [
    (8, ((1, 1), (1, 1)), {"stride": (2, 2)}),             # SAME would pad bottom and right only
    (7, ((0, 2), (0, 2)), {"stride": (2, 2)}),             # the same size, but another corner
    (7, ((2, 2), (2, 2)), {}),                             # more than SAME
    (7, ((1, 1), (0, 0)), {}),                             # one axis SAME, one VALID
    (7, ((1, 1), (1, 1)), {"dilation": (2, 2)}),
    (9, ((0, 4), (0, 4)), {"size": (1, 1), "stride": (4, 4)}),   # one more output of nothing but border
])
def test_what_same_would_pad_otherwise(kind: str, size: int, amounts: Pairs, options: dict[str, Any]) -> None:
    b = Build()
    x = b.input((1, size, size, 2))
    assert refused(b, conv(b, pad(b, x, *amounts), kind, **options), rules=RULES) == [NOT_SAME]


def test_a_convolution_that_pads_already() -> None:
    b = Build()
    x = b.input((1, 7, 7, 2))
    assert refused(b, conv(b, pad(b, x, (1, 1), (1, 1)), "CONV_2D", padding="SAME"), rules=RULES) == [
        "the convolution pads already"]


def test_channels_and_batches() -> None:
    for batch, channels in (((0, 1), (0, 0)), ((0, 0), (0, 1))):
        b = Build()
        x = b.input((1, 7, 7, 2))
        padded = pad(b, x, (1, 1), (1, 1), batch=batch, channels=channels)
        assert refused(b, conv(b, padded, "CONV_2D"), rules=RULES) == ["it pads batches or channels"]


def test_a_padded_value_with_two_readers() -> None:
    b = Build()
    padded = pad(b, b.input((1, 7, 7, 2)), (1, 1), (1, 1))
    reasons = refused(b, conv(b, padded, "CONV_2D"), conv(b, padded, "DEPTHWISE_CONV_2D"), rules=RULES)
    assert reasons == ["its result has more than one reader"] * 2


@pytest.mark.parametrize("kind,reason", [
    ("MAX_POOL_2D", "a MAX_POOL_2D takes no zeros from its own border"),
    ("AVERAGE_POOL_2D", "an AVERAGE_POOL_2D does not count its own border")])
def test_pools(kind: str, reason: str) -> None:
    b = Build()
    assert refused(b, b.pool(kind, pad(b, b.input((1, 7, 7, 2)), (0, 1), (0, 1)), 2), rules=RULES) == [reason]


def test_another_value() -> None:
    b = Build()
    x = b.input((1, 7, 7, 2))
    value = b.constant(np.ones(1, np.float32))
    assert refused(b, conv(b, pad(b, x, (1, 1), (1, 1), value), "CONV_2D"), rules=RULES) == [OTHER_VALUE]
    b = Build()
    x = b.input((1, 7, 7, 2), scale=0.1, zero_point=7)
    value = b.constant(np.zeros(1, np.int8), 0.1, 7)  # the integer 0 is no zero here
    assert refused(b, conv(b, pad(b, x, (1, 1), (1, 1), value), "CONV_2D"), rules=RULES) == [OTHER_VALUE]


def test_a_pad_that_changes_the_scale() -> None:
    b = Build()
    x = b.input((1, 7, 7, 2), scale=0.1, zero_point=7)
    padded = pad(b, x, (1, 1), (1, 1), scale=0.1, zero_point=8)
    assert refused(b, conv(b, padded, "CONV_2D"), rules=RULES) == ["the PAD changes the scale"]


def test_amounts_that_are_computed_match_nothing() -> None:
    b = Build()
    x, amounts = b.input((1, 5, 5, 2)), b.input((4, 2), np.int32)
    padded = b.op("PAD", [x, amounts], (1, 7, 7, 2))
    assert refused(b, conv(b, padded, "CONV_2D"), rules=RULES) == []


def test_sizes_left_open() -> None:
    b = Build()
    x = b.input((1, 7, 7, 2), shape_signature=(-1, -1, 7, 2))
    assert refused(b, conv(b, pad(b, x, (1, 1), (1, 1)), "CONV_2D"), rules=RULES) == [
        "the size of its input is not known"]
    b = Build()
    x = b.input((1, 7, 7, 2), shape_signature=(-1, 7, 7, 2))
    assert names(exact(b, conv(b, pad(b, x, (1, 1), (1, 1)), "CONV_2D"), rules=RULES)) == ["CONV_2D"]


def test_weights_that_make_something_of_zeros() -> None:
    b = Build()
    w = np.ones((1, 3, 3, 2), np.float32)
    w[0, 0, 0, 0] = np.inf
    padded = pad(b, b.input((1, 7, 7, 2)), (1, 1), (1, 1))
    value = b.conv(padded, b.constant(w), None, padding="VALID")
    assert refused(b, value, rules=RULES) == ["a weight is not finite"]


def test_every_small_geometry() -> None:
    """Over sizes, kernels, strides, dilations and amounts: folded or not, never other bits."""
    rng = np.random.default_rng(5)
    folds = 0
    for _ in range(60):
        b = Build()
        h, k, s, d = (int(rng.integers(low, high)) for low, high in ((3, 9), (1, 4), (1, 4), (1, 3)))
        before, after = (int(a) for a in rng.integers(0, 3, 2))
        if valid(h + before + after, (k - 1) * d + 1, s) < 1 or s > 1 and d > 1:
            continue
        x = input_of(b, (1, h, h, 1), PER_CHANNEL, -9)
        padded = pad(b, x, (before, after), (before, after))
        value = conv(b, padded, "CONV_2D", (k, k), 1, stride=(s, s), dilation=(d, d))
        if plan(b.model(value), RULES).steps:
            exact(b, value, rules=RULES)
            folds += 1
    assert folds >= 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size,padding", [(3, "VALID"), (2, "SAME")])
def test_a_window_as_large_as_what_is_padded_behind(size: int, padding: str, kind: str) -> None:
    """One window holds the whole input, the next would begin behind what PAD adds; without that none would fit."""
    b = Build()
    y = conv(b, pad(b, input_of(b, (1, size, size, 4), PER_CHANNEL, 3), (0, 1), (0, 1)), kind, stride=(2, 2))
    model = exact(b, y, rules=RULES)
    assert y.shape[1:3] == (1, 1) and padding_of(model) == PADDING[padding]


def test_a_negative_amount() -> None:
    b = Build()
    y = conv(b, pad(b, input_of(b, (1, 6, 6, 4), PER_CHANNEL, 3), (-1, 1), (0, 0)), "CONV_2D")
    assert refused(b, y, rules=RULES) == ["an amount of padding is negative"]


def test_amounts_that_are_not_one_pair_for_each_dimension() -> None:
    b = Build()
    x = input_of(b, (1, 6, 6, 4), PER_CHANNEL, 3)
    padded = b.op("PAD", [x, b.constant(np.zeros((3, 2), np.int32))], x.shape, scale=x.scale, zero_point=3)
    assert refused(b, conv(b, padded, "CONV_2D"), rules=RULES) == [
        "the amounts of padding are not one pair for each dimension"]


@pytest.mark.parametrize("changes,reason", [
    ({"x": {"shape": (49, 1, 2)}}, NOT_IMAGES),
    ({"padded": {"shape": (81, 1, 2)}}, NOT_IMAGES),
    ({"y": {"shape": (196,)}}, NOT_IMAGES),
    ({"padded": {"type": TensorType.INT16}}, OTHER_TYPES),
    ({"x": {"type": TensorType.UINT8}, "padded": {"type": TensorType.UINT8}}, OTHER_TYPES),
    ({"weights": {"shape": (2, 9, 2)}}, "the weights do not have four dimensions"),
    ({"options": {"stride_h": 0}}, NO_STEP),
    ({"options": {"stride_w": -1}}, NO_STEP),
    ({"options": {"dilation_w_factor": 0}}, NO_STEP),
])
def test_what_no_kernel_takes(changes: dict[str, dict[str, Any]], reason: str) -> None:
    b = Build()
    x = input_of(b, (1, 7, 7, 2), PER_CHANNEL, 7)
    padded = pad(b, x, (1, 1), (1, 1))
    y = conv(b, padded, "CONV_2D")
    convolution = b.operators[-1]
    assert convolution.options is not None
    convolution.options = convolution.options.with_(**changes.get("options", {}))
    for name, tensor in (("x", x), ("padded", padded), ("y", y), ("weights", convolution.inputs[1])):
        for attribute, value in changes.get(name, {}).items():
            setattr(tensor, attribute, value)
    assert refused(b, y, rules=RULES) == [reason]


def test_weights_left_out() -> None:
    b = Build()
    y = conv(b, pad(b, b.input((1, 7, 7, 2)), (1, 1), (1, 1)), "CONV_2D")
    b.operators[-1].inputs[1] = None
    assert refused(b, y, rules=RULES) == ["the weights do not have four dimensions"]


def test_weights_that_are_computed() -> None:
    b = Build()
    w = b.op("NEG", [b.input((2, 3, 3, 2))], (2, 3, 3, 2))
    padded = pad(b, b.input((1, 7, 7, 2)), (1, 1), (1, 1))
    model = exact(b, b.conv(padded, w, b.constant(np.ones(2, np.float32)), padding="VALID"), rules=RULES)
    assert names(model) == ["NEG", "CONV_2D"]


def test_tflm_pads_int16_with_the_integer_0_whatever_it_means() -> None:
    b = Build()
    padded = pad(b, b.input((1, 7, 7, 2), np.int16, 2 ** -13, 5), (1, 1), (1, 1))
    assert refused(b, conv(b, padded, "CONV_2D"), rules=RULES) == [
        "TFLM's PAD takes the integer 0 in int16, which is not zero here"]


def test_an_input_without_rows_has_a_known_size() -> None:
    b = Build()
    y = conv(b, pad(b, b.input((1, 0, 7, 2)), (2, 2), (1, 1)), "CONV_2D")
    assert refused(b, y, rules=RULES) == [NOT_SAME]
