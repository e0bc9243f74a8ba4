"""The data of the harness: programs of fused operators, their inputs and the outputs they must give.

An image is bytes, then 32-bit words; target/image.h reads it. It is loaded beside the program, so that one program
serves every model: what a generated C array would hold lies at the same place, in what stands for flash.
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

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


def image(programs: Sequence[Program]) -> bytes:
    """The bytes to load."""
    data = bytearray(ALIGNMENT)
    words: list[int] = []

    def put(value: bytes, shift: int = 0) -> int:
        data.extend(bytes(-len(data) % ALIGNMENT + shift))
        data.extend(value)
        return len(data) - len(value)

    for program in programs:
        words += [program.arena_bytes, len(program.tensors)]
        for place, shape in program.tensors:
            words += [0, place] if isinstance(place, int) else [1, put(place)]
            words += [len(shape), *shape]
        words.append(len(program.steps))
        for step in program.steps:
            if isinstance(step, Load):
                words += [0, step.tensor, put(step.value), len(step.value)]
            else:  # options may lie at any address
                words += [1, put(step.options, shift=1), len(step.options), put(step.expected), len(step.expected),
                          len(step.inputs), *step.inputs, 1, step.output]
    stream = put(struct.pack(f"<{len(words)}I", *words))
    struct.pack_into("<III", data, 0, MAGIC, stream, len(programs))
    return bytes(data)
