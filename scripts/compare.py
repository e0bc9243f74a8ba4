"""Run two int8 .tflite files in the TFLM interpreter and print what the second one gains: compare.py BEFORE AFTER"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from tflfuse import flatbuffer
from tflfuse.tflm import Interpreter

RUNS = 100


def random_inputs(model: bytes) -> list[list[Any]]:
    """RUNS times an int8 array for each input of the model, the same at every call."""
    random = np.random.default_rng(0)
    shapes = [tensor.shape for tensor in flatbuffer.read(model).subgraphs[0].inputs]
    return [[random.integers(-128, 128, shape, np.int8) for shape in shapes] for _ in range(RUNS)]


def largest_difference(before: Interpreter, after: Interpreter, inputs: list[list[Any]]) -> int:
    """In steps of the output's quantization."""
    pairs = [pair for arrays in inputs for pair in zip(before.run(arrays), after.run(arrays), strict=True)]
    return max(int(np.abs(a.astype(int) - b.astype(int)).max()) for a, b in pairs)


def main() -> None:
    files = [Path(argument).read_bytes() for argument in sys.argv[1:3]]
    interpreters = [Interpreter(file) for file in files]
    rows = {
        "operators": [sum(1 for _ in flatbuffer.read(file).operators) for file in files],
        "file, bytes": [len(file) for file in files],
        "arena, bytes": [interpreter.arena.total for interpreter in interpreters],
    }
    print(f"{'in the TFLM interpreter':<24}{'before':>10}{'after':>10}")
    for name, (before, after) in rows.items():
        print(f"{name:<24}{before:>10,}{after:>10,}  {after / before - 1:+.0%}")
    difference = largest_difference(interpreters[0], interpreters[1], random_inputs(files[0]))
    why = "; re-quantizing steps round once less, see above" if difference else ""
    print(f"largest output difference over {RUNS} random inputs: {difference} of 256 steps{why}")


if __name__ == "__main__":
    main()
