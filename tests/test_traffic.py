"""SRAM bytes read and written, against counts by hand."""
from __future__ import annotations

import numpy as np

from tests.build import Build, random_int8
from tests.converted import DATA
from tflfuse import flatbuffer
from tflfuse.ir import Tensor
from tflfuse.pipeline import fuse, lower
from tflfuse.traffic import Flow, flow_of, flow_of_model

RNG = np.random.default_rng(11)
PLANE, WIDE, SMALL = 12 * 12 * 4, 12 * 12 * 32, 12 * 12 * 8


def one_by_one(b: Build, x: Tensor, channels: int, zero_point: int = 0) -> Tensor:
    w = b.constant(random_int8(RNG, (channels, 1, 1, x.shape[3])), scale=[0.01] * channels)
    return b.conv(x, w, scale=0.1, zero_point=zero_point)


def narrow_wide_narrow() -> tuple[Build, Tensor]:
    """4 -> 32 -> 8 channels on a plane of 12 x 12."""
    b = Build()
    x = b.input((1, 12, 12, 4), scale=0.5, zero_point=-3)
    return b, one_by_one(b, one_by_one(b, x, 32), 8)


def test_each_operand_is_read_once_and_each_output_written_once() -> None:
    b, _ = narrow_wide_narrow()
    assert flow_of(b.operators) == Flow(read=PLANE + WIDE, written=WIDE + SMALL)


def test_an_operand_that_is_read_twice_counts_twice() -> None:
    b = Build()
    x = b.input((1, 5, 5, 4), scale=0.5)
    b.op("ADD", [x, x], x.shape, scale=0.5)
    assert flow_of(b.operators) == Flow(read=200, written=100)


def test_numbers_count_by_their_size() -> None:
    b = Build()
    x = b.input((3, 5))
    b.op("QUANTIZE", [x], x.shape, np.int8, scale=0.5)
    assert flow_of(b.operators) == Flow(read=60, written=15)


def test_what_passes_from_stage_to_stage_goes_through_rings() -> None:
    b, y = narrow_wide_narrow()
    traffic = fuse(b.bytes(y)).report.traffic
    assert traffic is not None
    assert traffic.before == Flow(read=PLANE + WIDE, written=WIDE + SMALL)
    assert traffic.after == Flow(read=PLANE, written=SMALL, ring_read=WIDE, ring_written=WIDE)
    (group,) = traffic.groups
    assert (group.operators, group.before, group.after) == (2, traffic.before, traffic.after)
    assert traffic.after.total == traffic.before.total == PLANE + 2 * WIDE + SMALL


def test_an_outside_tensor_that_wants_columns_beside_it_is_copied_into_a_ring() -> None:
    b = Build()
    x = b.input((1, 6, 6, 4), scale=0.5)
    w = b.constant(random_int8(RNG, (8, 3, 3, 4)), scale=[0.01] * 8)
    traffic = fuse(b.bytes(b.conv(x, w, scale=0.1))).report.traffic
    assert traffic is not None
    assert traffic.after == Flow(read=144, written=288, ring_read=144, ring_written=144)


def test_a_residual_is_read_by_each_of_its_stages() -> None:
    b = Build()
    x = b.input((1, 12, 12, 4), scale=0.1)
    y = one_by_one(b, one_by_one(b, x, 32), 4)
    traffic = fuse(b.bytes(b.op("ADD", [y, x], x.shape, scale=0.1))).report.traffic
    assert traffic is not None and len(traffic.groups) == 1
    assert traffic.after == Flow(read=2 * PLANE, written=PLANE, ring_read=WIDE + PLANE, ring_written=WIDE + PLANE)


def test_a_fused_file_says_what_it_moves_and_not_what_it_moved() -> None:
    b, y = narrow_wide_narrow()
    first = fuse(b.bytes(y))
    again = fuse(first.model).report.traffic
    assert first.report.traffic is not None and again is not None
    assert again.before == again.after == first.report.traffic.after
    assert [(g.operators, g.before) for g in again.groups] == [(None, None)]


def test_lowering_moves_what_the_original_moved() -> None:
    b, y = narrow_wide_narrow()
    fused = fuse(b.bytes(y))
    lowered = lower(fused.model).report.traffic
    assert fused.report.traffic is not None and lowered is not None
    assert (lowered.before, lowered.after) == (fused.report.traffic.after, fused.report.traffic.before)


def test_without_the_sizes_of_tensors_nothing_is_said() -> None:
    b = Build()
    x = b.input((1, 4), scale=0.1)
    x.shape = (-1, 4)
    model = b.model(b.op("RELU", [x], (1, 4), scale=0.1))
    assert flow_of_model(model) is None
    report = fuse(flatbuffer.write(model), keep_dynamic=True).report
    assert report.traffic is None and report.as_dict()["traffic"] is None


def test_the_report_has_it_for_json() -> None:
    said = fuse((DATA / "bn_after_add.tflite").read_bytes()).report.as_dict()["traffic"]
    assert said["before"]["total"] == said["before"]["read"] + said["before"]["written"]
    assert said["after"]["tensors"] < said["before"]["tensors"]
    assert sum(g["after"]["total"] for g in said["groups"]) <= said["after"]["total"]
