"""What pieces of a subgraph need of the arena, next to what can be counted by hand."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.build import Build
from tests.memory.graphs import random_graph
from tflfuse import flatbuffer
from tflfuse.flash import growth
from tflfuse.fusions import stretch as pieces
from tflfuse.fusions.chain_runs import ROUNDING, chain_runs, fixed_part, reasons, step_of
from tflfuse.fusions.cuts import Cut
from tflfuse.fusions.stretch import Stretch
from tflfuse.ir import Model, Operator, OperatorCode, Tensor
from tflfuse.layout import laid_out
from tflfuse.lifetimes import aligned
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse
from tflfuse.plan import View
from tflfuse.tail import of_operator, tail_bytes

SMALL, LARGE, ROW = 8 * 8 * 1, 8 * 8 * 32, 8 * 32
"""Bytes of the tensors below, and of a row of the large ones."""


def sum_of_two(other_lives_on: bool) -> Model:
    """CONV_2D of a small tensor, then ADD of a large one; then SOFTMAX of the sum, or MEAN of the large one again."""
    b = Build()
    small, large = b.input((1, 8, 8, 1), scale=0.1), b.input((1, 8, 8, 32), scale=0.1)
    y = b.conv(small, b.constant(np.ones((32, 1, 1, 1), np.int8), scale=0.01), scale=0.1)
    y = b.op("ADD", [y, large], y.shape, scale=0.1)
    z = b.op("SOFTMAX", [y], y.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    if not other_lives_on:
        return b.model(z)
    b.operators.pop()  # without the SOFTMAX, whose time would be the fullest
    return b.model(y, b.op("MEAN", [large, b.constant(np.array([1, 2], np.int32))], (1, 32), scale=0.1))


@pytest.mark.parametrize("planned", [True, False])
def test_an_output_lies_over_inputs_that_die_where_the_file_says_so(planned: bool) -> None:
    stretch = Stretch(View.of(sum_of_two(other_lives_on=False), 0), planned)
    stretch.consider(0, 2)
    piece = stretch.fused[0, 2]
    scratch = sum(map(aligned, piece.run.scratch))
    assert piece.peak == scratch + SMALL + LARGE + (ROW if planned else LARGE)
    head = stretch.head([piece, stretch.alone(2)])
    assert head == 2 * LARGE + (0 if planned else scratch + SMALL)


def test_an_output_does_not_lie_over_what_is_read_later() -> None:
    stretch = Stretch(View.of(sum_of_two(other_lives_on=True), 0), planned=True)
    stretch.consider(0, 2)
    piece = stretch.fused[0, 2]
    assert piece.peak >= 2 * LARGE + sum(map(aligned, piece.run.scratch))
    assert stretch.head([piece, stretch.alone(2)]) >= 2 * LARGE


@pytest.mark.parametrize("planned", [True, False])
def test_an_input_that_nobody_reads_is_gone_when_the_first_operator_runs(planned: bool) -> None:
    b = Build()
    b.input((2, 8, 8, 32), scale=0.1)
    small = b.input((1, 8, 8, 1), scale=0.1)
    y = b.conv(small, b.constant(np.ones((32, 1, 1, 1), np.int8), scale=0.01), scale=0.1)
    stretch = Stretch(View.of(b.model(y), 0), planned)
    alone = stretch.alone(0)
    assert alone.peak == SMALL + LARGE + sum(map(aligned, alone.run.scratch))
    assert stretch.head([alone]) == 2 * LARGE + SMALL


def test_why_an_operator_is_left() -> None:
    """One that no chain computes is named; one that is a chain has nothing against it."""
    model = sum_of_two(other_lives_on=False)
    stretch = Stretch(View.of(model, 0), planned=True)
    refused = stretch.why_left(stretch.alone(2), most=0)
    assert refused is not None and "SOFTMAX" in refused.reason
    fused = flatbuffer.read(fuse(flatbuffer.write(model)).model)
    again = Stretch(View.of(fused, 0), planned=True)
    assert [o.name for o in again.operators] == [CUSTOM, "SOFTMAX"]
    assert again.why_left(again.alone(0), most=0) is None


def test_the_note_of_a_run_counts_its_stages() -> None:
    steps = fuse(flatbuffer.write(sum_of_two(other_lives_on=False))).report.plan.steps
    assert [s.note.split(",")[0] for s in steps if s.rule == "chain_runs"] == ["2 stages"]
    b = Build()
    y = b.conv(b.input((1, 8, 8, 8), scale=0.1), b.constant(np.ones((8, 3, 3, 8), np.int8), scale=0.01), scale=0.1)
    steps = fuse(b.bytes(y)).report.plan.steps
    assert [s.note.split(",")[0] for s in steps if s.rule == "chain_runs"] == ["1 stage"]


def test_an_operator_alone_may_lie_over_its_input() -> None:
    """QUANTIZE from 16 bits to 8; where it has a second reader it may not."""
    def head(second: bool) -> int:
        b = Build()
        x = b.input((1, 8, 8, 32), np.int16, scale=0.1)
        y = b.op("QUANTIZE", [x], x.shape, np.int8, scale=0.1)
        outputs = [y, b.op("QUANTIZE", [x], x.shape, np.int8, scale=0.2)] if second else [y]
        stretch = Stretch(View.of(b.model(*outputs), 0), planned=True)
        return stretch.head([stretch.alone(k) for k in range(len(outputs))])
    assert head(second=False) == 2 * LARGE and head(second=True) == 3 * LARGE


def test_why_an_operator_is_not_fused_that_could_be() -> None:
    """For the flash, where the arena would hold no more than it does anyway; else for the arena."""
    stretch = Stretch(View.of(sum_of_two(other_lives_on=False), 0), planned=True)
    stretch.consider(1, 2)
    piece, better = stretch.alone(1), stretch.fused[1, 2]
    for peak, flash, word in ((100, 50, "flash"), (101, 50, "at once"), (100, 49, "at once")):
        stretch.fused[1, 2] = replace(better, peak=peak, flash=flash, kept=piece.kept - 50)
        refused = stretch.why_left(piece, most=100)
        assert refused is not None and word in refused.reason and refused.by_choice


def test_what_a_run_is_said_to_gain() -> None:
    """From the fullest of its operators."""
    stretch = Stretch(View.of(sum_of_two(other_lives_on=False), 0), planned=True)
    stretch.consider(0, 2)
    piece = stretch.fused[0, 2]
    peaks = [stretch.alone(k).peak for k in (0, 1)]
    note = step_of(stretch, piece, Operator(OperatorCode.of(CUSTOM), [], []), 0).note
    assert peaks[0] != peaks[1] and f"up to {max(peaks):,} -> {piece.peak:,} bytes" in note


def test_a_variable_is_in_no_run() -> None:
    model = sum_of_two(other_lives_on=False)
    model.subgraphs[0].inputs[1].is_variable = True
    stretch = Stretch(View.of(model, 0), planned=True)
    stretch.consider(0, 2)
    assert not stretch.fused and "variable" in stretch.reasons[0, 2].reason


def test_what_an_operator_alone_needs() -> None:
    """Its operands and results; what it keeps is counted with its weights and its output."""
    model = sum_of_two(other_lives_on=False)
    stretch = Stretch(View.of(model, 0), planned=True)
    first, second, _ = (stretch.alone(k) for k in range(3))
    assert (first.peak, second.peak) == (SMALL + 2 * LARGE, 3 * LARGE)
    assert first.kept == of_operator(stretch.operators[0], 2) and second.kept == of_operator(stretch.operators[1], 1)
    assert set(stretch.live) == {t for t in model.subgraphs[0].tensors if not t.is_constant}


@pytest.mark.parametrize("planned", [True, False])
def test_a_variable_has_no_place_that_could_be_shared(planned: bool) -> None:
    b = Build()
    x, y = b.input((1, 8, 8, 32), np.int16, scale=0.1), b.tensor((1, 8, 8, 32), scale=0.1, is_variable=True)
    b.add("QUANTIZE", [x], [y])
    stretch = Stretch(View.of(b.model(x), 0), planned)
    assert set(stretch.live) == {x} and stretch.alone(0).peak == 2 * LARGE == stretch.head([stretch.alone(0)])
    stretch = Stretch(View.of(b.model(), 0), planned)
    assert stretch.alone(0).peak == 2 * LARGE == stretch.head([stretch.alone(0)])


def test_an_output_lies_over_the_input_that_dies_beside_one_that_lives_on() -> None:
    """The small one is read again."""
    b = Build()
    small, large = b.input((1, 8, 8, 1), scale=0.1), b.input((1, 8, 8, 32), scale=0.1)
    y = b.conv(small, b.constant(np.ones((32, 1, 1, 1), np.int8), scale=0.01), scale=0.1)
    y = b.op("ADD", [y, large], y.shape, scale=0.1)
    z = b.op("SOFTMAX", [small], small.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    stretch = Stretch(View.of(b.model(y, z), 0), planned=True)
    stretch.consider(0, 2)
    piece = stretch.fused[0, 2]
    assert piece.peak == sum(map(aligned, piece.run.scratch)) + SMALL + LARGE + ROW


def convolutions(count: int) -> tuple[Build, list[Tensor]]:
    """Padded 3x3 ones, one after the other, and their results."""
    b = Build()
    made = [b.input((1, 8, 8, 8), scale=0.1)]
    for _ in range(count):
        made.append(b.conv(made[-1], b.constant(np.ones((8, 3, 3, 8), np.int8), scale=0.01), scale=0.1))
    return b, made[1:]


def test_a_run_reads_its_weights_for_each_row() -> None:
    """An operator alone reads them once, also as a run, if it takes the input's rows where they are."""
    b = Build()
    y = b.conv(b.input((1, 8, 8, 8), scale=0.1), b.constant(np.ones((8, 1, 1, 8), np.int8), scale=0.01), scale=0.1)
    z = b.op("TANH", [y], y.shape, scale=1 / 128)
    stretch = Stretch(View.of(b.model(z), 0), planned=True)
    for begin, end, weights in ((0, 1, 64), (0, 2, 8 * 64), (1, 2, 0)):
        stretch.consider(begin, end)
        assert stretch.fused[begin, end].weights == weights
    assert stretch.alone(0).weights == 64


def test_four_bytes_of_flash_count_as_one_of_the_arena() -> None:
    """By which the file grows; where it gets shorter, flash costs nothing."""
    b, made = convolutions(4)
    stretch = Stretch(View.of(b.model(made[-1]), 0), planned=True)
    grown = []
    for end in range(1, 5):
        stretch.consider(0, end)
        run = stretch.fused[0, end].run.run
        grown.append(growth(run, laid_out(run.chain)))
    assert grown[0] > 4 and grown[-1] < -4
    assert [stretch.fused[0, end].flash for end in range(1, 5)] == [max(bytes_, 0) // 4 for bytes_ in grown]


@pytest.mark.parametrize("outputs, reason", [([0, 1], "an output of the model"), ([1, 2], "read outside of the run")])
def test_what_is_made_inside_is_wanted_nowhere_else(outputs: list[int], reason: str) -> None:
    b, made = convolutions(2)
    made.append(b.op("TANH", [made[0]], made[0].shape, scale=1 / 128))
    stretch = Stretch(View.of(b.model(*(made[k] for k in outputs)), 0), planned=True)
    stretch.consider(0, 2)
    assert not stretch.fused and reason in stretch.reasons[0, 2].reason


def test_which_runs_are_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those up to the longest, and none where nothing is to be fused."""
    monkeypatch.setattr(pieces, "LONGEST", 2)
    b, made = convolutions(4)
    stretch = Stretch(View.of(b.model(made[-1]), 0), planned=True)
    stretch.cut()
    assert set(stretch.fused) == {(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (1, 3), (2, 4)}
    stretch = Stretch(View.of(b.model(made[-1]), 0), planned=True, fuses=False)
    assert len(stretch.cut().pieces) == 4 and not stretch.fused and not stretch.reasons


def test_why_a_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length, the arena, which is a choice, or what stands in the way of a longer one."""
    monkeypatch.setattr(pieces, "LONGEST", 2)
    b, made = convolutions(4)
    stretch = Stretch(View.of(b.model(made[2], made[-1]), 0), planned=True)
    stretch.cut()
    first, second, third, fourth = (stretch.fused[k, k + 1] for k in range(4))
    for one, after, word, by_choice in (
            (stretch.fused[0, 2], third, "longer than 2 operators", False), (third, fourth, "an output", False),
            (second, third, f"would hold {stretch.fused[1, 3].peak:,} bytes at once", True)):
        refused = stretch.why_ended(one, after)
        assert word in refused.reason and refused.by_choice is by_choice
    told = [(r.place, r.reason) for r in reasons(stretch, [first, second, stretch.alone(2), fourth])]
    assert told == [("#0", stretch.why_ended(first, second).reason),
                    ("#2", f"fused, the arena would hold {third.peak:,} bytes at once instead of "
                           f"{stretch.alone(2).peak:,}")]


def test_tensors_overlap_where_their_places_can_be_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the moments that a search takes: from -1 to 0, 0 to 1, and 1 to 2."""
    b, made = convolutions(2)
    view = View.of(b.model(made[-1]), 0)
    for most, planned in ((11, False), (12, True)):
        monkeypatch.setattr(pieces, "MOST_MOMENTS", most)
        assert Stretch(view, planned=True).planned is planned and not Stretch(view, planned=False).planned


def test_a_budget_is_divided_to_the_byte() -> None:
    """What the tail keeps anyway is taken off, and what the sum of what operators keep may be wrong by."""
    model = random_graph(31)
    stretch = Stretch(View.of(model, 0), planned=True)
    least, most = stretch.cut(), stretch.cut(10 ** 6)

    def taken(cut: Cut) -> list[tuple[Operator, ...]]:
        return [p.run.run.operators for p in cut.pieces if p.run.run is not None]

    fixed = tail_bytes(model) - sum(stretch.alone(k).kept for k in range(len(stretch.operators))) + ROUNDING
    assert taken(least) != taken(most) and fixed_part(model, stretch) == fixed
    for budget, cut in ((most.arena, most), (most.arena - 1, least)):
        steps = chain_runs(model, budget=fixed + budget).steps
        assert [s.removed for s in steps] == taken(cut) and all(s.exact for s in steps)
