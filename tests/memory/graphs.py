"""Random int8 graphs whose tensors live long and short: branches, residuals, several outputs, reshapes."""
from __future__ import annotations

import numpy as np

from tflfuse.ir import Model, Tensor

from ..build import Build, random_int8

SCALE = 0.1


def random_graph(seed: int) -> Model:
    """4 to 16 operators; whatever nobody reads is an output, and now and then what somebody does."""
    rng = np.random.default_rng(seed)
    b = Build()
    height, width, channels = (int(n) for n in rng.integers(1, 9, 3))
    values = [b.input((1, height, width, channels), scale=SCALE)]
    if rng.random() < 0.2:
        values.append(b.input((1, height, width, channels), scale=SCALE))
    for _ in range(int(rng.integers(4, 17))):
        back = min(int(rng.geometric(0.5)), len(values))
        values.append(next_value(b, rng, values, values[-back]))
    read = {t for o in b.operators for t in o.inputs}
    outputs = [t for o in b.operators for t in o.outputs if t not in read or rng.random() < 0.05]
    return b.model(*outputs, signature=bool(rng.random() < 0.3))


def next_value(b: Build, rng: np.random.Generator, values: list[Tensor], x: Tensor) -> Tensor:
    kinds = ["reshape", "softmax", "relu"]
    if len(x.shape) == 4:
        kinds += ["conv", "conv", "pointwise", "depthwise", "depthwise", "pool", "mean"]
    partners = [v for v in values if v.shape == x.shape and v is not x]
    kind = str(rng.choice(kinds + ["add"] * (4 if partners else 0)))
    if kind == "reshape":
        flat = (1, x.size)
        shape = flat if x.shape != flat else (1, 1, x.size, 1)
        return b.op("RESHAPE", [x, b.constant(np.array(shape, np.int32))], shape, scale=SCALE)
    if kind == "softmax":
        return b.op("SOFTMAX", [x], x.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    if kind == "relu":
        return b.op("RELU", [x], x.shape, scale=SCALE, zero_point=-20)
    if kind == "add":
        return b.op("ADD", [x, partners[int(rng.integers(len(partners)))]], x.shape, scale=2 * SCALE)
    if kind == "pool":
        return b.pool("MAX_POOL_2D", x, 2, "SAME", x.scale, x.zero_point)
    if kind == "mean":
        axes = b.constant(np.array([1, 2], np.int32))
        return b.op("MEAN", [x, axes], (1, 1, 1, x.shape[3]), scale=SCALE, keep_dims=True)
    size = 1 if kind == "pointwise" else int(rng.integers(1, 4))
    out = x.shape[3] if kind == "depthwise" else int(rng.integers(1, 13))
    shape = (1, size, size, out) if kind == "depthwise" else (out, size, size, x.shape[3])
    w = b.constant(random_int8(rng, shape), scale=0.01)
    bias = b.constant(np.zeros(out, np.int32), scale=0.01 * SCALE)  # TFLM's depthwise kernel crashes without one
    stride = int(rng.integers(1, 3))
    return b.conv(x, w, bias, scale=SCALE, zero_point=int(rng.integers(-9, 9)), stride=(stride, stride),
                  kind="DEPTHWISE_CONV_2D" if kind == "depthwise" else "CONV_2D")
