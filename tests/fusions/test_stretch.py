"""What pieces of a subgraph need of the arena, next to what can be counted by hand."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.build import Build
from tflfuse import flatbuffer
from tflfuse.fusions.chain_runs import step_of
from tflfuse.fusions.stretch import Stretch
from tflfuse.ir import Model, Operator, OperatorCode
from tflfuse.lifetimes import aligned
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse
from tflfuse.plan import View

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
        assert refused is not None and word in refused.reason


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
