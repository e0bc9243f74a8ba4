"""CONV(PAD(x)), VALID -> CONV(x), SAME, where SAME pads exactly that; or VALID, where no window reaches the border."""
from __future__ import annotations

import numpy as np
from tflite import Padding, TensorType

from ..ir import Array, Operator, Tensor
from ..pattern import Match, Replacement, const, fold, op, replace_by, require, var

PADDED = (op.PAD(var("x"), const("amounts"), name="pad"),
          op.PADV2(var("x"), const("amounts"), const("value"), name="pad"))
READERS = op.CONV_2D | op.DEPTHWISE_CONV_2D | op.MAX_POOL_2D | op.AVERAGE_POOL_2D


@fold(*(READERS(padded, ..., name="conv") for padded in PADDED))
def pad_into_conv(m: Match) -> Replacement:
    """Let a convolution pad its input itself."""
    pad: Operator = m.pad
    conv: Operator = m.conv
    x: Tensor = m.x
    padded = pad.outputs[0]
    require(conv.name != "MAX_POOL_2D", "a MAX_POOL_2D takes no zeros from its own border", at=conv)
    require(conv.name != "AVERAGE_POOL_2D", "an AVERAGE_POOL_2D does not count its own border", at=conv)
    require(conv.option("padding") == Padding.VALID, "the convolution pads already", at=conv)
    images = (x, padded, conv.outputs[0])
    require(all(len(t.shape) == 4 for t in images), "the value is not [batch, height, width, channels]", at=pad)
    require(m.amounts.size == 8, "the amounts of padding are not one pair for each dimension", at=pad)
    require(all(d >= 0 for d in (x.shape_signature or x.shape)[1:]), "the size of its input is not known", at=pad)
    check_value(m)
    check_weights(conv)
    amounts = np.reshape(m.amounts.integers(), (4, 2))
    require(bool((amounts >= 0).all()), "an amount of padding is negative", at=pad)
    require(not amounts[[0, 3]].any(), "it pads batches or channels", at=pad)
    padding = padding_for(conv, x, amounts)
    assert conv.options is not None
    options = conv.options.with_(padding=padding)
    return replace_by(conv.like(inputs=[x, *conv.inputs[1:]], options=options))


def padding_for(conv: Operator, x: Tensor, amounts: Array) -> int:
    """The Padding with which the convolution gives the same output and starts at the same place; refused if none."""
    require(conv.options is not None, "the convolution has no options", at=conv)
    axes = [axis(conv, x, amounts, number) for number in (1, 2)]
    if all(before == 0 and valid == out for before, out, valid, _, _ in axes):
        return int(Padding.VALID)
    require(all(before == own and same == out for before, out, _, same, own in axes),
            "SAME would pad other amounts for this size, kernel, stride and dilation", at=conv)
    return int(Padding.SAME)


def axis(conv: Operator, x: Tensor, amounts: Array, number: int) -> tuple[int, int, int, int, int]:
    """Along height (1) or width (2): zeros before and output size; output size if VALID, if SAME, zeros before if SAME.

    As ComputePaddingHeightWidth of tensorflow/lite/kernels/padding.h: SAME gives ceil(in / stride) outputs and pads
    max((out - 1) * stride + extent - in, 0) in all, half of it, rounded down, before. What lies behind the last window
    is never read: the zeros after need no check of their own.
    """
    letter = "hw"[number - 1]
    stride, dilation = int(conv.option(f"stride_{letter}", 1)), int(conv.option(f"dilation_{letter}_factor", 1))
    require(min(stride, dilation) > 0, "its strides or dilations are not positive", at=conv)
    weights = conv.input(1)
    assert weights is not None
    extent = (weights.shape[number] - 1) * dilation + 1
    size, before = x.shape[number], int(amounts[number, 0])
    out = conv.outputs[0].shape[number]
    same = -(-size // stride)
    total = max((same - 1) * stride + extent - size, 0)
    valid = (size - extent) // stride + 1 if size >= extent else 0
    return before, out, valid, same, total // 2


def check_value(m: Match) -> None:
    """Refuse unless what the PAD puts around its input is what the convolution takes its border for: zero."""
    x, padded = m.x, m.pad.outputs[0]
    require(x.type == padded.type and x.type in (TensorType.FLOAT32, TensorType.INT8, TensorType.INT16),
            "only float32, int8 and int16 are padded so", at=padded)
    zero = 0
    if x.type != TensorType.FLOAT32:
        require(x.is_quantized and padded.is_quantized and x.quantization.same_as(padded.quantization),
                "the PAD changes the scale", at=m.pad)
        zero = padded.zero_point
    if "value" in m.names:
        require(m.value.size == 1 and m.value.type == x.type and m.value.array().ravel()[0] == zero,
                "it pads with something other than zero", at=m.pad)
    elif x.type == TensorType.INT16:
        require(zero == 0, "TFLM's PAD takes the integer 0 in int16, which is not zero here", at=m.pad)


def check_weights(conv: Operator) -> None:
    """Refuse weights that make something of zeros: 0 * inf is NaN, where a border is skipped."""
    weights = conv.input(1)
    require(weights is not None and len(weights.shape) == 4, "the weights do not have four dimensions", at=conv)
    if weights is not None and weights.is_constant and weights.type == TensorType.FLOAT32:
        require(bool(np.isfinite(weights.array()).all()), "a weight is not finite", at=weights)
