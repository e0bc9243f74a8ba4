"""The genuine TFLM interpreter, from the tflite-micro wheel, in this process.

TFLM trusts its model: a bad one may end the process. `tflfuse.runner` runs it in a process of its own.
"""
from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from .chain_codec import OPERATOR
from .errors import TflfuseError
from .ir import Array

ARENA_SIZES = (64 << 20, 512 << 20, 4 << 30)
"""Bytes to try in turn. Pages that the interpreter does not touch cost nothing, so the first size is generous."""

REGISTERER = "TflfuseRegister"
"""What to hand to the wheel's custom_op_registerers once `library()` is loaded with RTLD_GLOBAL."""

OUT_OF_ARENA = re.compile(r"missing: \d+|Requested: \d+|[Aa]rena size is too small|Failed to allocate")


class TflmError(TflfuseError):
    """The interpreter is missing, or it cannot run a model; the message carries TFLM's own words in one line."""


@dataclass(frozen=True)
class Arena:
    """What the model takes of the arena, in bytes, with 64-bit pointers.

    head: the tensors' memory plan and scratch buffers. tail: what lives as long as the interpreter.
    """

    total: int
    head: int
    tail: int


class Interpreter:
    """A model in the TFLM interpreter, its variables as they are at the start.

    model: a .tflite file's bytes; the interpreter works on a copy. Raises TflmError where the wheel is not
    installed or TFLM refuses the model.
    """

    def __init__(self, model: bytes) -> None:
        self.inputs, self.outputs = _counts(model)
        self._interpreter = _allocated(bytes(memoryview(model)))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference: an array for each graph input, of its exact shape and type, to one for each output.

        Variables keep their values from one run to the next.
        """
        if len(inputs) != self.inputs:
            raise TflmError(f"the model has {self.inputs} inputs, {len(inputs)} arrays were given")
        with _told("TFLM cannot run the model"):
            for index, array in enumerate(inputs):
                self._interpreter.set_input(np.asarray(array), index)
            self._interpreter.invoke()
            return [np.asarray(self._interpreter.get_output(index)) for index in range(self.outputs)]

    @property
    def arena(self) -> Arena:
        """The figures that the interpreter prints of its own allocations."""
        with _captured() as text:
            self._interpreter.print_allocations()
            found = dict(re.findall(r"Arena allocation (total|head|tail) (\d+) bytes", text()))
        return Arena(int(found["total"]), int(found["head"]), int(found["tail"]))


def library() -> Path:
    """The shared library of the kernel pack for this machine; TflmError where it was not built."""
    found = importlib.util.find_spec("tflfuse._kernels")
    if found is None or found.origin is None:
        raise TflmError("the kernel library was not built when tflfuse was installed: install a C++17 compiler "
                        "(Debian, Ubuntu: apt-get install g++) and then tflfuse again")
    return Path(found.origin)


def installed() -> bool:
    """Whether the wheel is."""
    return importlib.util.find_spec("tflite_micro") is not None


def name() -> str:
    """Which interpreter this is, for reports."""
    _runtime()
    return f"TFLM {version('tflite-micro')}"


def _runtime() -> Any:
    try:
        from tflite_micro import runtime
    except ImportError as error:
        raise TflmError(f"the TFLM interpreter is not installed ({error}): pip install 'tflfuse[tflm]', "
                        "or '.[tflm]' in its folder") from error
    return runtime


def _counts(model: bytes) -> tuple[int, int]:
    """How many inputs and outputs the main subgraph has."""
    try:
        root = tflite.Model.GetRootAs(model, 0)
        main = root.Subgraphs(0) if root.SubgraphsLength() else None
        counts = None if main is None else (main.InputsLength(), main.OutputsLength())
    except Exception as error:  # whatever the generated reader runs into
        raise TflmError(f"the model cannot be read: {error}") from error
    if counts is None:
        raise TflmError("the model has no subgraph")
    return counts


def _allocated(model: bytes) -> Any:
    """An interpreter with its tensors allocated, in the smallest arena tried that holds them."""
    runtime = _runtime()
    registerers = [_loaded()] if OPERATOR.encode() in model else []
    for size in ARENA_SIZES:
        try:
            with _told("TFLM cannot load the model"):
                return runtime.Interpreter.from_bytes(model, custom_op_registerers=registerers, arena_size=size)
        except TflmError as error:
            if size == ARENA_SIZES[-1] or not OUT_OF_ARENA.search(str(error)):
                raise


@lru_cache(maxsize=1)
def _loaded() -> str:
    """Load the kernels where the wheel looks for them, once; the name of their registerer."""
    ctypes.CDLL(str(library()), mode=ctypes.RTLD_GLOBAL)
    return REGISTERER


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn what goes wrong inside into one line with TFLM's own message."""
    with _captured() as text:
        try:
            yield
        except Exception as error:  # the wheel raises RuntimeError, ValueError, IndexError, struct.error, MemoryError
            own = "; ".join(line.strip() for line in text().splitlines() if line.strip())
            raise TflmError(f"{what}: {own or error or type(error).__name__}") from error


@contextmanager
def _captured() -> Iterator[Callable[[], str]]:
    """Catch what is written to file descriptors 1 and 2 meanwhile; yields a function that reads it."""
    ctypes.CDLL(None).fflush(None)  # what was written before belongs where it was going
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with tempfile.TemporaryFile() as file:
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield lambda: _written(file)
        finally:
            ctypes.CDLL(None).fflush(None)
            for descriptor, saved in zip((1, 2), kept, strict=True):
                os.dup2(saved, descriptor)
                os.close(saved)


def _written(file: Any) -> str:
    ctypes.CDLL(None).fflush(None)
    file.seek(0)
    return str(file.read().decode("utf-8", "replace"))
