"""python -m tflfuse --check FILE ORIGINAL: exit codes and what they say."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.test_check import changed, flip_a_weight, original
from tflfuse import cli, flatbuffer
from tflfuse.ir import Model
from tflfuse.pipeline import fuse


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The fused file and its original."""
    fused, source = tmp_path / "fused.tflite", tmp_path / "original.tflite"
    source.write_bytes(original())
    fused.write_bytes(fuse(original()).model)
    return fused, source


def test_what_was_made_of_the_original_is_proved(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    assert cli.main(["--check", *map(str, files), "--verify", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("proved: 2 fused operators derived once more; all outputs equal") and said.err == ""


def test_what_was_changed_is_told_in_one_line(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    fused, source = files
    fused.write_bytes(changed(fused.read_bytes(), flip_a_weight))
    assert cli.main(["--check", str(fused), str(source)]) == 3
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert f"{fused}: not made of {source}: " in said.err and "has other weights" in said.err


def strip(model: Model) -> None:
    model.metadata = None


def bend(model: Model) -> None:
    entry = next(m for m in model.metadata or () if m.name == b"tflfuse")
    entry.buffer.data = np.zeros(3, np.uint8)


@pytest.mark.parametrize("change, reason", [(strip, "it has no certificate"), (bend, "cannot be read")])
def test_without_a_certificate_it_is_told(files: tuple[Path, Path], change: Callable[[Model], None], reason: str,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    fused, source = files
    fused.write_bytes(changed(fused.read_bytes(), change))
    assert cli.main(["--check", str(fused), str(source)]) == 2
    assert reason in capsys.readouterr().err


def test_files_that_are_no_models_are_told_apart(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    fused, source = files
    assert cli.main(["--check", str(fused), str(fused.with_name("none"))]) == 2
    assert "none: No such file" in capsys.readouterr().err
    source.write_bytes(b"nothing")
    assert cli.main(["--check", str(fused), str(source)]) == 2
    assert "fused.tflite: its original cannot be read: " in capsys.readouterr().err


@pytest.mark.parametrize("arguments, reason", [
    (["a"], "--check takes two files"), (["a", "b", "c"], "--check takes two files"),
    (["a", "b", "--exact"], "--check does not take --exact"), (["a", "b", "-o", "c"], "--check does not take --output"),
    (["a", "b", "--no-verify"], "--check does not take --no-verify")])
def test_arguments_that_make_no_sense(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--check", *arguments])
    assert ended.value.code == 2 and reason in capsys.readouterr().err


def test_it_writes_nothing(files: tuple[Path, Path]) -> None:
    before = {path: path.read_bytes() for path in files}
    assert cli.main(["--check", *map(str, reversed(files)), "-q"]) == 2
    assert {path: path.read_bytes() for path in files[0].parent.iterdir()} == before
    assert flatbuffer.read(before[files[1]]).metadata is None
