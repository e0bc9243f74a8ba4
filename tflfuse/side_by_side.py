"""Two models on the same samples, each in a process of its own, with a progress bar on a terminal."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .errors import TflfuseError
from .ir import Array, Subgraph
from .runner import ENGINES, Outcome, Runner
from .samples import given
from .verify import runnable

BATCH = 32
"""Samples sent to the interpreters at once."""

Outputs = list[list[Array]]
"""For each sample an array for each output."""


def run_both(before: bytes, after: bytes, graph: Subgraph, arrays: list[Array]) -> tuple[str, Outputs, Outputs]:
    """The interpreter's name and version, and what both models give in it: in TFLM where it can run the first, else in
    LiteRT.

    graph: whose inputs the arrays [samples, ...] are for. Raises TflfuseError where a model cannot be run.
    """
    reasons: list[str] = []
    first = next(batches(graph, arrays))
    for engine in ENGINES:
        with Runner() as runner:
            tried = runner.run(engine, runnable(engine, before), first[:1])
        if tried.error is None:
            models = [runnable(engine, model) for model in (before, after)]
            old, new = run_all(engine, models, graph, arrays)
            return tried.interpreter, old, new
        reasons.append(tried.error)
    raise TflfuseError("the model cannot be run: " + "; ".join(reasons))


def run_all(engine: str, models: list[bytes], graph: Subgraph, arrays: list[Array]) -> list[Outputs]:
    found: list[Outputs] = [[], []]
    columns = TextColumn("running both models"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, transient=True, console=Console(stderr=True),
                   disable=not (sys.stderr and sys.stderr.isatty()))
    with bar, Runner() as one, Runner() as other, ThreadPoolExecutor(2) as pool:
        task = bar.add_task("", total=len(arrays[0]))
        loaded: list[bytes | None] = [*models]
        for batch in batches(graph, arrays):
            runs = [pool.submit(runner.run, engine, model, batch)
                    for runner, model in zip((one, other), loaded, strict=True)]
            for outputs, done in zip(found, runs, strict=True):
                outputs += checked(done.result())
            loaded = [None, None]
            bar.advance(task, len(batch))
    return found


def checked(outcome: Outcome) -> Outputs:
    if outcome.error is not None:
        raise TflfuseError(outcome.error)
    return outcome.outputs


def batches(graph: Subgraph, arrays: list[Array]) -> Iterator[list[list[Array]]]:
    """Some samples at a time: for each an array for each input."""
    for start in range(0, len(arrays[0]), BATCH):
        stop = min(start + BATCH, len(arrays[0]))
        yield [[given(tensor, array[k]) for tensor, array in zip(graph.inputs, arrays, strict=True)]
               for k in range(start, stop)]
