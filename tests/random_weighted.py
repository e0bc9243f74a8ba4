"""The operators with weights, among the steps by which random models grow."""
from __future__ import annotations

import numpy as np
from tflite import TensorType

from tflfuse.ir import Array, Quantization, Tensor

from .build import PADDING
from .random_models import FLOAT, INT8, INT16, Grown, Weights

LARGEST = 600


def filter_of(g: Grown, kind: str, x: Tensor, shape: tuple[int, ...], axis: int, gain: float) -> Tensor:
    """Weights that make the sums about gain times as large as x; sometimes those of another operator."""
    old = [w.tensor for w in g.weights if w.kind == kind and w.dtype == x.dtype and w.tensor.shape == shape]
    if old and g.chance(0.5):
        return old[-1] if x.dtype == FLOAT or g.chance(0.7) else on_its_buffer(g, old[-1])
    channels, window = shape[axis], int(np.prod(shape)) // shape[axis]
    if x.dtype == FLOAT and g.chance(0.06):
        stored = g.b.constant(integers(g, shape, axis), gain / window ** 0.5 / 73)
        return g.b.op("DEQUANTIZE", [stored], shape, np.float32)
    if x.dtype == FLOAT:
        real = g.rng.normal(0, gain / window ** 0.5, shape)
        w = g.b.constant(real.astype(np.float32))
    else:
        w = g.b.constant(integers(g, shape, axis), *scales(g, kind, channels, gain / window ** 0.5 / 73), axis=axis)
    g.weights.append(Weights(kind, x.dtype, w))
    return w


def on_its_buffer(g: Grown, old: Tensor) -> Tensor:
    """The same integers with other scales."""
    q = old.quantization
    assert q is not None and q.scale is not None
    scales = q.scale * np.float32(g.near())
    new = old.like(name=b"other", quantization=Quantization.of(scales, 0, q.quantized_dimension))
    g.b.tensors.append(new)
    return new


def integers(g: Grown, shape: tuple[int, ...], axis: int) -> Array:
    least, most = g.pick((-127, 127), (-127, 127), (-128, 127), (-3, 3))
    values: Array = g.rng.integers(least, most, shape, endpoint=True).astype(np.int8)
    if g.chance(0.05):
        np.moveaxis(values, axis, 0)[g.whole(0, shape[axis] - 1)] = 0
    return values


def scales(g: Grown, kind: str, channels: int, scale: float) -> tuple[object, int]:
    """One for each channel, or one for all, and the zero point."""
    if g.chance(0.2 if kind == "TRANSPOSE_CONV" else 0.6 if kind == "FULLY_CONNECTED" else 0.35):
        return scale, 0
    each = scale * 10 ** g.rng.uniform(-0.5, 0.5, channels)
    if g.chance(0.06):
        each[g.whole(0, channels - 1)] = g.pick(1e-9, 1e-7, scale * 1e-3)
    return each, 0


def bias_of(g: Grown, kind: str, x: Tensor, w: Tensor, channels: int, spread: float) -> tuple[Tensor | None, bool]:
    """A bias of a quarter of the sums' size with the scale it should have, another one or none; is it int32?"""
    narrow = x.dtype == INT8 or kind in ("CONV_2D", "FULLY_CONNECTED") and g.chance(0.4)
    if g.chance(0.25):
        return None, narrow
    real = g.rng.normal(0, spread / 2, channels)
    if g.chance(0.08):
        real *= 100
    if x.dtype == FLOAT:
        return g.constant(x, (channels,), spread / 2), narrow
    q = w.quantization
    assert q is not None and q.scale is not None
    unit = x.scale * q.scale.astype(np.float64)
    most = 2.0 ** (30 if narrow else 40)
    whole = np.clip(np.rint(real / unit), -most, most).astype(np.int32 if narrow else np.int64)
    how = g.rng.random()
    if how < 0.1:
        return g.b.constant(whole), narrow
    if how < 0.2 and (kind != "FULLY_CONNECTED" or how < 0.12):
        return g.b.constant(whole, float(unit[0] * g.near())), narrow
    return g.b.constant(whole, unit.astype(np.float32), 0, axis=0), narrow


def window(g: Grown, x: Tensor, padding: str) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None:
    """Kernel, stride and dilation, h and w of each, that leave something of the plane."""
    kernel = g.pick((1, 1), (3, 3), (2, 2), (g.whole(1, 3), g.whole(1, 3)))
    stride = g.pick((1, 1), (1, 1), (2, 2), (g.whole(1, 3), g.whole(1, 3)))
    dilation = g.pick((1, 1), (1, 1), (1, 1), (2, 2), (g.whole(1, 2), g.whole(1, 2)))
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    if padding == "VALID" and any(e > d for e, d in zip(extent, x.shape[1:3])):
        return None
    return kernel, stride, dilation


def on_plane(g: Grown, x: Tensor, kind: str, padding: str, channels: int = 0) -> bool:
    """CONV_2D or DEPTHWISE_CONV_2D."""
    shaped = window(g, x, padding) if len(x.shape) == 4 else None
    if shaped is None:
        return False
    kernel, stride, dilation = shaped
    c = x.shape[3]
    if kind == "CONV_2D":
        depth = c // 2 if c % 2 == 0 and g.chance(0.08) else c
        out = channels or g.pick(1, 2, 3, 4, 6)
        shape, axis = (out * (c // depth), *kernel, depth), 0
    else:
        shape, axis = (1, *kernel, c * g.pick(1, 1, 1, 2, 3)), 3
    if shape[axis] * x.shape[1] * x.shape[2] > LARGEST:
        return False
    gain = g.near()
    w = filter_of(g, kind, x, shape, axis, gain)
    spread = g.spread[x] * gain
    bias, narrow = bias_of(g, kind, x, w, shape[axis], spread)
    scale, zero = g.quantized(x.dtype, spread)
    more = {"quantized_bias_type": bias_type(bias, narrow)} if kind == "CONV_2D" and x.dtype == INT16 else {}
    y = g.b.conv(x, w, bias, scale, zero, padding, stride, dilation, kind, activation=g.activation(), **more)
    if bias is None and g.chance(0.35 if kind == "DEPTHWISE_CONV_2D" else 0.7):
        g.b.operators[-1].inputs.pop()
    g.put(y, spread)
    return True


def bias_type(bias: Tensor | None, narrow: bool) -> int:
    return int(TensorType.INT32 if narrow else TensorType.INT64) if bias is None else bias.type


def conv(g: Grown, x: Tensor) -> bool:
    return on_plane(g, x, "CONV_2D", g.pick("SAME", "VALID"))


def depthwise(g: Grown, x: Tensor) -> bool:
    return on_plane(g, x, "DEPTHWISE_CONV_2D", g.pick("SAME", "VALID"))


def padded_conv(g: Grown, x: Tensor) -> bool:
    """PAD or PADV2 with zeros before a VALID convolution, often as much as SAME would add at some stride."""
    if len(x.shape) != 4:
        return False
    total = g.rng.integers(0, 3, 2)
    before = total // 2 if g.chance(0.8) else g.rng.integers(0, 2, 2)
    amounts = np.array([[0, 0], [before[0], total[0]], [before[1], total[1]], [0, 0]], np.int32)
    amounts[1:3, 1] -= np.minimum(amounts[1:3, 0], amounts[1:3, 1])
    shape = tuple(int(d) for d in np.array(x.shape) + amounts.sum(1))
    inputs: list[Tensor | None] = [x, g.b.constant(amounts)]
    if g.chance(0.3):
        scale, zero = g.same(x)
        inputs.append(g.b.constant(np.full((1,), zero, x.dtype), scale, zero))
    if g.open and shape[0] != 1:
        return False
    padded = g.op("PADV2" if len(inputs) == 3 else "PAD", inputs, shape, x, None)
    on_plane(g, padded, g.pick("CONV_2D", "DEPTHWISE_CONV_2D"), "VALID")
    return True


def dense(g: Grown, x: Tensor) -> bool:
    """FULLY_CONNECTED of [batch, channels], or of a plane, pixel by pixel or flattened."""
    if not 2 <= len(x.shape) <= 4:
        return False
    keep = len(x.shape) > 2 and g.chance(0.5)
    taken = x.shape[-1] if keep or len(x.shape) == 2 else int(np.prod(x.shape[1:]))
    out = g.pick(1, 2, 3, 4, 6)
    if taken > 200:
        return False
    gain = g.near()
    w = filter_of(g, "FULLY_CONNECTED", x, (out, taken), 0, gain)
    spread = g.spread[x] * gain
    bias, narrow = bias_of(g, "FULLY_CONNECTED", x, w, out, spread)
    more = {"quantized_bias_type": bias_type(bias, narrow)} if x.dtype == INT16 else {}
    g.op("FULLY_CONNECTED", [x, w, bias], (*x.shape[:-1], out) if keep else (x.shape[0], out), x, spread,
         activation=g.activation(), keep_num_dims=keep, **more)
    return True


def transpose_conv(g: Grown, x: Tensor) -> bool:
    if len(x.shape) != 4:
        return False
    kernel, stride, padding = (g.whole(1, 3), g.whole(1, 3)), (g.whole(1, 2), g.whole(1, 2)), g.pick("SAME", "VALID")
    out = g.pick(1, 2, 3)
    plane = [d * s if padding == "SAME" else (d - 1) * s + max(k, s) for d, s, k in zip(x.shape[1:3], stride, kernel)]
    shape = (x.shape[0], *plane, out)
    if int(np.prod(shape)) > LARGEST:
        return False
    gain = g.near()
    w = filter_of(g, "TRANSPOSE_CONV", x, (out, *kernel, x.shape[3]), 0, gain)
    bias, _ = bias_of(g, "TRANSPOSE_CONV", x, w, out, g.spread[x] * gain)
    g.op("TRANSPOSE_CONV", [g.numbers(shape), w, x, bias][:3 + (bias is not None)], shape, x, g.spread[x] * gain,
         activation=g.activation(), padding=PADDING[padding], stride_h=stride[0], stride_w=stride[1])
    return True
