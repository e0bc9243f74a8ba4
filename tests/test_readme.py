"""What the README shows is what happens."""
from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from tflfuse import cli

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text()


def test_the_worked_example_prints_what_the_readme_shows(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"\$ python -m tflfuse (.*)\n((?s:.*?))```", README)
    assert shown
    source, target = shlex.split(shown[1])
    monkeypatch.chdir(PROJECT)
    assert cli.main([source, str(tmp_path / target)]) == 0
    assert capsys.readouterr().out == shown[2]


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    source = re.search(r"```python\n((?s:.*?))```", README)
    assert source
    monkeypatch.chdir(PROJECT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source[1], {})
    assert "in TFLM" in printed.getvalue()
