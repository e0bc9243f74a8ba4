"""Several files in one command: each as it would be alone."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.interrupts import heed_interrupts
from tests.small_models import activation_model, batch_norm_model
from tflfuse import cli, one_file, several_files

Said = pytest.CaptureFixture[str]


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    """Two of them, in a folder of their own."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name, data in (("one.tflite", activation_model()), ("two.tflite", batch_norm_model())):
        (folder / name).write_bytes(data)
    return sorted(str(path) for path in folder.iterdir())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def alone(model: str, folder: Path, *options: str) -> bytes:
    path = folder / "alone.tflite"
    assert cli.main([model, str(path), "-q", *options]) == 0
    data = path.read_bytes()
    path.unlink()
    return data


def written(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("options", [[], ["--builtin-only", "--exact", "--jobs", "1"]])
def test_each_is_as_it_would_be_alone(options: list[str], models: list[str], out: Path, tmp_path: Path,
                                      capsys: Said) -> None:
    assert cli.main([*models, "-o", f"{out}/", *options]) == 0
    said = capsys.readouterr()
    assert written(out) == ["one.tflite", "two.tflite"] and said.err == ""
    for model in models:
        assert (out / Path(model).name).read_bytes() == alone(model, tmp_path, *options)
    first, second, blank, head, *table = said.out.splitlines()
    assert first.startswith(f"{models[0]}: verified: ") and second.startswith(f"{models[1]}: verified: ")
    assert blank == "" and head.split() == ["operators", "file", "kTensorArenaSize", "traffic", "outputs"]
    assert table[0].startswith("one.tflite") and "3 -> " in table[0] and table[0].endswith("  equal")
    assert table[1].startswith("two.tflite") and table[2] == "2 files, 2 written, 0 failed"


@pytest.mark.parametrize("numbers, said", [((1000, 350), "-65%"), ((1000, 1), "-99%"), ((1000, 0), "-100%"),
                                           ((1000, 1001), "0%"), ((0, 0), "0%"), ((2, 5), "+150%"), (None, "")])
def test_all_is_gone_only_where_nothing_is_left(numbers: tuple[int, int] | None, said: str) -> None:
    assert several_files.change(numbers) == said


def test_one_that_is_no_model_stops_no_other(models: list[str], out: Path, tmp_path: Path, capsys: Said) -> None:
    bad = tmp_path / "bad.tflite"
    bad.write_bytes(b"TFL3")
    assert cli.main([str(bad), models[0], str(tmp_path / "missing.tflite"), models[1], "-o", f"{out}/"]) == 2
    said = capsys.readouterr()
    assert written(out) == ["one.tflite", "two.tflite"]
    assert f"tflfuse: {bad}: " in said.err and "missing.tflite: No such file" in said.err and said.err.count("\n") == 2
    assert "4 files, 2 written, 2 failed" in said.out and said.out.count("exit 2") == 2


def test_the_exit_code_is_the_highest(models: list[str], out: Path, tmp_path: Path, capsys: Said) -> None:
    assert cli.main([str(tmp_path / "missing.tflite"), *models, "-o", f"{out}/", "--arena", "100"]) == 4
    assert "--arena allows 100" in capsys.readouterr().err and not out.exists()


def test_quiet_says_nothing_but_errors(models: list[str], out: Path, capsys: Said) -> None:
    assert cli.main([*models, "-o", f"{out}/", "-q", "--no-verify"]) == 0
    assert capsys.readouterr() == ("", "")


def test_verbose_shows_each_report(models: list[str], out: Path, capsys: Said) -> None:
    assert cli.main([*models, "-o", f"{out}/", "-v", "--no-verify"]) == 0
    said = capsys.readouterr().out
    assert f"{models[0]}:\noperators" in said and f"{models[1]}:\noperators" in said and "chain_runs: " in said


def test_any_name_takes_one_line(tmp_path: Path, out: Path, capsys: Said) -> None:
    names = ["größe 大.tflite", "two\nlines.tflite", "-dash.tflite", os.fsdecode(b"\xff.tflite"), "\x1b[31m.tflite"]
    for name in names:
        (tmp_path / name).write_bytes(batch_norm_model())
    assert cli.main([*(str(tmp_path / name) for name in names), "-o", f"{out}/", "--no-verify"]) == 0
    said = capsys.readouterr().out
    assert written(out) == sorted(names) and said.count("\n") == 2 * len(names) + 3 and "\x1b" not in said
    ends = {cell_len(line[:line.index(" -> ")]) for line in said.splitlines()[-1 - len(names):-1]}
    assert len(ends) == 1, "columns stand below each other"


def test_in_place(models: list[str], tmp_path: Path) -> None:
    expected = [alone(model, tmp_path) for model in models]
    assert cli.main([*models, "-o", str(Path(models[0]).parent), "-q"]) == 0
    assert [Path(model).read_bytes() for model in models] == expected


def test_two_of_one_name_are_refused_before_any_work(models: list[str], out: Path, tmp_path: Path,
                                                     capsys: Said) -> None:
    other = tmp_path / "one.tflite"
    other.write_bytes(batch_norm_model())
    with pytest.raises(SystemExit) as stopped:
        cli.main([*models, str(other), "-o", f"{out}/"])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and not out.exists() and said.count("\n") == 1
    assert f"{models[0]} and {other} would both be written to {out}/one.tflite" in said


def test_an_output_that_is_another_input_is_refused(models: list[str], out: Path, capsys: Said) -> None:
    out.mkdir()
    (out / "one.tflite").symlink_to(models[1])
    before = Path(models[1]).read_bytes()
    assert cli.main([*models, "-o", str(out)]) == 2
    assert "which is read" in capsys.readouterr().err and Path(models[1]).read_bytes() == before
    assert written(out) == ["one.tflite"]


@pytest.mark.parametrize("options", [["--json", "x"], ["--report", "x.html"], ["--resolver", "x.h"], ["--sketch", "x"],
                                     ["--c-array", "x.cc"], ["--explain"]])
def test_what_is_for_one_file_is_refused_by_name(options: list[str], models: list[str], out: Path,
                                                 capsys: Said) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([*models, "-o", f"{out}/", *options])
    assert stopped.value.code == 2 and options[0] in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize("output", [[], ["-o", "no_folder"]])
def test_several_want_a_folder(output: list[str], models: list[str], tmp_path: Path, capsys: Said,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        cli.main([*models, models[0], *output])
    assert stopped.value.code == 2 and "folder" in capsys.readouterr().err
    assert written(tmp_path) == ["in"]


@pytest.mark.parametrize("output, file", [("out.tflite", "out.tflite"), ("out/", "out/one.tflite"),
                                          ("there", "there/one.tflite")])
def test_one_file_may_go_to_a_file_or_to_a_folder(output: str, file: str, models: list[str], tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    assert cli.main([models[0], "-o", output, "-q"]) == 0
    assert Path(file).read_bytes() == alone(models[0], tmp_path)


def test_a_folder_whose_parent_is_missing_is_told_before_any_work(models: list[str], tmp_path: Path, capsys: Said,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflfuse.workers.Workers.answers", never)
    assert cli.main([*models, "-o", f"{tmp_path}/no/such/"]) == 2
    assert "no/such: No such file or directory" in capsys.readouterr().err


def test_a_missing_folder_is_told_before_any_work(models: list[str], tmp_path: Path, capsys: Said,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_file, "make", never)
    assert cli.main([models[0], str(tmp_path / "no/out.tflite")]) == 2
    assert cli.main([models[0], str(tmp_path / "out.tflite"), "--sketch", str(tmp_path / "no/demo")]) == 2
    assert cli.main([models[0], str(tmp_path / "out.tflite"), "--c-array", str(tmp_path / "model.c")]) == 2
    assert capsys.readouterr().err.count("\n") == 3


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("the work was begun")


def test_a_file_that_cannot_be_written_stops_no_other(models: list[str], out: Path, capsys: Said,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def full(source: str, target: Path) -> None:
        if target.name == "one.tflite":
            raise OSError(28, "No space left on device")
        replace(source, target)
    monkeypatch.setattr(os, "replace", full)
    assert cli.main([*models, "-o", f"{out}/", "--no-verify"]) == 2
    assert "No space left" in capsys.readouterr().err and written(out) == ["two.tflite"]


def test_interrupting_while_a_file_is_written(models: list[str], out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr(os, "fsync", interrupt)
    assert cli.main([*models, "-o", f"{out}/", "--no-verify", "-q"]) == 130
    assert not out.exists()


def test_an_interrupt_stops_all_and_leaves_nothing_half(tmp_path: Path, out: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.tflite").write_bytes(activation_model())
    command = [sys.executable, "-m", "tflfuse", *map(str, folder.iterdir()), "-o", f"{out}/", "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                          preexec_fn=heed_interrupts) as running:
        while not list(out.glob("*.tflite")):
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 130 and said.startswith("tflfuse: interrupted") and said.count("\n") == 1
    expected = alone(str(folder / "0.tflite"), tmp_path)
    found = written(out)
    assert 0 < len(found) < 40 and all((out / name).read_bytes() == expected for name in found)
