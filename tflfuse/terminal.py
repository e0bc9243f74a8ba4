"""What people see: on the standard output the report, on the error output what is being done and what went wrong."""
from __future__ import annotations

import os
import sys
from types import TracebackType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Spinner:
    """On a terminal, while something is being done, what that is: `with Spinner() as progress: progress("reading")`."""

    def __init__(self, shown: bool = True) -> None:
        self._bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), transient=True,
                             console=Console(stderr=True),
                             disable=not shown or not (sys.stderr and sys.stderr.isatty()))
        self._task = self._bar.add_task("reading")

    def __call__(self, what: str) -> None:
        self._bar.update(self._task, description=what)

    def __enter__(self) -> Spinner:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._bar.stop()


def say(report: str) -> int:
    """Print it, with what the output's encoding lacks as escapes; the exit code. Whoever reads it may leave early."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(report.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        return 0 if isinstance(error, BrokenPipeError) else fail(2, f"the report cannot be printed: {error.strerror}")
    return 0


def fail(code: int, message: str) -> int:
    """Say what went wrong in one line; the exit code."""
    print("tflfuse: " + " ".join(message.split()), file=sys.stderr)
    return code
