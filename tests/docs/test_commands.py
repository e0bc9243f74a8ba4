"""Every command that the docs and --help show is run, and does what it says: it ends with 0 and writes its files."""
from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.converted import DATA
from tests.readme import updated
from tflfuse import fuse

from .instead import INSTEAD, instead_of
from .markdown import FILES, PROJECT, commands

MODEL = DATA / "squeeze_excite_open_batch.tflite"
WRITTEN = (".tflite", ".cc", ".cpp", ".h", ".html", ".json")


def examples_of_help() -> list[str]:
    done = subprocess.run([sys.executable, "-m", "tflfuse", "--help"], capture_output=True, text=True, cwd=PROJECT,
                          check=True)
    lines = done.stdout[done.stdout.index("\nexamples:\n"):].splitlines()
    return [line.split("   ")[0].split("  ")[0] for line in map(str.strip, lines) if line.startswith("python ")]


SHOWN = tuple(dict.fromkeys([*(command for file in FILES for command in commands(file)), *examples_of_help()]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader might be: with a model, a fused one, several, and the project's examples."""
    for name in ("model.tflite", "IN", "models/first.tflite", "models/second.tflite"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(MODEL.read_bytes())
    (tmp_path / "fused.tflite").write_bytes(fuse(MODEL.read_bytes()).model)
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    return tmp_path


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_does_what_it_says(command: str, folder: Path, tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    instead = instead_of(command)
    if instead is not None:
        aside = tmp_path / "aside"
        aside.mkdir()
        instead.check(command, aside, monkeypatch)
        return
    words = shlex.split(command)
    ours = words[:3] == ["python", "-m", "tflfuse"] or words[0] == "tflfuse"
    assert ours, f"no test runs this: {command}; what cannot run as it stands is listed in tests/docs/instead.py"
    for name, arguments in (("python", '"$@"'), ("tflfuse", '-m tflfuse "$@"')):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}\n')
        program.chmod(0o755)
    done = subprocess.run(["sh", "-ec", command], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
                               "PYTHONPATH": os.fspath(PROJECT)})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout or "-q" in words
    for word in words:
        if word.endswith(WRITTEN) and "*" not in word:
            assert (folder / word).is_file(), f"{word} is not there"


def test_the_list_of_what_is_run_otherwise_names_nothing_that_is_gone() -> None:
    used = {id(instead_of(command)) for command in SHOWN}
    assert [command for command, instead in INSTEAD.items() if id(instead) not in used or not instead.reason] == []


def test_the_worked_examples_print_what_the_readme_shows() -> None:
    text = (PROJECT / "README.md").read_text()
    assert "$ python -m tflfuse " in text
    assert updated(text) == text, "python scripts/update_readme.py writes what the commands print now"
