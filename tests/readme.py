"""The commands that the README shows, and what they print."""
from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

from tflfuse import cli

PROJECT = Path(__file__).resolve().parent.parent
README = PROJECT / "README.md"
SHOWN = re.compile(r"(?<=```\n)\$ python -m tflfuse (.*)\n(?s:.*?)(?=```)")
"""A block that begins with a command, and has what it prints after it."""


def updated(text: str) -> str:
    """The README's text with what the commands print now. Their outputs go to a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        return SHOWN.sub(lambda shown: f"$ python -m tflfuse {shown[1]}\n{printed(shown[1], Path(folder))}", text)


def printed(arguments: str, folder: Path) -> str:
    """What a command prints; IN is a file of the project."""
    source, target, *options = shlex.split(arguments)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = cli.main([os.fspath(PROJECT / source), os.fspath(folder / target), *options])
    assert code == 0, f"python -m tflfuse {arguments} ended with {code}"
    return out.getvalue()
