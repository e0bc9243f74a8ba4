"""What the fuzzer begins with: the chains of small real models, and random ones of every kind of stage."""
from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import tflfuse
from tflfuse import flatbuffer
from tflfuse.errors import TflfuseError
from tflfuse.ir import Operator
from tflfuse.packing import CUSTOM, pack

from ..kernels.chains import random_chain
from ..kernels.pair import Pair
from ..kernels.test_sanitized import pairs_of_kinds
from .build import LARGEST

INT8 = 9


def seeds(models: Sequence[Path]) -> Iterator[bytes]:
    """As case.h reads them."""
    rng = np.random.default_rng(3)
    for pair in [*pairs_of_kinds(rng), *(random_chain(rng, int(rng.integers(2, 9))).pair() for _ in range(40))]:
        yield of_pair(pair)
    for path in models:
        try:
            model = flatbuffer.read(tflfuse.fuse(path.read_bytes()).model)
        except TflfuseError:
            continue  # a model that is none, or that has nothing to fuse
        for operator in model.subgraphs[0].operators:
            if operator.name == CUSTOM and all(t is not None and t.has_shape for t in operator.inputs):
                seed = of_operator(operator)
                if len(seed) <= LARGEST:
                    yield seed


def of_pair(pair: Pair) -> bytes:
    options, constants = pack(pair.chain)
    shapes = [(1, v.height, v.width, v.channels) for v in (*pair.chain.inputs, pair.chain.output)]
    return seed(options, constants.tobytes(), shapes[:-1], shapes[-1])


def of_operator(operator: Operator) -> bytes:
    *inputs, constants = [t for t in operator.inputs if t is not None]
    assert operator.custom_options is not None
    return seed(operator.custom_options.tobytes(), constants.array().tobytes(), [t.shape for t in inputs],
                operator.outputs[0].shape)


def seed(options: bytes, constants: bytes, inputs: Sequence[Sequence[int]], output: Sequence[int]) -> bytes:
    shapes = [*inputs, (len(constants),), output]
    tensors = b"".join(struct.pack(f"<BB{len(s)}i", INT8, len(s), *s) for s in shapes)
    return bytes(16) + bytes([len(shapes)]) + tensors + struct.pack("<I", len(options)) + options + constants


def write(folder: Path, models: Sequence[Path]) -> int:
    """One file each in a folder; how many."""
    folder.mkdir(exist_ok=True)
    count = 0
    for count, data in enumerate(seeds(models), 1):
        (folder / f"{count:04}").write_bytes(data)
    return count
