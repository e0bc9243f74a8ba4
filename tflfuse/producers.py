"""Operators that can clamp their output, or write it in another quantization, at no cost."""
from __future__ import annotations

from math import inf

from tflite import ActivationFunctionType, TensorType

from .ir import Operator, OperatorCode, Tensor
from .pattern import op, require

CLAMPING = (op.CONV_2D | op.DEPTHWISE_CONV_2D | op.TRANSPOSE_CONV | op.FULLY_CONNECTED | op.ADD | op.SUB | op.MUL
            | op.DIV | op.AVERAGE_POOL_2D | op.MAX_POOL_2D)
"""Operators whose TFLM kernels honour a fused activation. CONCATENATION's does not: it refuses the model."""

RESCALING = op.CONV_2D | op.DEPTHWISE_CONV_2D | op.TRANSPOSE_CONV | op.FULLY_CONNECTED | op.ADD | op.SUB | op.MUL
"""Those that write any scale and zero point. A pool's kernel copies integers; a quantized DIV rounds by a table."""

TRANSPOSE_CONV_WITH_ACTIVATION = 4
"""The first version of TRANSPOSE_CONV that has a fused activation."""

BIAS_TOLERANCE = 0.02
"""FULLY_CONNECTED's kernel wants |s_in * s_w - s_bias| within this share of s_out."""

BELOW_ONE = 1 - 2 ** -20
"""Multipliers must stay below 1; SUB's kernel computes its own in float32, so not by less than that shows."""


def writing(producer: Operator, out: Tensor, activation: int) -> Operator:
    """The same operator with another output tensor and fused activation."""
    require(producer.options is not None, "the operator has no options to put an activation into", at=producer)
    assert producer.options is not None
    code = producer.code
    if (producer.name == "TRANSPOSE_CONV" and activation != ActivationFunctionType.NONE
            and code.version < TRANSPOSE_CONV_WITH_ACTIVATION):
        code = OperatorCode.of(producer.name, TRANSPOSE_CONV_WITH_ACTIVATION)
    options = producer.options.with_(fused_activation_function=activation)
    return producer.like(code=code, options=options, outputs=[out])


def check_rescales(producer: Operator, out: Tensor) -> None:
    """Refuse where the operator's TFLM kernel cannot write a value in the quantization of `out`."""
    require(producer.name in RESCALING.names, f"TFLM's {producer.name} cannot change the scale", at=producer)
    require(out.type != TensorType.INT16 or out.zero_point == 0, "TFLM wants zero point 0 in int16", at=out)
    for value in (producer.outputs[0], out):
        require(0 < value.scale < inf, "the scale is not a positive number", at=value)
    require(0 < multiplier(producer, out) < BELOW_ONE,
            "the output's scale is too small for the multiplier of the operator's kernel", at=producer)
    if producer.name == "FULLY_CONNECTED":
        require(bias_fits(producer, out), "the bias has a scale that FULLY_CONNECTED would no longer take", at=producer)


def multiplier(producer: Operator, out: Tensor) -> float:
    """The largest factor by which the kernel multiplies its sums to write `out`, as its Prepare computes it."""
    first, second = operand(producer, 0), operand(producer, 1)
    if producer.name in ("ADD", "SUB"):
        left_shift = 15 if out.type == TensorType.INT16 else 20
        return 2 * max(first.scale, second.scale) / ((1 << left_shift) * out.scale)
    if producer.name == "TRANSPOSE_CONV":
        first = operand(producer, 2)
    require(second.is_quantized, "the weights have no scale", at=second)
    weights = second.quantization.scale  # type: ignore[union-attr]
    return first.scale * float(weights.max()) / out.scale  # type: ignore[union-attr]


def bias_fits(dense: Operator, out: Tensor) -> bool:
    """FULLY_CONNECTED with one weight scale compares it with the bias's (GetQuantizedConvolutionMultipler)."""
    weights, bias = operand(dense, 1), dense.input(2)
    if bias is None or len(weights.quantization.scale) > 1:  # type: ignore[union-attr,arg-type]
        return True
    scale = bias.scale if bias.is_quantized else 0.0
    return abs(operand(dense, 0).scale * weights.scale - scale) / out.scale <= BIAS_TOLERANCE


def operand(operator: Operator, position: int) -> Tensor:
    """An operand that must be there."""
    value = operator.input(position)
    require(value is not None, f"operand {position} is missing", at=operator)
    assert value is not None
    return value
