"""Windows over a plane as TFLM computes them: output size and padding (kernels/padding.h)."""
from __future__ import annotations

from dataclasses import dataclass

from tflite import Padding

from .chain import Window
from .ir import Operator
from .pattern import require
from .planes import Plane


@dataclass(frozen=True)
class Pads:
    """Rows and columns of zero points that a PAD puts around a plane."""

    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0


def out_size(padding: int, size: int, span: int, stride: int) -> int:
    """Windows in a row of `size`; a window takes `span`."""
    return -(-size // stride) if padding == Padding.SAME else (size + stride - span) // stride


def pad_before(size: int, span: int, stride: int, count: int) -> int:
    """What TFLM puts in front: half of what the windows want beyond `size`, rounded down."""
    return max((count - 1) * stride + span - size, 0) // 2


def window_of(operator: Operator, kernel: tuple[int, int], plane: Plane, pads: Pads) -> tuple[Window, int, int]:
    """The operator's window on the plane inside of the pads, and the output's height and width."""
    require(operator.options is not None, "the operator has no options", at=operator)
    stride_h, stride_w = (int(operator.option(n)) for n in ("stride_h", "stride_w"))
    dilation_h, dilation_w = (int(operator.option(n, 1)) for n in ("dilation_h_factor", "dilation_w_factor"))
    require(min(stride_h, stride_w, dilation_h, dilation_w, *kernel) > 0, "its strides or dilations are not positive",
            at=operator)
    padding = int(operator.option("padding"))
    height, width = plane[0] + pads.top + pads.bottom, plane[1] + pads.left + pads.right
    span_h, span_w = (kernel[0] - 1) * dilation_h + 1, (kernel[1] - 1) * dilation_w + 1
    out_h, out_w = out_size(padding, height, span_h, stride_h), out_size(padding, width, span_w, stride_w)
    require(min(out_h, out_w) > 0, "its window is larger than its input", at=operator)
    window = Window(*kernel, stride_h, stride_w, dilation_h, dilation_w,
                    pads.top + pad_before(height, span_h, stride_h, out_h),
                    pads.left + pad_before(width, span_w, stride_w, out_w))
    return window, out_h, out_w
