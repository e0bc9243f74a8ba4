"""The text that fits one screen: which figures, which fused operators, which refusals."""
from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.build import Build, random_int8
from tests.converted import DATA
from tests.small_models import activation_model, batch_norm_model, long_model
from tflfuse import cli, fuse
from tflfuse.plan import Plan, Refusal
from tflfuse.proof import Proof
from tflfuse.refusals import named, stakes
from tflfuse.summary import COLUMNS, LINES, height, kinds
from tflfuse.traffic import flow_of_one
from tflfuse.verify import Comparison, Difference

REAL = Path(os.environ.get("TFLFUSE_MODELS", "none"))
Said = pytest.CaptureFixture[str]


def lines_of(data: bytes, custom_ops: bool = True) -> list[str]:
    return fuse(data, custom_ops).report.text().split("\n")


def wide_and_narrow() -> bytes:
    """SIN, which no chain computes, between a LOGISTIC of uint8 on many numbers and one of int16 on few."""
    b = Build()
    y = b.op("LOGISTIC", [b.input((1, 8, 8, 32), dtype="uint8", scale=0.1)], (1, 8, 8, 32), dtype="uint8", scale=0.1)
    z = b.op("LOGISTIC", [b.input((1, 8, 8, 2), dtype="int16", scale=0.1)], (1, 8, 8, 2), dtype="int16", scale=0.1)
    return b.bytes(y, z)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.tflite")), ids=lambda path: path.stem)
def test_it_fits_one_screen(path: Path) -> None:
    assert height(lines_of(path.read_bytes())) < LINES


@pytest.mark.parametrize("name", ["tinyengine_vww", "tflm_mobilenet_v2_quantized_1x3x224x224", "mww_okay_nabu",
                                  "cfu_hps_model_2022_01_05_74ops", "tflm_person_detect_vela"])
def test_that_of_a_real_model_fits_one_screen_with_its_proof(name: str, tmp_path: Path, capsys: Said) -> None:
    if not REAL.is_dir():
        pytest.skip("TFLFUSE_MODELS names no folder of models")
    assert cli.main([str(REAL / f"{name}.tflite"), str(tmp_path / "out.tflite")]) == 0
    said = capsys.readouterr().out.rstrip("\n").split("\n")
    assert height(said) < LINES and "verified: " in "\n".join(said)


def test_of_many_fused_operators_those_are_shown_that_spare_most() -> None:
    said = lines_of(long_model(40))
    assert "operators               160 -> 80" in said and height(said) == LINES - 1
    assert sum("  2 CONV_2D  " in line for line in said) > 5 and any(" more of " in line for line in said)


def test_the_figures_are_those_of_the_report() -> None:
    report = fuse(activation_model()).report
    assert report.memory and report.memory.before and report.traffic
    said = report.text()
    assert f"{report.memory.before.device:,} -> {report.memory.after.device:,} bytes for 32-bit targets" in said
    assert (f"{report.traffic.before.total:,} -> {report.traffic.after.total:,} bytes read and written, "
            f"{report.traffic.after.rings:,} of them rows in fused operators") in said
    assert "not verified: no model was run; every step keeps every bit by construction" in said


def test_what_only_rounds_otherwise_is_said_without_a_run() -> None:
    assert "not verified: no model was run; 1 re-quantizing step" in lines_of(batch_norm_model(), custom_ops=False)


def test_a_fused_operator_shows_its_place_its_layers_and_its_traffic() -> None:
    fused, layers = lines_of(activation_model())[-3:-1]
    before, after = 12 * 12 * 4 + 2 * 12 * 12 * 32 + 12 * 12 * 8, 12 * 12 * 4 + 12 * 12 * 8
    assert fused == "fused 2 operators into 1, bytes of tensors moved:"
    assert layers.split() == ["#1-#2", "2", "CONV_2D", f"{before:,}", "->", f"{after:,}"]


def test_fused_operators_stand_in_order_even_those_of_one_layer() -> None:
    report = fuse(long_model(3)).report
    steps = report.plan.steps
    first = next(n for n, s in enumerate(steps) if s.rule == "chain_runs")
    alone = replace(steps[first], before=steps[first].before[:1])
    one_of_one = replace(report, plan=replace(report.plan, steps=(*steps[:first], alone, *steps[first + 1:])))
    places = [line.split()[0] for line in one_of_one.text().split("\n") if line.startswith("  #")]
    assert len(places) > 1 and "-" not in places[0] and "-" in places[1]


def test_refusals_are_ranked_by_the_bytes_that_they_keep_moving() -> None:
    said = lines_of(wide_and_narrow())
    at = said.index("not fused, and why:")
    assert said[at + 1:at + 3] == [
        "  4,096 bytes moved by LOGISTIC #0: UINT8 values are not computed by a chain, only INT8",
        "  512 bytes moved by LOGISTIC #1: INT16 values are not computed by a chain, only INT8"]


def test_what_was_declined_by_choice_or_moves_next_to_nothing_is_no_refusal_to_show() -> None:
    report = fuse(wide_and_narrow()).report
    chosen = tuple(replace(r, by_choice=True) for r in report.plan.refusals)
    assert "not fused" not in replace(report, plan=Plan((), chosen)).text()
    operators = report.plan.refusals[-1].operators
    tiny = Refusal("r", "#1", "x", "why", operators=operators)
    moved = sum(flow_of_one(o).tensors for o in operators)
    assert report.traffic is not None
    enough = replace(report.traffic, after=replace(report.traffic.after, read=1000 * moved, written=0))
    assert "why" in replace(report, plan=Plan((), (tiny,)), traffic=enough).text()
    more = replace(report.traffic, after=replace(report.traffic.after, read=1000 * moved + 1, written=0))
    assert "why" not in replace(report, plan=Plan((), (tiny,)), traffic=more).text()


def test_equal_reasons_stand_together_and_no_operator_counts_twice() -> None:
    refusals = fuse(wide_and_narrow()).report.plan.refusals
    operators = [r.operators[0] for r in refusals]
    same = [Refusal("a", "", "x", "one reason", operators=tuple(operators)),
            Refusal("b", "", "y", "one reason", operators=tuple(operators[:1])),
            Refusal("c", "", "the model", "another")]
    first, second = stakes(same)
    assert (first.reason, first.operators, first.moved) == ("one reason", tuple(operators), 4608)
    assert str(first) == "LOGISTIC #0, #1: one reason" and str(second) == "the model: another"


def test_many_operators_are_named_by_the_first() -> None:
    operators = [o for r in fuse(wide_and_narrow()).report.plan.refusals for o in r.operators] * 3
    assert named(operators[:4]) == "LOGISTIC #0, #1, #0, #1" and named(operators) == "LOGISTIC #0, #1, #0 and 3 more"


@pytest.mark.parametrize("names, said", [
    ({"CONV_2D": 1}, "CONV_2D"), ({"CONV_2D": 14, "ADD": 3}, "14 CONV_2D, 3 ADD"),
    ({"CONV_2D": 14, "DEPTHWISE_CONV_2D": 7, "ADD": 4, "MEAN": 3}, "14 CONV_2D, 7 DEPTHWISE_CONV_2D and 7 more"),
    ({"A" * 50: 2, "B": 1}, f"2 {'A' * 50} and 1 more")])
def test_kinds_of_layers_take_one_column(names: dict[str, int], said: str) -> None:
    assert kinds(Counter(names)) == said


def test_where_everything_is_too_much_lines_are_cut() -> None:
    report = fuse(long_model(20)).report
    refused = fuse(wide_and_narrow()).report.plan.refusals
    reasons = tuple(replace(r, reason=f"{n} " + "long " * 60) for n, r in enumerate(refused))
    notes = tuple(f"{n} " + "words " * 80 for n in range(5))
    said = replace(report, plan=replace(report.plan, refusals=reasons), notes=notes).text().split("\n")
    assert height(said) < LINES and max(map(len, said)) == COLUMNS and "3 more notes: -v" in said
    assert any(line.endswith("...") for line in said)


def test_lowering_a_file_without_fused_operators_says_so(tmp_path: Path, capsys: Said) -> None:
    model = tmp_path / "in.tflite"
    model.write_bytes(activation_model())
    assert cli.main([str(model), str(tmp_path / "out.tflite"), "--lower", "--no-verify"]) == 0
    assert "unchanged: no operator in it is fused, so there is nothing to lower" in capsys.readouterr().out


def test_an_arena_that_no_device_could_use_is_not_promised(tmp_path: Path, capsys: Said) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    rng = np.random.default_rng(1)
    b = Build()
    x = b.input((1, 4), dtype="uint8", scale=0.1)
    model = tmp_path / "in.tflite"
    w = b.constant(random_int8(rng, (4, 4)).view(np.uint8), scale=0.1)
    model.write_bytes(b.bytes(b.op("FULLY_CONNECTED", [x, w, None], (1, 4), dtype="uint8", scale=0.1)))
    assert cli.main([str(model), str(tmp_path / "out.tflite")]) == 0
    assert "kTensorArenaSize not known: the model did not run in TFLM" in capsys.readouterr().out


def test_float_values_are_named_as_such() -> None:
    b = Build()
    x = b.input((1, 4, 4, 2), dtype="float32")
    y = b.op("RESHAPE", [x, b.constant(np.array([1, 32], np.int32))], (1, 32), dtype="float32")
    pads = b.constant(np.array([[0, 0], [1, 1]], np.int32))
    refusals = fuse(b.bytes(b.op("PAD", [y, pads], (1, 34), dtype="float32"))).report.plan.refusals
    assert {r.reason for r in refusals} == {"FLOAT32 values are not computed by a chain, only INT8"}
    assert len(refusals) == 2


@pytest.mark.parametrize("everything", [False, True])
def test_names_end_no_line(everything: bool) -> None:
    """Nobody writes "verified" into a report by what an output is called, nor moves the cursor."""
    forged = "y\nverified: all outputs equal\x1b[2J" + "y" * 500
    report = replace(fuse(batch_norm_model()).report, notes=(forged,), proof=Proof(Comparison(
        "TFLM", (forged,), 7, outputs=(Difference(forged, "int8", False, 3.0, 0.1),))))
    lines = report.text(everything).split("\n")
    assert all(line.isprintable() for line in lines)
    assert [line[:30] for line in lines if line.startswith("verified")] == ["verified: y?verified: all outp"]
    assert any("differs by up to 3 steps" in line for line in lines)
