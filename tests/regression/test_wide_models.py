"""Models of unusual width: what they may cost."""
from __future__ import annotations

import numpy as np

from tests.build import Build, names, random_int8
from tflfuse import flatbuffer
from tflfuse.pipeline import fuse
from tflfuse.placement import MOST_WORK, Block, Problem, place


def test_more_channels_than_an_error_is_estimated_for_are_left_alone() -> None:
    rng = np.random.default_rng(1)
    b = Build()
    x = b.input((1, 2), scale=0.1)
    y = b.dense(x, b.constant(random_int8(rng, (9000, 2)), scale=0.01), scale=0.1)
    y = b.op("MUL", [y, b.constant(random_int8(rng, (9000,)), scale=0.01)], y.shape, scale=0.1)
    result = fuse(b.bytes(y), custom_ops=False)
    assert names(flatbuffer.read(result.model)) == ["FULLY_CONNECTED", "MUL"]
    assert "the rounding of more than 8,192 output channels is not estimated" in {
        r.reason for r in result.report.plan.refusals}


def test_the_work_of_placing_many_blocks_is_bounded() -> None:
    """The last order that is tried may go beyond by its own pairs."""
    blocks = [Block(16 * (1 + k * k % 31), k * 7 % 53, k * 7 % 53 + k % 40) for k in range(600)]
    problem = Problem(blocks, {})
    offsets = place(problem)
    assert problem.price(offsets)[0] > problem.bound(), "the search went on to its end"
    assert MOST_WORK <= problem.work <= MOST_WORK + 2 * 600 ** 2
