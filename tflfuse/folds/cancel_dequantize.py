"""DEQUANTIZE(QUANTIZE(x)) -> x, where x provably stays inside the range in between.

The pair rounds and clips. Without the rounding the value is nearer to the real-valued function. The clipping may be
what somebody trained for, so the pair goes only where it clips nothing: where what computes x bounds it to the range
by its activation or by its nature, to half a step, which is within the rounding. A value that comes from integers in
the first place is the other rule's: cancel_quantize takes QUANTIZE(DEQUANTIZE(q)) away exactly.
"""
from __future__ import annotations

from tflite import TensorType

from ..clamps import OF_OPERATOR, Clamp, limits, of_activation
from ..ir import Operator
from ..pattern import Match, Replacement, alias, fold, op, require, var
from ..producers import CLAMPING

BOUNDED = {"LOGISTIC": Clamp(0, 1), "SOFTMAX": Clamp(0, 1), "TANH": Clamp(-1, 1), **OF_OPERATOR}
PRODUCERS = (CLAMPING | op.LOGISTIC | op.SOFTMAX | op.TANH | op.RELU | op.RELU6 | op.RELU_N1_TO_1 | op.RELU_0_TO_1)


@fold(op.DEQUANTIZE(op.QUANTIZE(PRODUCERS(..., name="producer"), name="quantize")),
      op.DEQUANTIZE(op.QUANTIZE(var("x"), name="quantize")), shared=True)
def cancel_dequantize(m: Match) -> Replacement:
    """Go on with a real number instead of rounding it to an integer and back."""
    x, q, out = m.quantize.inputs[0], m.quantize.outputs[0], m.root.outputs[0]
    require(x.type == out.type == TensorType.FLOAT32, "the QUANTIZE starts from integers", at=m.quantize)
    least, most = limits(q)
    require("producer" in m.names, "nothing shows that the QUANTIZE clips nothing, and clipping may be meant",
            at=m.quantize)
    clamp = bounds(m.producer)
    low, high = ((end - q.zero_point) * q.scale for end in (least, most))
    slack = q.scale / 2
    require(clamp.low >= low - slack and clamp.high <= high + slack,
            f"the QUANTIZE clips to [{low:g}, {high:g}], which may be meant", at=m.quantize)
    return alias(x, exact=False)


def bounds(producer: Operator) -> Clamp:
    """Where the operator's float32 results lie."""
    return BOUNDED[producer.name] if producer.name in BOUNDED else of_activation(producer)
