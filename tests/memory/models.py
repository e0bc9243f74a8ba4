"""Small models of fused operators."""
from __future__ import annotations

import numpy as np

from tflfuse.ir import Model, Operator, Tensor
from tflfuse.packing import fused_operator
from tflfuse.stages import run_of

from ..build import Build, random_int8
from ..fused import model_of


def fused(b: Build, x: Tensor, channels: int = 8) -> Operator:
    """A padded 3x3 convolution of x as an operator of its own, in place of the builtin one."""
    w = b.constant(random_int8(np.random.default_rng(channels), (channels, 3, 3, x.shape[3])), scale=0.01)
    b.conv(x, w, scale=0.1)
    run = run_of([b.operators.pop()])
    return fused_operator(run.chain, run.inputs, run.output)


def early_output(wanted: bool = True) -> Model:
    """x -> y -> z, ADD(x, z); y is an output too where it is wanted."""
    b = Build()
    x = b.input((1, 8, 8, 8), scale=0.1)
    first = fused(b, x)
    second = fused(b, first.outputs[0])
    third = b.add("ADD", [x, second.outputs[0]], [b.tensor(x.shape, scale=0.1)])
    outputs = [first.outputs[0], third.outputs[0]] if wanted else [third.outputs[0]]
    return model_of([first, second, third], [x], outputs)


def later_reader() -> Model:
    """x -> y; ADD(x, y): x is read once more."""
    b = Build()
    x = b.input((1, 8, 8, 8), scale=0.1)
    first = fused(b, x)
    last = b.add("ADD", [x, first.outputs[0]], [b.tensor(x.shape, scale=0.1)])
    return model_of([first, last], [x], last.outputs)
