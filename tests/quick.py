"""A Runner whose interpreter is loaded without a capture of its messages: for thousands of small models.

It holds a small arena and prints into the file that the Runner keeps for a crash, so that a run of six inputs takes
about a millisecond. Everything else is tflfuse.runner's.
"""
from __future__ import annotations

import ctypes
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tflfuse import tflm
from tflfuse.chain_codec import OPERATOR
from tflfuse.errors import TflfuseError
from tflfuse.ir import Array
from tflfuse.runner import ENGINES, Outcome, Runner

START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tests.quick import serve; serve()"
ARENAS = 1 << 18, 1 << 23
LONGEST_MESSAGE = 4000


class Quick(Runner):
    """As Runner; `fill` is not heeded."""

    def __enter__(self) -> Quick:
        return self

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-c", START, json.dumps(sys.path)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)


def serve() -> None:
    """The process: answer requests on the standard input until it ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an interpreter prints must not get between the answers
    ctypes.CDLL(str(tflm.library()), mode=ctypes.RTLD_GLOBAL)
    loaded: list[Any] = []
    while True:
        try:
            engine, model, inputs, _ = pickle.load(requests)
        except EOFError:
            return
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)
        pickle.dump(answer(engine, model, inputs, loaded), answers)
        answers.flush()


def answer(engine: str, model: bytes | None, inputs: list[list[Array]], loaded: list[Any]) -> Outcome:
    """loaded: the interpreter of the run before, which a new model replaces."""
    try:
        if model is not None:
            loaded.clear()
            loaded.append(interpreter(model) if engine == "TFLM" else ENGINES[engine][1](model))
        if engine != "TFLM":
            return Outcome([loaded[0].run(arrays) for arrays in inputs], None, engine)
        held, count = loaded[0]
        outputs = [inference(held, count, arrays) for arrays in inputs]
        return Outcome(outputs, arena(held), engine)
    except (TflfuseError, RuntimeError, ValueError) as error:
        return Outcome([], error=f"{engine}: {error}: {' '.join(printed().split())}")


def interpreter(model: bytes) -> tuple[Any, int]:
    """And how many outputs it has."""
    from tflite_micro import runtime
    registerers = [tflm.REGISTERER] if OPERATOR.encode() in model else []
    for size in ARENAS:
        try:
            loaded = runtime.Interpreter.from_bytes(model, custom_op_registerers=registerers, arena_size=size)
            return loaded, tflm._counts(model)[1]
        except RuntimeError:
            if size == ARENAS[-1] or not tflm.OUT_OF_ARENA.search(printed()):
                raise
    raise AssertionError("there are sizes")


def inference(loaded: Any, outputs: int, inputs: Sequence[Any]) -> list[Array]:
    for index, array in enumerate(inputs):
        loaded.set_input(np.asarray(array), index)
    loaded.invoke()
    return [np.asarray(loaded.get_output(index)) for index in range(outputs)]


def arena(loaded: Any) -> tflm.Arena:
    loaded.print_allocations()
    found = dict(re.findall(r"Arena allocation (total|head|tail) (\d+) bytes", printed()))
    return tflm.Arena(int(found["total"]), int(found["head"]), int(found["tail"]))


def printed() -> str:
    """What the interpreter said since the last request."""
    ctypes.CDLL(None).fflush(None)
    return os.pread(2, LONGEST_MESSAGE, 0).decode("utf-8", "replace")
