"""Memory plans: how they are searched for, and in files written, kept, dropped, left out."""
from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.build import Build, names, random_int8
from tests.memory.models import early_output
from tflfuse import flatbuffer, memory, memory_check, placement
from tflfuse.errors import Refused
from tflfuse.ir import Model, Tensor
from tflfuse.lifetimes import lifetimes
from tflfuse.memory_check import WrongPlan
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse
from tflfuse.placement import Block, Problem, highest, joint, least, lowest, moments, orders, place
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
    model = b.model(z, y)
    planned = memory.plan(model)
    offsets = {p.tensor: p.offset for p in planned.places}
    assert offsets[y] == offsets[flat] and offsets[z] != offsets[y] and planned.head == 256
    model.subgraphs[0].outputs.remove(y)
    blocks = memory.problem_of(model, lifetimes(model))[0].blocks
    assert [(block.size, block.first, block.last) for block in blocks] == [(128, 0, 1), (128, 1, 3), (128, 3, 3)]


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


def test_what_has_no_place_of_its_own_is_not_overlapped() -> None:
    """A constant that is quantized, and a variable that is written."""
    b = Build()
    x, constant = b.input((1, 64), scale=0.1), b.constant(np.ones((1, 64), np.float32))
    y = b.op("QUANTIZE", [constant], x.shape, np.int8, scale=0.1)
    wide, variable = b.input((1, 64)), b.tensor((1, 64), scale=0.1, is_variable=True)
    b.add("QUANTIZE", [wide], [variable])
    model = b.model(b.op("ADD", [x, y], x.shape, scale=0.2))
    assert memory.problem_of(model, lifetimes(model))[0].near == {}


def test_gaps_cost_most_while_a_builtin_operator_runs() -> None:
    model = early_output()
    life = lifetimes(model)
    assert [o.name for o in life.scopes] == [CUSTOM, CUSTOM, "ADD"]
    assert memory.problem_of(model, life)[0].tight == {list(life.scopes.values())[2]}


@pytest.mark.parametrize("size, origin", [(1 << 28, "written"), (1 << 29, "interpreter")])
def test_offsets_of_more_than_31_bits_are_not_written(size: int, origin: str) -> None:
    b = Build()
    y = b.op("QUANTIZE", [b.input((1, size))], (1, size), np.int8, scale=0.1)
    z = b.op("SOFTMAX", [y], y.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    planned = memory.plan(b.model(b.op("DEQUANTIZE", [z], z.shape, np.float32)))
    assert (planned.origin, planned.head, planned.greedy) == (
        origin, (5 if origin == "written" else 6) * size, 6 * size)


def test_what_is_needed_at_one_time() -> None:
    planned = memory.plan(early_output())
    assert [sorted({p.size for p in planned.at(scope)}) for scope in (-1, 4)] == [[], []]
    for scope in range(4):
        assert planned.at(scope) == [p for p in planned.places if scope in range(p.first, p.last + 1)]


def test_a_placement_is_priced_by_its_top_and_by_gaps_at_tight_times() -> None:
    """At time 1 there are 128 bytes for 96, at time 2 as many for 32; time 9 has nothing."""
    problem = Problem([Block(64, 0, 1), Block(32, 1, 2)], {}, frozenset({1, 2, 9}))
    assert problem.price([0, 96]) == (128, 32 + 96)
    assert problem.above([0, 96], 64) == 64 and problem.above([0, 96], 32) == 32 + 96
    assert problem.above([0, 96], 128) == 0 == problem.above([0, 96], 200)
    assert (problem.bound(), [problem.needed(time) for time in (0, 1, 2)]) == (96, [64, 96, 32])


def test_where_nothing_is_placed_nothing_is_needed() -> None:
    problem = Problem([], {}, frozenset({1}))
    assert (place(problem), problem.bound(), problem.price([])) == ([], 0, (0, 0))


def test_the_lowest_and_the_highest_offset() -> None:
    assert [lowest(taken) for taken in ([], [(0, 32)], [(-16, 32)], [(16, 64), (-8, 32)])] == [0, 0, 32, 64]
    assert [highest(taken, 48) for taken in ([], [(0, 48)], [(16, 64)], [(0, 32), (16, 64)])] == [48, 48, 16, 0]
    assert highest([(-16, 64)], 48) < 0


def test_blocks_go_to_the_bottom_or_to_the_ceiling() -> None:
    """One that does not fit below the ceiling goes to the bottom, as far as that is free."""
    problem = Problem([Block(32, 0, 1), Block(48, 0, 1), Block(32, 1, 1)], {})
    assert problem.placed([0, 1, 2]) == [0, 32, 80]
    assert problem.placed([0, 1, 2], {1}, 112) == [0, 64, 32]
    assert problem.placed([1, 0, 2], {0, 1}, 80) == [0, 32, 80]
    assert problem.tried == 3


def test_ways_over_an_output_that_another_is_as_good_as_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many, those stay with which the whole takes least."""
    assert least({0: 96, 16: 96, 32: 64, 48: 80, 64: 0}, 32) == {0: 96, 32: 64, 64: 0}
    monkeypatch.setattr(placement, "MOST_WAYS", 2)
    assert least({0: 96, 32: 64, 64: 0}, 32) == {32: 64, 64: 0}
    assert least({0: 32, 64: 16, 160: 0}, 32) == {0: 32, 64: 16}


def test_more_moments_than_can_be_kept_apart_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [moments(2, 5), moments(5, 5), moments(5, 4), moments(5, 2)] == [4, 1, 0, 0]
    monkeypatch.setattr(placement, "MOST_MOMENTS", 3)
    assert Problem([Block(16, 0, 1), Block(16, 4, 4)], {}).bound() == 16
    with pytest.raises(Refused, match="so many tensors are needed at one time"):
        Problem([Block(16, 0, 1), Block(16, 3, 4)], {})


def undisturbed(problem: Problem, offsets: Sequence[int]) -> bool:
    """No block lies where another is that is needed at the same time."""
    blocks = list(zip(offsets, problem.blocks, strict=True))
    return min(offsets) >= 0 and not any(
        at < other + b.size and other < at + a.size and a.first <= b.last and b.first <= a.last
        for n, (at, a) in enumerate(blocks) for other, b in blocks[:n])


@pytest.mark.parametrize("tries, blocks", [
    (300, [(64, 2, 5), (96, 5, 5), (96, 0, 2), (32, 1, 4), (32, 1, 2), (64, 2, 3), (96, 1, 1), (112, 4, 5)]),
    (300, [(128, 0, 2), (80, 3, 3), (32, 2, 3), (32, 2, 3), (32, 2, 3), (96, 0, 3), (112, 0, 3), (64, 2, 3),
           (64, 3, 3)]),
    (2500, [(32, 0, 4), (48, 4, 5), (80, 4, 6), (160, 3, 4), (48, 2, 4), (160, 6, 6), (32, 4, 6), (128, 2, 4),
            (80, 5, 6), (128, 5, 6), (176, 3, 5), (192, 1, 3), (112, 6, 6), (160, 5, 6)])])
def test_the_search_reaches_a_bound_that_no_order_reaches(tries: int, blocks: list[tuple[int, int, int]]) -> None:
    problem = Problem([Block(*b) for b in blocks], {})
    assert min(problem.price(problem.placed(order))[0] for order in orders(problem)) > problem.bound()
    offsets = place(problem, tries, starts=1, most=2)
    assert problem.price(offsets)[0] == problem.bound() and undisturbed(problem, offsets)


@pytest.mark.parametrize("besides, starts", [(16, 5), (1504, 5), (1520, 2)])
def test_the_search_starts_anew_while_more_than_a_hundredth_is_missing(
        besides: int, starts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three in a row over each other take 96 bytes, but no two of them more than 80 at once."""
    def tried(tries: int, most: int = 5) -> int:
        blocks = [Block(64, 0, 1), Block(64, 1, 2), Block(64, 2, 3), Block(besides, 0, 3)]
        problem = Problem(blocks, {(0, 1): 16, (1, 2): 16})
        offsets = place(problem, tries, starts=2, most=most)
        assert problem.price(offsets)[0] == problem.bound() + 16 == 96 + besides
        return problem.tried

    first = len(list(orders(Problem([Block(16, 0, 0)], {}))))
    assert tried(10) == first + starts * (1 + 10) and tried(10, most=0) == first


@pytest.mark.parametrize("name, pairs", [("MOST_WORK", 600), ("WORK_PER_BLOCK", 150)])
def test_the_search_ends_when_its_work_is_done(name: str, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it costs depends on the number of blocks, not on whether the bound can be reached: of the four blocks here
    three never fit below it. An order of them takes at most four times four pairs."""
    monkeypatch.setattr(placement, name, pairs)
    problem = Problem([Block(64, 0, 1), Block(64, 1, 2), Block(64, 2, 3), Block(16, 0, 3)], {(0, 1): 16, (1, 2): 16})
    assert problem.most_work() == 600 and problem.price(place(problem))[0] == problem.bound() + 16
    assert 600 <= problem.work <= 600 + 2 * 4 * 4
    once = Problem(problem.blocks, problem.near)
    assert once.placed([0, 1, 2, 3]) and once.work == 4 + 2 + 3 + 2 + 3, "each block, and those beside it"


@pytest.mark.parametrize("seed", range(20))
def test_what_is_placed_again_lies_where_it_would_from_the_start(seed: int) -> None:
    """However often blocks come to an earlier turn, or go to the ceiling and back."""
    rng = random.Random(seed)
    first = [rng.randrange(12) for _ in range(16)]
    blocks = [Block(16 * rng.randint(1, 12), t, t + rng.choice((0, 1, 1, 3, 6))) for t in first]
    near = {(a, b): 16 * rng.randint(0, 12) for a in range(16) for b in range(16)
            if blocks[a].last == blocks[b].first > blocks[a].first and rng.random() < 0.3}
    problem = Problem(blocks, near)
    order, high, seen = list(range(16)), frozenset[int](), set()
    ceiling = problem.bound()
    offsets = problem.placed(order, high, ceiling)
    for _ in range(200):
        at = rng.randrange(16)
        number, to = order[at], rng.randint(0, at)
        order = order[:at] + order[at + 1:]
        order.insert(to, number)
        high = high ^ ({number} if rng.random() < 0.5 else set())
        offsets = problem.again(offsets, order, to, high, ceiling)
        assert offsets == problem.placed(order, high, ceiling)
        seen.add(tuple(offsets))
    assert len(seen) > 20


def test_what_an_order_has_reached_is_not_searched_for() -> None:
    """One of the first orders reaches the bound, what is needed longest first."""
    problem = Problem([Block(*b) for b in ((64, 0, 1), (64, 3, 3), (32, 2, 3), (32, 1, 2), (48, 0, 3))], {})
    prices = [problem.price(problem.placed(order))[0] for order in orders(problem)]
    assert prices.count(problem.bound()) == 1 and prices[0] > problem.bound()
    problem.tried = 0
    assert problem.price(place(problem))[0] == problem.bound() and problem.tried == len(prices)
