"""A process with the shim before the C library that has imported the command and runs it for each request in a fork.

A request is a line of JSON, a list of what Run holds; the answer is such a line of Answers.
"""
from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


@dataclass(frozen=True)
class Run:
    """arguments: of the command. folder: where calls are counted. at: the call at which it happens, 0: none.

    action: an errno, a negative signal, or TRUNCATE; victim: what is then truncated. kill_after: seconds until a signal
    comes from outside, 0: none; then action is that signal. as_nobody: give up root first. file_bytes: limit of a size
    of a file, 0: none.
    """

    arguments: list[str]
    folder: str
    at: int = 0
    action: int = 0
    victim: str = ""
    kill_after: float = 0.0
    as_nobody: bool = False
    file_bytes: int = 0


@dataclass(frozen=True)
class Answer:
    """code: the exit code, a signal's number negated. calls: counted, if the process ended by itself. said: stderr."""

    code: int
    calls: int
    said: str


MODEL = PROJECT / "tests/data/conv_bn_relu6.tflite"
TRUNCATE = -1000
NEVER = 1 << 40
NOBODY = 65534


class Server:
    """The process, from this side."""

    def __init__(self, folder: Path) -> None:
        shim = folder / "libshim.so"
        subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
                        str(HERE / "shim.cc"), "-o", str(shim)], check=True)
        environment = os.environ | {"LD_PRELOAD": str(shim), "PYTHONPATH": str(PROJECT)}
        self._child = subprocess.Popen([sys.executable, "-m", "tests.faults.server", str(shim)], env=environment,
                                       cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._child.communicate()

    def run_together(self, *runs: Run) -> list[Answer]:
        """All at the same time."""
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.write(json.dumps([asdict(run) for run in runs]) + "\n")
        self._child.stdin.flush()
        return [Answer(**answer) for answer in json.loads(self._child.stdout.readline())]

    def run(self, run: Run) -> Answer:
        return self.run_together(run)[0]


def serve(shim: str) -> None:
    from tflfuse import cli, html_report  # noqa: F401  whatever is imported late is imported before the first fork
    library = ctypes.CDLL(shim)
    library.fault_calls.restype = ctypes.c_long
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cli.main([str(MODEL), "--explain", "--no-verify", "-q"])
    for line in sys.stdin:
        runs = [Run(**fields) for fields in json.loads(line)]
        children = [forked(run, library) for run in runs]
        outcomes = [asdict(outcome(run, *child)) for run, child in zip(runs, children, strict=True)]
        answers.write(json.dumps(outcomes) + "\n")
        answers.flush()


def forked(run: Run, library: ctypes.CDLL) -> tuple[int, IO[bytes], IO[bytes]]:
    """Its process, and where it writes what it says and its number of calls."""
    said_from, said_to = os.pipe()
    calls_from, calls_to = os.pipe()
    child = os.fork()
    if child:
        os.close(said_to)
        os.close(calls_to)
        return child, os.fdopen(said_from, "rb"), os.fdopen(calls_from, "rb")
    code = 70
    try:
        os.dup2(said_to, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = command(run, library)
        os.write(calls_to, str(library.fault_calls()).encode())
    finally:
        os._exit(code)


def command(run: Run, library: ctypes.CDLL) -> int:
    """The exit code of the command in this process."""
    from tflfuse import cli
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if run.file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (run.file_bytes, run.file_bytes))
    if run.as_nobody:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    action = 0 if run.kill_after else run.action
    library.fault_arm(os.fsencode(run.folder), os.fsencode(run.victim), ctypes.c_long(run.at or NEVER), action)
    try:
        return cli.main(run.arguments)
    except SystemExit as error:
        return int(error.code or 0)
    except BaseException:  # what Python would print and end with 1
        traceback.print_exc()
        return 1


def outcome(run: Run, child: int, said: IO[bytes], calls: IO[bytes]) -> Answer:
    if run.kill_after:
        time.sleep(run.kill_after)
        os.kill(child, -run.action)
    with said, calls:
        text, number = said.read().decode("utf-8", "replace"), calls.read()
    _, status = os.waitpid(child, 0)
    return Answer(os.waitstatus_to_exitcode(status), int(number or 0), text)


if __name__ == "__main__":
    serve(sys.argv[1])
