"""What holds for the memory plan of every model."""
from __future__ import annotations

import numpy as np

from tflfuse import flatbuffer, memory
from tflfuse.pipeline import fuse
from tflfuse.tflm import Interpreter

from .graphs import random_graph

RUNS = 2


def check_graph(seed: int) -> None:
    """The plan of a random graph: no larger than TFLM's own, the least that is possible, and the head that it says.
    Fused or not: the arena is no larger than it was, and the outputs are the same.
    """
    model = flatbuffer.write(random_graph(seed))
    original = Interpreter(model)
    planned = memory.plan(flatbuffer.read(model))
    assert planned.head == planned.bound <= planned.greedy == original.arena.head
    for custom_ops in (False, True):
        result = fuse(model, custom_ops=custom_ops, exact=True)
        check_result(model, original, result.model, seed)
        again = fuse(result.model, custom_ops=custom_ops, exact=True)
        assert again.model == result.model, "a second run changes something"


def check_result(model: bytes, original: Interpreter, fused: bytes, seed: int) -> None:
    after = Interpreter(fused)
    assert after.arena.head == memory.of_file(flatbuffer.read(fused)).head
    assert after.arena.total <= original.arena.total
    rng = np.random.default_rng([seed, 3])
    shapes = [t.shape for t in flatbuffer.read(model).subgraphs[0].inputs]
    for _ in range(RUNS):
        inputs = [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
        for expected, got in zip(original.run(inputs), after.run(inputs), strict=True):
            np.testing.assert_array_equal(got, expected)
