"""A model through the whole tool: what comes out is stable, and gives what it gave in the interpreter."""
from __future__ import annotations

from typing import Any

import numpy as np

from tflfuse import flatbuffer, fuse
from tflfuse.ir import Array, Model, Tensor
from tflfuse.part import part_error
from tflfuse.report import Report

from ..build import Build, random_int8
from ..folds.checks import outputs, runner, same_bits

SCALE, ZERO = 0.05, 3
FLOAT_TOLERANCE = 1e-5
"""For sums of some dozens of products near 1, each operand rounded to 2**-24 once more."""


def rewritten(data: bytes, **options: Any) -> tuple[bytes, Report]:
    """The tool's result, which the tool itself leaves as it is."""
    result = fuse(data, **options)
    assert fuse(result.model, **options).model == result.model
    return result.model, result.report


def folded(data: bytes, **options: Any) -> tuple[Model, bytes]:
    """With builtin operators only."""
    after, _ = rewritten(data, custom_ops=False, **options)
    return flatbuffer.read(after), after


def exactly(data: bytes, custom_ops: bool = False) -> Model:
    """The result gives the same bits."""
    after, report = rewritten(data, custom_ops=custom_ops)
    assert report.plan.exact
    same_bits(data, after)
    return flatbuffer.read(after)


def roughly(data: bytes) -> Model:
    """The result is as good: float to FLOAT_TOLERANCE, integers no further from the real-valued function."""
    model, after = folded(data)
    assert data != after
    if model.subgraphs[0].inputs[0].dtype.kind == "f":
        for old, new in zip(outputs(data), outputs(after), strict=True):
            np.testing.assert_allclose(new, old, rtol=FLOAT_TOLERANCE, atol=FLOAT_TOLERANCE)
    else:
        error = part_error(data, after, None, runner())
        assert error is not None and error.counted >= 1000 and error.accepted, error
    return model


def image(b: Build, shape: Any = (1, 6, 6, 4), int8: bool = True) -> Tensor:
    return b.input(shape, scale=SCALE, zero_point=ZERO) if int8 else b.input(shape)


def conv(b: Build, x: Tensor, channels: int = 4, size: int = 3, bias: bool = True, **more: Any) -> Tensor:
    """A CONV_2D or DEPTHWISE_CONV_2D in the numbers of x, whose sums fill about the range of the input."""
    rng = np.random.default_rng(len(b.tensors))
    depthwise = more.get("kind") == "DEPTHWISE_CONV_2D"
    shape = (1, size, size, channels) if depthwise else (channels, size, size, x.shape[3])
    terms = size * size * (1 if depthwise else x.shape[3])
    if x.quantization is None:
        w: Array = rng.normal(0, terms ** -0.5, shape).astype(np.float32)
        return b.conv(x, b.constant(w), b.constant(rng.normal(0, 1, channels).astype(np.float32)) if bias else None,
                      **more)
    scales = (rng.uniform(0.7, 1.0, channels) / 73 / terms ** 0.5).astype(np.float32)
    whole = rng.integers(-3000, 3000, channels).astype(np.int32)
    more = {"scale": SCALE, "zero_point": ZERO, **more}
    return b.conv(x, b.constant(random_int8(rng, shape), scales, axis=3 if depthwise else 0),
                  b.constant(whole, np.float32(x.scale) * scales) if bias else None, **more)


def like(b: Build, name: str, inputs: list[Tensor], x: Tensor, **more: Any) -> Tensor:
    """An operator whose result has the shape and quantization of x."""
    quantized = {} if x.quantization is None else {"scale": x.scale, "zero_point": x.zero_point}
    return b.op(name, inputs, x.shape, **{**quantized, **more})
