"""What is wrong with the stages of chains of other kinds than in test_refusals.py, named by a sentence."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tflfuse.chain import Chain, Convolution, Link
from tflfuse.chain_codec import NO_OFFSET, StageRecord, ValueRecord
from tflfuse.ir import Operator, Tensor
from tflfuse.packing import fused_operator

from ..build import Build
from .test_refusals import refused, with_header, with_record
from .twin import Geometry, Point, Twin

pytestmark = pytest.mark.usefixtures("library")

Make = Callable[[Twin], Point]
OUT_OF_RANGE = "a multiplier or shift is out of range"
IN_FRONT = ("pad_top", "pad_left", "pad_front")
OUTSIDE_PLANE = "a pooling window lies outside the plane"


def chain_of(make: Make) -> Chain:
    twin = Twin(np.random.default_rng(0))
    make(twin)
    return twin.pair().chain


def operator_of(chain: Chain, *shapes: Any) -> tuple[Build, Operator, Tensor]:
    """shapes: of the graph's inputs, where they are not those that the chain says."""
    b = Build()
    inputs = [b.input(s, np.int8, scale=0.5) for s in shapes or [(1, *v.plane) for v in chain.inputs]]
    y = b.tensor((1, *chain.output.plane), np.int8, scale=0.5)
    return b, fused_operator(chain, inputs, y), y


def pooled(twin: Twin) -> Point:
    return twin.pool(twin.input(5, 4, 3), "MAX_POOL_2D", (3, 3), (1, 1), "SAME")


def added(twin: Twin) -> Point:
    return twin.add(twin.input(2, 3, 4), twin.input(2, 3, 4))


def added_constant(twin: Twin) -> Point:
    return twin.add_constant(twin.input(2, 3, 4), twin.random_int8(4))


def multiplied(twin: Twin) -> Point:
    return twin.multiply(twin.input(2, 3, 4), twin.random_int8(4))


def averaged(twin: Twin) -> Point:
    return twin.mean(twin.input(2, 3, 4))


def surrounded(twin: Twin) -> Point:
    return twin.surround(twin.input(2, 3, 4), (1, 1, 1), (0, 0, 0))


def sliced(twin: Twin) -> Point:
    return twin.slice(twin.input(2, 3, 4), (1, 1, 1), (1, 2, 3))


def convolved(twin: Twin) -> Point:
    return twin.convolution(twin.input(5, 4, 3), Geometry(5, 4, 3, 3, (1, 1)))


def table_in_place(twin: Twin) -> Point:
    """Value 1 is what the table overwrites, 2 what it makes; the sum is stage 2."""
    x = twin.input(5, 4, 3)
    return twin.add(twin.requantize(twin.convolution(x, Geometry(5, 4, 3, 3, (1, 1)))), x)


@pytest.mark.parametrize("make, number, changes, message", [
    (pooled, 0, {"kernel_w": 0}, "a kernel, stride or dilation is 0"),
    (pooled, 0, {"kernel_h": 4}, "there are fewer row pointers than kernel rows"),
    (pooled, 0, {"kernel_w": 65535, "dilation_w": 65535}, "the windows reach too far"),
    (pooled, 0, {"kernel_w": 43691}, "a window is too large"),
    (pooled, 0, {"dilation_w": 2}, "a pooling is dilated"),
    (pooled, 0, {"pad_top": 3}, OUTSIDE_PLANE),
    (pooled, 0, {"pad_left": 3}, OUTSIDE_PLANE),
    (pooled, 0, {"stride_h": 2}, OUTSIDE_PLANE),
    (pooled, 0, {"stride_w": 2}, OUTSIDE_PLANE),
    *((added, 0, {name: wrong}, OUT_OF_RANGE) for name in ("multiplier", "input_multiplier", "other_multiplier")
      for wrong in (-1, -(1 << 31))),
    *((added, 0, {name: wrong}, OUT_OF_RANGE) for name in ("shift", "input_shift", "other_shift")
      for wrong in (-32, 31)),
    (added_constant, 0, {"bias": NO_OFFSET}, "an addend lies outside the constants"),
    (added_constant, 0, {"bias": 4}, "an addend lies outside the constants"),
    (multiplied, 0, {"multiplier": -1}, OUT_OF_RANGE),
    (multiplied, 0, {"shift": 31}, OUT_OF_RANGE),
    (multiplied, 0, {"bias": NO_OFFSET}, "a factor lies outside the constants"),
    (multiplied, 0, {"bias": 4}, "a factor lies outside the constants"),
    (multiplied, 0, {"bias": 1}, "a factor lies outside the constants"),
    (averaged, 0, {"multiplier": -1}, OUT_OF_RANGE),
    (averaged, 0, {"shift": -32}, OUT_OF_RANGE),
    (averaged, 0, {"scratch": 0}, "sums lie outside the scratch memory"),
    (averaged, 0, {"scratch": NO_OFFSET}, "sums lie outside the scratch memory"),
    *((surrounded, 0, {name: 2}, "a padding is larger than its output") for name in IN_FRONT),
    *((sliced, 0, {name: 2}, "a slice reaches beyond its input") for name in IN_FRONT),
    (table_in_place, 1, {"weights": NO_OFFSET}, "a table lies outside the constants"),
    (table_in_place, 2, {"other": 1}, "a table in place overwrites what others read"),
])
def test_a_wrong_stage_is_named(make: Make, number: int, changes: dict[str, int], message: str,
                                capfd: pytest.CaptureFixture[str]) -> None:
    b, operator, y = operator_of(chain_of(make))
    assert refused(b, with_record(operator, StageRecord, number, **changes), y, capfd) == message


@pytest.mark.parametrize("make, number, changes, message", [
    (added, 1, {"height": 3, "width": 2}, "the operands of an addition differ in shape"),
    (table_in_place, 2, {"ring_rows": 2}, "a table in place has two different rings"),
    (table_in_place, 2, {"pad_left": 1}, "a table in place has two different rings"),
])
def test_a_wrong_value_is_named(make: Make, number: int, changes: dict[str, int], message: str,
                                capfd: pytest.CaptureFixture[str]) -> None:
    b, operator, y = operator_of(chain_of(make))
    roomy = with_header(operator, scratch_bytes=1000)  # the wrong rings lie in it
    assert refused(b, with_record(roomy, ValueRecord, number, **changes), y, capfd) == message


@pytest.mark.parametrize("changes", [{"multipliers": np.full(3, -1, "<i4")}, {"shifts": np.full(3, 31, np.int8)},
                                     {"shifts": np.full(3, -32, np.int8)}])
def test_a_wrong_multiplier_among_the_constants_is_named(changes: dict[str, Any],
                                                         capfd: pytest.CaptureFixture[str]) -> None:
    chain = chain_of(convolved)
    stage = chain.links[0].stage
    assert isinstance(stage, Convolution)
    b, operator, y = operator_of(Chain(chain.inputs, (Link(replace(stage, **changes), (0,)),)))
    assert refused(b, operator, y, capfd) == OUT_OF_RANGE


@pytest.mark.parametrize("changes", [
    {"multipliers": np.full(3, (1 << 30) - 1, "<i4")}, {"shifts": np.zeros(3, np.int8)},
    {"bias": np.full(3, (1 << 30) + (1 << 24), "<i4"), "multipliers": np.full(3, 1 << 30, "<i4"),
     "shifts": np.full(3, -24, np.int8)}])
def test_a_stage_that_only_says_that_it_is_plain_is_named(changes: dict[str, Any],
                                                          capfd: pytest.CaptureFixture[str]) -> None:
    chain = chain_of(convolved)
    stage = chain.links[0].stage
    assert isinstance(stage, Convolution)
    b, operator, y = operator_of(Chain(chain.inputs, (Link(replace(stage, **changes), (0,)),)))
    wrong = with_record(operator, StageRecord, 0, plain=1)
    assert refused(b, wrong, y, capfd) == "a bias, multiplier or shift is not plain"


def test_a_mean_over_too_many_pixels_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """2^23 of them at most: more could overflow a sum."""
    chain = chain_of(lambda twin: twin.mean(twin.input(4096, 2048, 1)))
    b, operator, y = operator_of(chain, (1, 4097, 2048, 1))
    assert refused(b, with_record(operator, ValueRecord, 0, height=4097), y, capfd) == "a mean is over too many pixels"
