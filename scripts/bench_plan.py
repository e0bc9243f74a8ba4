"""How long planning takes: which operators to fuse, and where tensors lie.

    python scripts/bench_plan.py MODEL.tflite ...        folders too; best of three, on folded models

runs: stretches of operators that were priced. cuts: ways to cut the network that were placed in memory. placements:
orders of the fused model's buffers that were tried. seconds: for all of it, and in parts.
"""
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tflfuse import flatbuffer, memory  # noqa: E402
from tflfuse.errors import BadModel, Refused  # noqa: E402
from tflfuse.folds import FOLDS  # noqa: E402
from tflfuse.fusions.chain_runs import chain_runs  # noqa: E402
from tflfuse.fusions.stretch import Stretch  # noqa: E402
from tflfuse.ir import Model  # noqa: E402
from tflfuse.plan import View, apply, rewrite  # noqa: E402

T = TypeVar("T")
RUNS = 3


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    heads = f"{'ops':>4s} {'runs':>5s} {'cuts':>5s} {'placements':>10s} {'search':>8s} {'place':>8s} {'sum':>7s}"
    print(f"{'model':50s} {heads}")
    for file in files(arguments):
        try:
            print(row(file), flush=True)
        except (BadModel, Refused) as error:
            print(f"{file.stem[:50]:50s} {error}")
    return 0


def files(arguments: list[str]) -> Iterator[Path]:
    for argument in map(Path, arguments):
        yield from sorted(argument.glob("*.tflite")) if argument.is_dir() else [argument]


def row(file: Path) -> str:
    model = flatbuffer.read(file.read_bytes())
    rewrite(model, FOLDS)
    operators = sum(1 for _ in model.operators)
    stretches = [Stretch(View.of(model, number), True) for number in range(len(model.subgraphs))]
    cuts = [stretch.cut() for stretch in stretches]
    search, _ = timed(lambda: chain_runs(model))
    apply_all(model)
    place, planned = timed(lambda: memory.plan(model))
    priced = sum(len(s.fused) + len(s.reasons) for s in stretches)
    considered = sum(cut.considered for cut in cuts)
    return (f"{file.stem[:50]:50s} {operators:4d} {priced:5d} {considered:5d} {planned.tried:10d} {search:8.2f} "
            f"{place:8.2f} {search + place:7.2f}")


def apply_all(model: Model) -> None:
    while (plan := chain_runs(model)).steps:
        apply(model, plan)
        rewrite(model, FOLDS)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the fastest run, and what it returned."""
    best, result = float("inf"), work()
    for _ in range(RUNS):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
