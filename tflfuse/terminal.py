"""What people see: on the standard output the report, on the error output what is being done and what went wrong."""
from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text
from rich.theme import Theme

from .wrapping import visible, wrapped


class Spinner:
    """On a terminal, while something is being done, what that is: `with Spinner() as progress: progress("reading")`."""

    def __init__(self, shown: bool = True) -> None:
        self._bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), transient=True,
                             console=Console(stderr=True),
                             disable=not shown or is_dumb() or not (sys.stderr and sys.stderr.isatty()))
        self._task = self._bar.add_task("reading")

    def __call__(self, what: str) -> None:
        self._bar.update(self._task, description=what)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Room for lines above it."""
        self._bar.stop()
        yield
        self._bar.start()

    def __enter__(self) -> Spinner:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._bar.stop()


class Colours(RegexHighlighter):
    """What to look at in a line of a report."""

    highlights = [r"-> (?P<after>[\d,]+)", r"^(?P<good>verified:.*equal)", r"^(?P<bad>not verified)",
                  r"^(?P<head>(?:not )?fused|unchanged)\b", r"(?P<place>#\d+(?:-#\d+)?)", r"^(?P<note>note|also|left):"]


COLOURS = Colours()
THEME = Theme({"after": "bold green", "good": "green", "bad": "bold yellow", "head": "bold", "place": "cyan",
               "note": "yellow"})


def columns() -> int | None:
    """Of the terminal that is the standard output; None where that is none."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def is_dumb() -> bool:
    """Whether the terminal shows no colours and moves no cursor."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def say(report: str, wrap: bool = True) -> int:
    """Print it; the exit code. On a terminal in its width and in colours, unless NO_COLOR or TERM=dumb forbid them.

    What the output's encoding lacks, and what would control a terminal, comes as escapes. Whoever reads it may leave
    early.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = visible(report).encode(encoding, "backslashreplace").decode(encoding)
    try:
        width = columns()
        if width is None:
            print(text, flush=True)
        else:
            show("\n".join(part for line in text.split("\n") for part in wrapped(line, width)) if wrap else text)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        return 0 if isinstance(error, BrokenPipeError) else fail(2, f"the report cannot be printed: {error.strerror}")
    return 0


def show(text: str) -> None:
    """On a terminal."""
    if os.environ.get("NO_COLOR") or is_dumb():
        print(text, flush=True)
        return
    console = Console(theme=THEME, soft_wrap=True)
    for line in text.split("\n"):
        console.print(COLOURS(Text(line)))
    sys.stdout.flush()


def fail(code: int, message: str) -> int:
    """Say what went wrong in one line; the exit code."""
    if sys.stderr is not None:
        print("tflfuse: " + visible(" ".join(message.split())), file=sys.stderr)
    return code
