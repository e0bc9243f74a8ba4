"""One stage twice: as TFLM's own operators and as a chain, both run in the interpreter of the wheel."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflfuse import flatbuffer
from tflfuse.chain import Chain
from tflfuse.ir import Array, Operator, Tensor
from tflfuse.packing import fused_operator

from ..build import Build, random_int8

REGISTERER = "TflfuseRegister"
ARENA = 4 << 20


@dataclass
class Pair:
    """builder and y: the model of builtin operators. chain: the same, for the same graph inputs."""

    builder: Build
    y: Tensor
    chain: Chain

    def outputs(self, inputs: Sequence[Array]) -> tuple[Array, Array]:
        return run(self.builtin, inputs), run(self.fused, inputs)

    @property
    def builtin(self) -> bytes:
        return self.builder.bytes(self.y)

    @property
    def fused(self) -> bytes:
        return chain_model(self.chain, self.builder.inputs, self.y)

    def check(self, rng: np.random.Generator) -> None:
        """Equal bits for random inputs and extreme ones."""
        builtin, fused = load(self.builtin), load(self.fused)
        for inputs in inputs_for([t.shape for t in self.builder.inputs], rng):
            expected, got = invoked(builtin, inputs), invoked(fused, inputs)
            assert np.array_equal(got, expected), f"{[link.stage for link in self.chain.links]} on {self.chain.inputs}"


def inputs_for(shapes: Sequence[Any], rng: np.random.Generator) -> list[list[Array]]:
    """Random ones, the ends of int8 everywhere, and both ends at random."""
    return [[random_int8(rng, s) for s in shapes], [np.full(s, -128, np.int8) for s in shapes],
            [np.full(s, 127, np.int8) for s in shapes], [rng.choice([-128, 127], s).astype(np.int8) for s in shapes]]


def chain_model(chain: Chain, inputs: Sequence[Tensor], output: Tensor) -> bytes:
    """A model of one chain operator, whose graph inputs and output have the shapes of the tensors given."""
    b = Build()
    like = [b.input(t.shape, np.int8, scale=v.scale, zero_point=v.zero_point)
            for t, v in zip(inputs, chain.inputs, strict=True)]
    y = b.tensor(output.shape, np.int8, scale=chain.output.scale, zero_point=chain.output.zero_point)
    return model_of(b, fused_operator(chain, like, y), y)


def model_of(b: Build, operator: Operator, y: Tensor) -> bytes:
    constants = operator.inputs[-1]
    assert constants is not None
    b.tensors.append(constants)
    b.operators.append(operator)
    b.codes[operator.name, 1] = operator.code
    return flatbuffer.write(b.model(y))


def load(model: bytes) -> Any:
    from tflite_micro import runtime
    return runtime.Interpreter.from_bytes(model, custom_op_registerers=[REGISTERER], arena_size=ARENA)


def invoked(interpreter: Any, inputs: Sequence[Array]) -> Array:
    for i, x in enumerate(inputs):
        interpreter.set_input(x, i)
    interpreter.invoke()
    return np.array(interpreter.get_output(0))


def run(model: bytes, inputs: Sequence[Array]) -> Array:
    return invoked(load(model), inputs)
