"""Functions called in processes of their own, so many at a time; one that ends takes only its own call with it.

    with Workers(2) as workers:
        for number, answer in workers.answers([(function, arguments), ...]):
            ...

Like those of `tflfuse.runner`, the processes are started as commands: a caller needs no `if __name__ == "__main__"`.
Functions and arguments travel as pickles, so a function must be one that can be imported.
"""
from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tflfuse.workers import serve; serve()"

Call = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Died:
    """The process ended before it answered. how: in one line."""

    how: str


class Workers:
    """count: processes at a time. Leaving the block ends them at once, whatever they are doing."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ended = False
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._lock:
            self._ended = True
            for child in self._children:
                child.kill()
        for thread in self._threads:
            thread.join()

    def answers(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """The number of each call with what it returned or a Died, as they come."""
        waiting = iter(enumerate(calls))
        answered: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, args=(waiting, answered), daemon=True)
                         for _ in range(min(self._count, len(calls)))]
        for thread in self._threads:
            thread.start()
        for _ in calls:
            yield answered.get()

    def _work(self, waiting: Iterator[tuple[int, Call]], answered: queue.SimpleQueue[tuple[int, Any]]) -> None:
        """One process after the other, until nothing is waiting."""
        child: subprocess.Popen[bytes] | None = None
        with tempfile.TemporaryFile() as errors:
            while (taken := self._next(waiting)) is not None:
                number, call = taken
                try:
                    child = child or self._started(errors)
                    answered.put((number, asked(child, call)))
                except (EOFError, OSError, pickle.UnpicklingError) as error:
                    answered.put((number, Died(self._gone(child, errors) if child else str(error))))
                    child = None
            if child is not None:
                self._gone(child, errors)

    def _next(self, waiting: Iterator[tuple[int, Call]]) -> tuple[int, Call] | None:
        with self._lock:
            return None if self._ended else next(waiting, None)

    def _started(self, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._ended:
                raise EOFError("ended")
            child = subprocess.Popen([sys.executable, "-I", "-c", START, json.dumps(sys.path)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
            self._children.add(child)
            return child

    def _gone(self, child: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
        """Wait for its end, and say how it ended with the last line that it said."""
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # what was still to be sent went with the process
        code = child.wait()
        with self._lock:
            self._children.discard(child)
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").strip().splitlines() or [""]
        errors.seek(0)
        errors.truncate()
        end = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return f"{end} ({lines[-1].strip()})" if lines[-1] else end


def asked(child: subprocess.Popen[bytes], call: Call) -> Any:
    """The answer. Raises EOFError, OSError or UnpicklingError where the process ends."""
    assert child.stdin is not None and child.stdout is not None
    pickle.dump(call, child.stdin)
    child.stdin.flush()
    return pickle.load(child.stdout)


def serve() -> None:
    """A process: answer calls on the standard input until it ends. An interrupt ends it without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints must not get between the answers
    while True:
        try:
            function, arguments = pickle.load(calls)
        except EOFError:
            return
        pickle.dump(function(*arguments), answers)
        answers.flush()
