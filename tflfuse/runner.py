"""Interpreters in a process of their own, because a model can bring them down.

    with Runner() as runner:
        outcome = runner.run("TFLM", model, [[image], [another]])

The process gets one model at a time over a pipe, so that a crash belongs to the model it was given; the next model
gets a new process. It is started as a command, not forked or spawned by `multiprocessing`: a caller needs no
`if __name__ == "__main__"`.
"""
from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import IO, Any, Protocol

import numpy as np

from . import tflm
from .errors import TflfuseError
from .ir import Array

START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tflfuse.runner import serve; serve()"

M_PERTURB = -6  # mallopt: fill what malloc gives out, and what free takes back


@dataclass(frozen=True)
class Outcome:
    """What became of one model.

    outputs: for each inference an array for each graph output; empty where there is an error.
    arena: TFLM only. interpreter: its name and version. error: one line, None where all went well.
    """

    outputs: list[list[Array]]
    arena: tflm.Arena | None = None
    interpreter: str = ""
    error: str | None = None


class Runner:
    """A process that runs models; started when first needed, ended on leaving the `with` block."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stop()
        self._errors.close()

    def run(self, engine: str, model: bytes | None, inputs: Sequence[Sequence[Array]], fill: int = 0) -> Outcome:
        """Inferences of one fresh interpreter in order, so that variables carry over from each to the next.

        engine: a key of ENGINES. model: None lets the interpreter of the run before go on. inputs: for each inference
        an array for each graph input. fill: the byte that memory holds before anybody writes to it (its complement, in
        fact; with the GNU C library only), 0: whatever it held.
        """
        assert model is not None or self._child is not None, "there is no interpreter that could go on"
        child = self._child = self._child or self._started()
        assert child.stdin is not None and child.stdout is not None
        try:
            pickle.dump((engine, model, [list(arrays) for arrays in inputs], fill), child.stdin)
            child.stdin.flush()
            outcome = pickle.load(child.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return Outcome([], error=self._crash(child))
        assert isinstance(outcome, Outcome)
        return outcome

    def _started(self) -> subprocess.Popen[bytes]:
        self._errors.truncate(0)
        self._errors.seek(0)
        command = [sys.executable, "-I", "-c", START, json.dumps(sys.path)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def _crash(self, child: subprocess.Popen[bytes]) -> str:
        """How the process ended, and the last line that it said."""
        self._stop()
        code = child.returncode
        end = signal.Signals(-code).name if code < 0 else f"exit {code}"
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"the interpreter crashed: {end}" + (f" ({last})" if last else "")

    def _stop(self) -> None:
        """End the process and wait for it: it leaves by itself when nothing more can come."""
        child, self._child = self._child, None
        if child is None:
            return
        try:
            child.communicate()
        except BrokenPipeError:
            child.wait()
        except KeyboardInterrupt:
            child.kill()
            raise


class Engine(Protocol):
    """A model that can be run."""

    def run(self, inputs: Sequence[Array]) -> list[Array]: ...


class LiteRt:
    """A model in LiteRT with its reference kernels. Raises TflfuseError with LiteRT's message in one line."""

    def __init__(self, model: bytes) -> None:
        try:
            from ai_edge_litert.interpreter import Interpreter, OpResolverType
        except ImportError as error:
            raise TflfuseError(f"LiteRT is not installed ({error}): pip install ai-edge-litert") from error
        self._interpreter: Any = _told(lambda: Interpreter(
            model_content=model, num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF))
        _told(self._interpreter.allocate_tensors)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference, as tflm.Interpreter.run."""
        wanted = self._interpreter.get_input_details()
        if len(wanted) != len(inputs):
            raise TflfuseError(f"the model has {len(wanted)} inputs, {len(inputs)} arrays were given")
        for detail, array in zip(wanted, inputs, strict=True):
            _told(lambda: self._interpreter.set_tensor(detail["index"], array))
        _told(self._interpreter.invoke)
        return [np.asarray(self._interpreter.get_tensor(detail["index"]))
                for detail in self._interpreter.get_output_details()]


def _told(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except (RuntimeError, ValueError) as error:
        line = "; ".join(part.strip() for part in str(error).splitlines() if part.strip())
        raise TflfuseError(f"LiteRT cannot run the model: {line}") from error


ENGINES: dict[str, tuple[str, Callable[[bytes], Engine]]] = {
    "TFLM": ("tflite-micro", tflm.Interpreter),
    "LiteRT": ("ai-edge-litert", LiteRt),
}
"""By name: the distribution that has the interpreter, and how to load a model into it."""


def serve() -> None:
    """The process: answer requests on the standard input until it ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an interpreter prints must not get between the answers
    loaded: list[Engine] = []
    while True:
        try:
            engine, model, inputs, fill = pickle.load(requests)
        except EOFError:
            return
        if hasattr(CDLL(None), "mallopt"):
            CDLL(None).mallopt(M_PERTURB, fill)
        pickle.dump(_outcome(engine, model, inputs, loaded), answers)
        answers.flush()


def _outcome(engine: str, model: bytes | None, inputs: list[list[Array]], loaded: list[Engine]) -> Outcome:
    """loaded: the interpreter of the run before, which a new model replaces."""
    distribution, load = ENGINES[engine]
    try:
        if model is not None:
            loaded.clear()
            loaded.append(load(model))
        interpreter, = loaded
        outputs = [interpreter.run(arrays) for arrays in inputs]
        arena = interpreter.arena if isinstance(interpreter, tflm.Interpreter) else None
    except TflfuseError as error:
        return Outcome([], error=str(error))
    return Outcome(outputs, arena, f"{engine} {version(distribution)}")
