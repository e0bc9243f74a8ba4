"""What went wrong, sorted by where it did: one input of each kind is kept."""
from __future__ import annotations

import json
import time
import traceback
from collections import Counter
from pathlib import Path

from .limits import TooSlow
from .target import Reached

EVERY = 5.0
"""Seconds between two states of the figures: a fuzzer may end without a word."""


class Findings:
    """Counts of what was reached and found, written into a folder together with one input of each kind.

    They go on from those that are there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "figures.json"
        state = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.reached: Counter[str] = Counter(state.get("reached", {}))
        self.found: Counter[str] = Counter(state.get("findings", {}))
        self.written = time.monotonic()
        self.begin = self.written - state.get("seconds", 0.0)
        folder.mkdir(parents=True, exist_ok=True)

    def passed(self, reached: Reached) -> None:
        self.reached[reached.name] += 1
        if time.monotonic() - self.written > EVERY:
            self.write()

    def failed(self, data: bytes, error: BaseException) -> None:
        kind = kind_of(error)
        self.found[kind] += 1
        if self.found[kind] == 1:
            name = "".join(c if c.isalnum() or c in "-." else "_" for c in kind)[:120]
            (self.folder / f"{name}.tflite").write_bytes(data)
            (self.folder / f"{name}.txt").write_text("".join(traceback.format_exception(error)))
            print(f"FINDING {kind}: {str(error)[:200]}", flush=True)
            self.write()

    @property
    def executions(self) -> int:
        return self.reached.total() + self.found.total()

    def write(self) -> None:
        """The state, as a whole or not at all."""
        self.written = time.monotonic()
        state = {"executions": self.executions, "seconds": round(self.written - self.begin, 1),
                 "reached": {r.name: self.reached[r.name] for r in Reached}, "findings": dict(self.found)}
        new = self.folder / "figures.new"
        new.write_text(json.dumps(state, indent=1) + "\n")
        new.replace(self.file)


def kind_of(error: BaseException) -> str:
    """The exception and where it was raised; not where, for what takes too long, but in which function."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((f for f in reversed(frames) if "/tflfuse/" in f.filename), frames[-1])
    where = frame.name if isinstance(error, (TooSlow, MemoryError)) else str(frame.lineno)
    what = f" {str(error)[:60]}" if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} {Path(frame.filename).name} {where}{what}"
