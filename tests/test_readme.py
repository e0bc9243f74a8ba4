"""What the README shows is what happens."""
from __future__ import annotations

import contextlib
import io
import re

import pytest

from tests.readme import PROJECT, README, SHOWN, updated


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
