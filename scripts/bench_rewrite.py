#!/usr/bin/env python3
"""How long reading and writing takes and how much memory, against the object API of ai_edge_litert in the same run.

    scripts/bench_rewrite.py [megabytes ...]

Times are the best of several interleaved runs. Peak memory is the resident size a fresh process reaches above what it
has before it loads the file, as a multiple of the file's size. At the end a 300-operator model is fused.
"""
from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tflfuse import flatbuffer  # noqa: E402
from tflfuse.ir import Buffer, Model, Operator, OperatorCode, Quantization, Subgraph, Table, Tensor  # noqa: E402

MEGABYTES = (1, 2, 5, 10, 20, 50, 100, 200)
MANY = 10_000
"""Operators of the model with many small tensors."""
LAYERS = 20
RUNS = 5


def layers(count: int, channels: int, affine: bool = False) -> bytes:
    """A chain of int8 1x1 convolutions, or of float32 ones each followed by MUL and ADD with constants."""
    rng = np.random.default_rng(channels)
    empty = Buffer()
    codes = {name: OperatorCode.of(name, 3 if name == "CONV_2D" else 1) for name in ("CONV_2D", "MUL", "ADD")}
    dtype, activations = (np.float32, None) if affine else (np.int8, Quantization.of(0.1, 3))
    kind = Tensor.constant(np.zeros(1, dtype)).type

    def value(name: str) -> Tensor:
        return Tensor((1, 4, 4, channels), kind, empty, name.encode(), activations)

    x = value("input")
    tensors, operators = [x], []
    for number in range(count):
        weights = rng.integers(-127, 128, (channels, 1, 1, channels)).astype(dtype)
        scales = rng.uniform(0.01, 0.02, channels).astype(np.float32)
        bias = rng.integers(-99, 99, channels).astype(np.float32 if affine else np.int32)
        w = Tensor.constant(weights, b"layer%d/w" % number, None if affine else Quantization.of(scales))
        b = Tensor.constant(bias, b"layer%d/b" % number, None if affine else Quantization.of(scales * 0.1))
        steps = [("CONV_2D", [w, b], Table.of("Conv2DOptions", stride_w=1, stride_h=1))]
        if affine:
            steps += [("MUL", [Tensor.constant(scales, b"layer%d/gamma" % number)], Table.of("MulOptions")),
                      ("ADD", [Tensor.constant(bias, b"layer%d/beta" % number)], Table.of("AddOptions"))]
        for name, constants, options in steps:
            y = value(f"layer{number}/{name}")
            tensors += [*constants, y]
            operators.append(Operator(codes[name], [x, *constants], [y], options))
            x = y
    graph = Subgraph(tensors, [tensors[0]], [x], operators, b"main")
    return flatbuffer.write(Model([graph], [], [empty]))


def ours(data: bytes) -> bytes:
    return flatbuffer.write(flatbuffer.read(data))


def object_api(data: bytes) -> bytes:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema
    builder = flatbuffers.Builder()
    builder.Finish(schema.ModelT.InitFromObj(schema.Model.GetRootAs(data)).Pack(builder), b"TFL3")
    return bytes(builder.Output())


METHODS: dict[str, Callable[[bytes], bytes]] = {"tflfuse": ours, "object API": object_api}


def seconds(data: bytes) -> dict[str, float]:
    """The best time of each method, runs interleaved."""
    best = dict.fromkeys(METHODS, float("inf"))
    for _ in range(RUNS):
        for name, method in METHODS.items():
            start = time.perf_counter()
            method(data)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def resident(key: str) -> int:
    """VmRSS or VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise LookupError(key)


def peak_here(method: str, path: str) -> int:
    """What one run adds to this process's memory at its peak, the file included."""
    METHODS[method](layers(2, 4))  # modules that are loaded on first use do not count
    before = resident("VmRSS")
    data = Path(path).read_bytes()
    out = METHODS[method](data)
    assert out
    return max(0, resident("VmHWM") - before)


def peak(method: str, path: Path) -> int:
    command = [sys.executable, __file__, "--peak", method, str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def row(title: str, data: bytes) -> str:
    best = seconds(data)
    with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
        file.write(data)
        file.flush()
        peaks = {name: peak(name, Path(file.name)) / len(data) for name in METHODS}
    a, b = METHODS
    return (f"{title:24} {len(data) / 1e6:8.1f} {best[a] * 1e3:10.1f} {best[b] * 1e3:12.1f} {best[a] / best[b]:7.2f}"
            f" {best[a] * 1e9 / len(data):9.2f} {peaks[a]:9.2f} {peaks[b]:12.2f}")


def fuse_300() -> str:
    """Plan and rewrite 100 times CONV_2D -> MUL -> ADD."""
    import tflfuse
    data = layers(100, 16, affine=True)
    start = time.perf_counter()
    result = tflfuse.fuse(data)
    took = time.perf_counter() - start
    left = sum(1 for _ in flatbuffer.read(result.model).operators)
    return f"300 operators planned and rewritten to {left} in {took:.2f} s"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--peak"]:
        print(peak_here(*arguments[1:]))
        return
    print(f"{'model':24} {'MB':>8} {'ours ms':>10} {'object ms':>12} {'ratio':>7} {'ours ns/B':>9} {'ours peak':>9}"
          f" {'object peak':>12}")
    for megabytes in [float(a) for a in arguments] or MEGABYTES:
        channels = int((megabytes * 1e6 / LAYERS) ** 0.5)
        print(row(f"{LAYERS} operators", layers(LAYERS, channels)), flush=True)
    print(row(f"{MANY} operators", layers(MANY, 4)), flush=True)
    print(fuse_300())


if __name__ == "__main__":
    main(sys.argv[1:])
