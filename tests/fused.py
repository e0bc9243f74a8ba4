"""Models with runs of operators fused into one, run in the interpreter next to the originals."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.build import Build
from tests.kernels.pair import invoked, load
from tflfuse import flatbuffer
from tflfuse.ir import Array, Buffer, Model, Operator, OperatorCode, Subgraph, Tensor
from tflfuse.packing import fused_operator
from tflfuse.stages import Run, run_of


def model_of(operators: Sequence[Operator], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Model:
    """A model of these operators, with copies of their tensors' list in order."""
    tensors = list(dict.fromkeys([*inputs, *(t for o in operators for t in [*o.inputs, *o.outputs] if t is not None)]))
    codes: list[OperatorCode] = list(dict.fromkeys(o.code for o in operators))
    empty = next((t.buffer for t in tensors if len(t.buffer) == 0), Buffer())
    buffers = list(dict.fromkeys([empty, *(t.buffer for t in tensors)]))
    return Model([Subgraph(tensors, list(inputs), list(outputs), list(operators), b"main")], codes, buffers)


def fused_model(run: Run, inputs: Sequence[Tensor]) -> Model:
    """The model of the run's custom operator alone; inputs: the graph's."""
    return model_of([fused_operator(run.chain, run.inputs, run.output)], inputs, [run.output])


def all_inputs(b: Build, rng: np.random.Generator, count: int = 2) -> list[list[Array]]:
    """Random ones, the ends of int8 and the zero points."""
    shapes = [t.shape for t in b.inputs]
    return ([[rng.integers(-128, 128, s).astype(np.int8) for s in shapes] for _ in range(count)]
            + [[np.full(s, end, np.int8) for s in shapes] for end in (-128, 127)]
            + [[np.full(t.shape, t.zero_point, np.int8) for t in b.inputs]])


def check(b: Build, y: Tensor, rng: np.random.Generator) -> Run:
    """The builder's operators as one chain give equal bits; returns the run."""
    run = run_of(b.operators)
    original, fused = load(b.bytes(y)), load(flatbuffer.write(fused_model(run, b.inputs)))
    for inputs in all_inputs(b, rng):
        np.testing.assert_array_equal(invoked(fused, inputs), invoked(original, inputs))
    return run
