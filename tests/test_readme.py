"""What the README shows is what happens."""
from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.readme import PROJECT, README, SHOWN, updated
from tflfuse import cli


def test_the_worked_examples_print_what_the_readme_shows() -> None:
    text = README.read_text()
    assert [m[1].split()[2:] for m in SHOWN.finditer(text)] == [[], ["--builtin-only"]]
    assert updated(text) == text, "python scripts/update_readme.py writes what the commands print now"


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    source = re.search(r"```python\n((?s:.*?))```", README.read_text())
    assert source
    monkeypatch.chdir(PROJECT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source[1], {})
    assert "in TFLM" in printed.getvalue()


def test_the_commands_that_write_firmware_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.tflite").write_bytes((PROJECT / "tests/data/squeeze_excite_open_batch.tflite").read_bytes())
    commands = re.findall(r"^python -m tflfuse (model.tflite fused.tflite --.*?) +#", README.read_text(), re.MULTILINE)
    assert len(commands) == 2
    for arguments in commands:
        assert cli.main([*arguments.split(), "-q"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"model.tflite", "fused.tflite", "demo", "model.cc", "model.h",
                                                          "ops.h"}
