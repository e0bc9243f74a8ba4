"""Models with runs of operators fused into one, run in the interpreter next to the originals."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.build import Build
from tests.kernels.pair import invoked, load
from tflfuse import flatbuffer
from tflfuse.ir import Array, Buffer, Model, Operator, OperatorCode, Subgraph, Tensor
from tflfuse.lowering import lower
from tflfuse.packing import fused_operator, pack
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
    """The builder's operators as one chain give equal bits, lowered again too; returns the run."""
    run = run_of(b.operators)
    model = fused_model(run, b.inputs)
    original, fused = load(b.bytes(y)), load(flatbuffer.write(model))
    lower(model)
    lowered = load(flatbuffer.write(model))
    for inputs in all_inputs(b, rng):
        expected = invoked(original, inputs)
        np.testing.assert_array_equal(invoked(fused, inputs), expected, "fused")
        np.testing.assert_array_equal(invoked(lowered, inputs), expected, "lowered")
    again = run_of(model.subgraphs[0].operators)
    assert pack(again.chain)[0] == pack(run.chain)[0]
    assert np.array_equal(pack(again.chain)[1], pack(run.chain)[1])
    return run
