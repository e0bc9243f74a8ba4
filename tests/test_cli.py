"""The command line: exit codes, what is written and what is not, what is said."""
from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.build import names
from tests.converted import DATA
from tests.small_models import activation_model, batch_norm_model
import tflfuse
from tflfuse import cli, flatbuffer, proof
from tflfuse.check import difference_of
from tflfuse.pattern import fold, op, replace_by, var
from tflfuse.tflm import TflmError
from tflfuse.verify import Comparison


BUILTIN = ["CONV_2D", "CONV_2D"]
FUSED = ["CUSTOM:TFLFUSE_CHAIN_1"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "in.tflite"
    path.write_bytes(activation_model())
    return path


def only_files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_it_fuses_and_says_what_it_did(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), str(out)]) == 0
    assert names(flatbuffer.read(out.read_bytes())) == FUSED
    said = capsys.readouterr()
    assert "3 -> 1" in said.out and "activation_into_producer" in said.out and "all outputs equal" in said.out
    assert "fused 2 operators into 1" in said.out and said.err == ""


def test_builtin_only_uses_no_custom_operator(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), str(out), "--builtin-only", "-q"]) == 0
    assert names(flatbuffer.read(out.read_bytes())) == BUILTIN


def test_as_a_module_with_everything_in_json(model: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out.tflite", tmp_path / "report.json"
    done = subprocess.run([sys.executable, "-m", "tflfuse", model, out, "--builtin-only", "--json", report, "-q"],
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    found = json.loads(report.read_text())
    assert found["operators"]["before"] == 3 and found["operators"]["after"] == 2
    assert found["bytes"] == {"before": model.stat().st_size, "after": out.stat().st_size}
    assert found["arena"]["before"] > found["arena"]["after"] > 0
    assert [s["rule"] for s in found["steps"]] == ["activation_into_producer"] and found["exact"]
    assert found["verification"]["whole"]["equal"] and found["verification"]["whole"]["runs"] == 7


@pytest.mark.parametrize("options, left", [([], "CUSTOM:TFLFUSE_CHAIN_1"), (["--builtin-only"], "CONV_2D")])
def test_a_second_run_changes_no_byte(options: list[str], left: str, model: Path, tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "1.tflite", tmp_path / "2.tflite"
    assert cli.main([str(model), str(first), *options]) == 0
    assert cli.main([str(first), str(second), *options]) == 0
    assert first.read_bytes() == second.read_bytes()
    assert f"unchanged: no rule applies to its {left}" in capsys.readouterr().out


def test_in_place_keeps_the_permissions(model: Path, tmp_path: Path) -> None:
    model.chmod(0o640)
    assert cli.main([str(model), str(model), "-q"]) == 0
    assert names(flatbuffer.read(model.read_bytes())) == FUSED
    assert stat.S_IMODE(model.stat().st_mode) == 0o640 and only_files(tmp_path) == {"in.tflite"}


def test_a_link_stays_a_link(model: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target.tflite", tmp_path / "link.tflite"
    target.write_bytes(b"old")
    link.symlink_to(target)
    assert cli.main([str(model), str(link), "-q"]) == 0
    assert link.is_symlink() and names(flatbuffer.read(target.read_bytes())) == FUSED


def test_explain_writes_nothing_and_shows_the_same(model: Path, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([str(model), "--explain"]) == 0
    explained = capsys.readouterr().out
    assert only_files(tmp_path) == {"in.tflite"}
    assert cli.main([str(model), str(tmp_path / "out.tflite"), "-v"]) == 0
    assert capsys.readouterr().out == explained


@pytest.mark.parametrize("data, said", [(b"", "file"), (b"TFL3" * 9, ""), (b"\x1c\0\0\0TFL3", "")])
def test_no_model_is_one_line_and_exit_2(data: bytes, said: str, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(data)
    assert cli.main([str(path), str(tmp_path / "out.tflite")]) == 2
    found = capsys.readouterr()
    assert found.out == "" and found.err.count("\n") == 1 and "bad.tflite: " in found.err
    assert only_files(tmp_path) == {"bad.tflite"}


@pytest.mark.parametrize("arguments", [["missing.tflite", "out.tflite"], ["in.tflite", "no/such/folder/out.tflite"],
                                       ["in.tflite", "."], ["in.tflite", "/dev/full"],
                                       ["in.tflite", "out.tflite", "--json", "no/such/folder/x.json"]])
def test_what_cannot_be_read_or_written_is_exit_2(arguments: list[str], model: Path, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    before = model.read_bytes()
    assert cli.main(arguments) == 2
    found = capsys.readouterr()
    assert found.err.count("\n") == 1 and "Traceback" not in found.err
    assert only_files(tmp_path) == {"in.tflite"} and model.read_bytes() == before


@pytest.mark.parametrize("arguments", [[], ["in.tflite"], ["a", "b", "--verify", "0"], ["a", "b", "--verify", "x"],
                                       ["a", "b", "--verify", "99999999999999999999"],
                                       ["a", "b", "--nonsense"], ["a", "b", "-q", "-v"],
                                       ["a", "b", "--verify", "2", "--no-verify"], ["a", "b", "--arena", "-4"],
                                       ["a", "b", "--arena", "9", "--no-verify"]])
def test_bad_arguments_are_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    said = capsys.readouterr()
    assert stopped.value.code == 2 and said.out == ""
    assert said.err.startswith("tflfuse: ") and said.err.count("\n") == 1


def test_a_budget_that_nothing_fits_is_exit_4(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), str(out), "--arena", "100"]) == 4
    assert "--arena allows 100" in capsys.readouterr().err and not out.exists()
    assert cli.main([str(model), str(out), "--arena", "100000"]) == 0 and out.exists()


@fold(op.RELU(op.CONV_2D(var("x"), var("w"), var("b"), name="conv")))
def wrong_on_purpose(m: Any) -> Any:
    """CONV_2D -> RELU -> CONV_2D without the RELU, said to be exact."""
    return replace_by(m.conv.like(outputs=m.root.outputs))


def test_an_exact_step_that_is_not_is_exit_3(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tflfuse.pipeline.FOLDS", (wrong_on_purpose,))
    out = tmp_path / "out.tflite"
    out.write_bytes(b"what was there")
    assert cli.main([str(model), str(out)]) == 3
    assert "differs by up to" in capsys.readouterr().err
    assert out.read_bytes() == b"what was there" and only_files(tmp_path) == {"in.tflite", "out.tflite"}
    assert cli.main([str(model), str(out), "--no-verify"]) == 0, "without running them nobody can know"


def test_exact_leaves_a_batch_norm_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.tflite", tmp_path / "out.tflite"
    path.write_bytes(batch_norm_model())
    assert cli.main([str(path), str(out), "--exact", "--builtin-only"]) == 0
    assert "the result would not be the same bits" in capsys.readouterr().out
    assert out.read_bytes() == path.read_bytes()
    assert cli.main([str(path), str(out), "--builtin-only"]) == 0
    assert "no further from the real function" in capsys.readouterr().out
    assert names(flatbuffer.read(out.read_bytes())) == ["CONV_2D"]


def test_a_step_measured_as_worse_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.tflite", tmp_path / "out.tflite"
    path.write_bytes(batch_norm_model())
    monkeypatch.setattr("tflfuse.part.PartError.accepted", False)
    assert cli.main([str(path), str(out), "--builtin-only"]) == 0
    assert "measured further from the real-valued function" in capsys.readouterr().out
    assert names(flatbuffer.read(out.read_bytes())) == ["CONV_2D", "MUL", "ADD"]


def test_a_model_that_nobody_can_run_is_written_with_a_word(model: Path, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(proof, "verify", lambda *a, **k: Comparison(None, ("TFLM: no", "LiteRT: no")))
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), str(out)]) == 0
    assert "not verified: TFLM: no; LiteRT: no" in capsys.readouterr().out and out.exists()
    assert cli.main([str(model), str(out), "--arena", "100000"]) == 2


def test_an_original_whose_own_outputs_change_is_written_with_a_word(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "out.tflite", tmp_path / "report.json"
    assert cli.main([str(DATA / "dilated_open_batch.tflite"), str(out), "--json", str(report)]) == 0
    said = capsys.readouterr().out
    assert "\nnot verified: the original's own outputs change from one run to the next in TFLM" in said
    whole = json.loads(report.read_text())["verification"]["whole"]
    assert whole["unstable"] and not whole["equal"] and whole["summary"] in said and out.exists()


def test_interrupting_writes_nothing(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr(os, "fsync", interrupt)
    assert cli.main([str(model), str(tmp_path / "out.tflite")]) == 130
    assert only_files(tmp_path) == {"in.tflite"}


def test_lower_gives_builtin_operators_and_fusing_again_the_same_file(model: Path, tmp_path: Path,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    fused, lowered, again = (tmp_path / name for name in ("fused.tflite", "lowered.tflite", "again.tflite"))
    assert cli.main([str(model), str(fused), "-q"]) == 0
    assert cli.main([str(fused), str(lowered), "--lower"]) == 0
    assert "all outputs equal" in capsys.readouterr().out
    assert names(flatbuffer.read(lowered.read_bytes())) == BUILTIN
    assert lowered.read_bytes() == tflfuse.lower(fused.read_bytes())
    assert cli.main([str(lowered), str(again), "-q"]) == 0
    assert difference_of(again.read_bytes(), fused.read_bytes()) == (
        "its certificate tells of other operators than those that its fused ones replace")


def test_a_model_without_fused_operators_is_lowered_to_itself(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), str(out), "--lower", "-q"]) == 0
    assert out.read_bytes() == model.read_bytes()


def test_a_fused_operator_with_broken_options_is_exit_2(model: Path, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    fused, out = tmp_path / "fused.tflite", tmp_path / "out.tflite"
    assert cli.main([str(model), str(fused), "-q"]) == 0
    broken = flatbuffer.read(fused.read_bytes())
    operator = broken.subgraphs[0].operators[0]
    assert operator.custom_options is not None
    operator.custom_options = operator.custom_options[:20]
    fused.write_bytes(flatbuffer.write(broken))
    assert cli.main([str(fused), str(out), "--lower"]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not out.exists()


def test_without_the_kernels_fused_operators_are_not_written_unproved(model: Path, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> Path:
        raise TflmError("the kernel library was not built")
    monkeypatch.setattr(proof, "library", missing)
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), str(out)]) == 2 and not out.exists()
    said = capsys.readouterr().err
    assert "the kernel library was not built; without it: --builtin-only, or --no-verify" in said
    assert said.count("\n") == 1
    assert cli.main([str(model), str(out), "--builtin-only", "-q"]) == 0
    assert cli.main([str(model), str(out), "--no-verify", "-q"]) == 0
    assert names(flatbuffer.read(out.read_bytes())) == FUSED


def test_builtin_only_refuses_a_model_that_is_fused_already(model: Path, tmp_path: Path,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    fused, out = tmp_path / "fused.tflite", tmp_path / "out.tflite"
    assert cli.main([str(model), str(fused), "-q"]) == 0
    assert cli.main([str(fused), "-q", str(out), "--builtin-only"]) == 2 and not out.exists()
    assert "it holds fused operators already, 1 of them; lower it first" in capsys.readouterr().err


def test_options_may_stand_between_the_files(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert cli.main([str(model), "-q", "--no-verify", str(out)]) == 0 and out.exists()
