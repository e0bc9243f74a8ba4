"""The data of the harness: programs of fused operators, their inputs and the outputs they must give.

An image is bytes, then 32-bit words; target/image.h reads it. It is loaded beside the program, so that one program
serves every model: what a generated C array would hold lies at the same place, in what stands for flash.
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

MAGIC = 0x4D465454
ALIGNMENT = 16


@dataclass
class Program:
    """One model: tensors in an arena, and steps in order. Numbers of tensors are their places in the list."""

    arena_bytes: int = 0
    tensors: list[tuple[int | bytes, tuple[int, ...]]] = field(default_factory=list)
    steps: list[Load | Run] = field(default_factory=list)

    def tensor(self, offset: int, shape: Sequence[int]) -> int:
        """An int8 tensor in the arena."""
        self.tensors.append((offset, tuple(shape)))
        self.arena_bytes = max(self.arena_bytes, offset + size_of(shape))
        return len(self.tensors) - 1

    def constant(self, data: bytes, shape: Sequence[int]) -> int:
        self.tensors.append((data, tuple(shape)))
        return len(self.tensors) - 1

    def load(self, tensor: int, value: bytes) -> None:
        assert len(value) == size_of(self.tensors[tensor][1])
        self.steps.append(Load(tensor, value))

    def run(self, options: bytes, inputs: Sequence[int], output: int, expected: bytes) -> None:
        """inputs: the outside tensors, then the constants."""
        assert len(expected) == size_of(self.tensors[output][1])
        self.steps.append(Run(options, tuple(inputs), output, expected))


@dataclass(frozen=True)
class Load:
    """A graph input or the output of a builtin operator."""

    tensor: int
    value: bytes


@dataclass(frozen=True)
class Run:
    """A fused operator, and the output it must give."""

    options: bytes
    inputs: tuple[int, ...]
    output: int
    expected: bytes


def size_of(shape: Sequence[int]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


class Data:
    """Bytes of an image, and the words that point to them."""

    def __init__(self) -> None:
        self.bytes = bytearray(ALIGNMENT)
        self.words: list[int] = []
        self.constants: dict[bytes, int] = {}

    def put(self, value: bytes, shift: int = 0) -> int:
        """Where the bytes lie from now on: shift behind a multiple of 16."""
        self.bytes.extend(bytes(-len(self.bytes) % ALIGNMENT + shift))
        self.bytes.extend(value)
        return len(self.bytes) - len(value)

    def put_once(self, value: bytes) -> int:
        """The same for what several operators read."""
        if value not in self.constants:
            self.constants[value] = self.put(value)
        return self.constants[value]

    def span(self, value: bytes, shift: int = 0) -> list[int]:
        return [self.put(value, shift), len(value)]

    def image(self, count: int) -> bytes:
        """count: of the programs that the words tell."""
        stream = self.put(np.array(self.words, "<i8").astype("<u4").tobytes())
        struct.pack_into("<III", self.bytes, 0, MAGIC, stream, count)
        return bytes(self.bytes)


def image(programs: Sequence[Program]) -> bytes:
    """The bytes to load."""
    data = Data()
    for program in programs:
        data.words += [program.arena_bytes, len(program.tensors)]
        for place, shape in program.tensors:
            data.words += [0, place] if isinstance(place, int) else [1, data.put_once(place)]
            data.words += [len(shape), *shape]
        data.words.append(len(program.steps))
        for step in program.steps:
            if isinstance(step, Load):
                data.words += [0, step.tensor, *data.span(step.value)]
            else:  # options may lie at any address
                data.words += [1, *data.span(step.options, shift=1), *data.span(step.expected), len(step.inputs),
                               *step.inputs, 1, step.output]
    return data.image(len(programs))
