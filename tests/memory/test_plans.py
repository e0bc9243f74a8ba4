"""Memory plans in files: written, kept, dropped, left out."""
from __future__ import annotations

import numpy as np
import pytest

from tests.build import Build, names, random_int8
from tests.memory.models import early_output
from tflfuse import flatbuffer, memory, memory_check
from tflfuse.ir import Model, Tensor
from tflfuse.memory_check import WrongPlan
from tflfuse.pipeline import fuse
from tflfuse.placement import Block, Problem, joint, place
from tflfuse.tflm import Interpreter


def bottleneck() -> Build:
    """Sizes 1, 4, 4, 1 and a residual: TFLM's planner puts the large ones first and wastes what lies between."""
    rng = np.random.default_rng(1)
    b = Build()
    x = b.input((1, 12, 12, 8), scale=0.1)
    wide = b.conv(x, b.constant(random_int8(rng, (32, 1, 1, 8)), scale=0.01), scale=0.1)
    deep = b.conv(wide, b.constant(random_int8(rng, (24, 3, 3, 32)), scale=0.01), scale=0.1)
    slim = b.conv(deep, b.constant(random_int8(rng, (8, 1, 1, 24)), scale=0.01), scale=0.1)
    b.op("SOFTMAX", [b.op("ADD", [slim, x], x.shape, scale=0.1)], x.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    return b


def model() -> bytes:
    b = bottleneck()
    return b.bytes(b.operators[-1].outputs[0])


def with_plan() -> bytes:
    """The same with a plan that somebody made: every tensor behind the one before."""
    b = bottleneck()
    made = b.model(b.operators[-1].outputs[0])
    made.memory_plan_version, end = 3, 0
    for tensor in made.subgraphs[0].tensors:
        if not tensor.is_constant:
            tensor.arena_offset, end = end, end + tensor.nbytes
    return flatbuffer.write(made)


def arena(data: bytes) -> int:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    return Interpreter(data).arena.head


def test_a_plan_is_written_where_it_gains() -> None:
    result = fuse(model())
    found = result.report.memory
    assert found is not None and found.written and found.plan.head < found.plan.greedy
    assert flatbuffer.read(result.model).memory_plan_version == 0
    assert arena(result.model) == found.plan.head
    assert fuse(result.model).model == result.model


def test_without_a_plan_there_is_none() -> None:
    result = fuse(model(), memory_plan=False)
    assert flatbuffer.read(result.model).memory_plan_version is None
    assert result.report.memory is not None and result.report.memory.plan.origin == "interpreter"
    assert arena(result.model) == result.report.memory.plan.head


def test_no_plan_is_written_where_tflm_does_as_well() -> None:
    b = Build()
    x = b.input((1, 8), scale=0.1)
    data = b.bytes(b.op("SOFTMAX", [x], x.shape, scale=1 / 256, zero_point=-128, beta=1.0))
    result = fuse(data)
    assert result.model == data and not result.report.changed


def test_someone_elses_plan_stays_while_the_graph_does() -> None:
    b = Build()
    x = b.input((1, 8), scale=0.1)
    made = b.model(b.op("SOFTMAX", [x], x.shape, scale=1 / 256, zero_point=-128, beta=1.0))
    made.memory_plan_version = 3
    for number, tensor in enumerate(made.subgraphs[0].tensors):
        tensor.arena_offset = 4096 * number
    data = flatbuffer.write(made)
    result = fuse(data)
    assert result.model == data and arena(data) == 4096 + 16
    assert "the file's OfflineMemoryAllocation is kept: the operators are as they were" in result.report.notes
    assert result.report.memory is not None and result.report.memory.as_dict()["plan"] == "the file's own, kept"


def test_someone_elses_plan_goes_where_the_graph_changes() -> None:
    result = fuse(with_plan())
    assert any("OfflineMemoryAllocation was dropped" in note for note in result.report.notes)
    assert flatbuffer.read(result.model).memory_plan_version == 0
    assert arena(result.model) == arena(fuse(model()).model) < arena(with_plan())


def test_a_plan_of_builtin_operators() -> None:
    """The large middle tensors overlap nothing; the plan reaches the liveness bound."""
    result = fuse(model(), custom_ops=False)
    found = result.report.memory
    assert found is not None and found.plan.head == found.plan.bound
    assert names(flatbuffer.read(result.model))[0] == "CONV_2D"


def test_a_reshape_shares_its_inputs_place() -> None:
    b = Build()
    x = b.input((1, 4, 4, 8), scale=0.1)
    y = b.op("LOGISTIC", [x], x.shape, scale=1 / 256, zero_point=-128)
    flat = b.op("RESHAPE", [y, b.constant(np.array([1, 128], np.int32))], (1, 128), scale=1 / 256, zero_point=-128)
    z = b.op("SOFTMAX", [flat], flat.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    planned = memory.plan(b.model(z, y))
    offsets = {p.tensor: p.offset for p in planned.places}
    assert offsets[y] == offsets[flat] and offsets[z] != offsets[y] and planned.head == 256


def test_numbers_are_quantized_in_place() -> None:
    """float32 to int8: the output begins where the input does. To a wider type it does not."""
    rng = np.random.default_rng(2)
    b = Build()
    x = b.input((1, 64))
    y = b.op("QUANTIZE", [x], x.shape, np.int8, scale=0.1)
    z = b.op("SOFTMAX", [y], y.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    out = b.op("DEQUANTIZE", [z], z.shape, np.float32)
    built = b.model(out)
    planned = memory.plan(built)
    memory_check.check(built, planned)
    assert (planned.head, planned.greedy) == (320, 384)
    before = flatbuffer.write(built)
    memory.write(built, planned)
    inputs = [rng.normal(0, 9, (1, 64)).astype(np.float32)]
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    expected, got = (Interpreter(data).run(inputs)[0] for data in (before, flatbuffer.write(built)))
    np.testing.assert_array_equal(got, expected)


def test_the_check_finds_a_wrong_plan() -> None:
    """Every tensor at 0: nothing of it may be written."""
    built = early_output()
    planned = memory.plan(built)
    memory_check.check(built, planned)
    crushed = tuple(p.__class__(0, p.size, p.first, p.last, p.tensor, p.operator) for p in planned.places)
    with pytest.raises(WrongPlan, match="overlap: "):
        memory_check.check(built, planned.__class__(crushed, *list(vars(planned).values())[1:]))


def test_a_joint_place_is_as_small_as_order_and_distance_allow() -> None:
    assert joint(64, [(64, 0)]) == 64
    assert joint(64, [(64, 16)]) == 80
    assert joint(32, [(64, 16)]) == 80
    assert joint(100, [(10, 90)]) == 100
    assert joint(64, [(32, 0), (32, 48)]) == 80
    assert joint(16, []) == 16


def test_a_placement_reaches_the_bound_over_distances() -> None:
    """Three in a row, each over the one before at a distance of 16."""
    blocks = [Block(64, 0, 1), Block(64, 1, 2), Block(64, 2, 3)]
    problem = Problem(blocks, {(0, 1): 16, (1, 2): 16})
    offsets = place(problem)
    assert problem.bound() == 80
    assert problem.price(offsets)[0] <= 96
    assert all(o % 16 == 0 and o >= 0 for o in offsets)


def test_a_tensor_that_a_branch_needs_is_not_overlapped() -> None:
    built: Model = early_output(wanted=False)
    x: Tensor = built.subgraphs[0].inputs[0]
    planned = memory.plan(built)
    place_of = {p.tensor: p for p in planned.places}
    for p in planned.places:
        if p.tensor is not x and p.first <= place_of[x].last:
            assert p.offset >= place_of[x].offset + place_of[x].size or p.offset + p.size <= place_of[x].offset


def test_a_reshaped_constant_has_a_place_of_its_own() -> None:
    b = Build()
    x, constant = b.input((2, 8), scale=0.1), b.constant(np.ones((4, 4), np.int8), 0.1)
    y = b.op("RESHAPE", [constant, b.constant(np.array([2, 8], np.int32))], (2, 8), scale=0.1, new_shape=[2, 8])
    z = b.op("ADD", [x, y], (2, 8), scale=0.2)
    places = {p.tensor: p for p in memory.plan(b.model(z)).places}
    assert set(places) == {x, y, z} and places[y].offset != places[x].offset
