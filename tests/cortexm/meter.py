"""What a program executes and moves, counted by a QEMU plugin of ours: exact and repeatable, no cycles."""
from __future__ import annotations

import bisect
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from . import emulator
from .boards import BOARDS
from .emulator import HERE, told


@dataclass(frozen=True)
class Counts:
    """Executed instructions; bytes loaded from and stored to SRAM, the stack's too; bytes loaded from anywhere else."""

    instructions: int = 0
    loaded: int = 0
    stored: int = 0
    flash: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.instructions + other.instructions, self.loaded + other.loaded, self.stored + other.stored,
                      self.flash + other.flash)


def total(counts: Iterable[Counts]) -> Counts:
    return reduce(Counts.__add__, counts, Counts())


@dataclass(frozen=True)
class Share:
    """What something costs. lowest: address on the stack that it stored to. code: bytes of the instructions that it
    executed, each counted once."""

    counts: Counts
    lowest: int
    code: int


@dataclass
class Span:
    """Between two marks. stages: by number, the rows that each made or, where it accumulates, consumed, and the cost.

    What the executor does before the first row counts for that row; what it does behind the last is in no stage.
    """

    share: Share
    stages: dict[int, tuple[int, Share]] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        return self.share.counts


@dataclass(frozen=True)
class Measured:
    """spans: of Prepare and Eval for each fused operator in turn. functions: instructions by symbol, of all spans
    together but for those around the marks.

    stack: bytes that each Prepare and Eval took.
    """

    spans: list[Span]
    functions: Counter[str]
    stack: list[tuple[int, int]]

    @property
    def prepare(self) -> list[Span]:
        return self.spans[::2]

    @property
    def eval(self) -> list[Span]:
        return self.spans[1::2]


def missing() -> str | None:
    if shutil.which("gcc") is None:
        return "gcc not found: apt-get install gcc"
    return emulator.missing()


def build_plugin(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / "meter.so"
    told(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", HERE / "meter.c",
          "-o", plugin])
    return plugin


def measure(cpu: str, harness: Path, image: Path, plugin: Path, out: Path) -> Measured:
    """Run an image with the meter, which writes to out. Raises Failed where an output differs."""
    board = BOARDS[cpu]
    symbols = symbols_of(harness)
    marks = next(address for address, name in symbols if name == "marks")
    options = {"marks": marks, "ram": board.ram, "top": board.ram + board.ram_bytes, "code": board.code}
    arguments = ",".join(f"{name}={value:#x}" for name, value in options.items())
    outcome = emulator.run(cpu, harness, image, "-plugin", f"{plugin},{arguments},out={out}")
    return Measured(*parsed(out.read_text(), symbols), outcome.stack)


def parsed(text: str, symbols: Sequence[tuple[int, str]]) -> tuple[list[Span], Counter[str]]:
    addresses = [address for address, _ in symbols]
    spans: list[Span] = []
    functions: Counter[str] = Counter()
    for line in text.splitlines():
        match line.split():
            case ["span", *numbers]:
                spans.append(Span(share_of(numbers)))
            case ["stage", number, rows, *numbers]:
                spans[-1].stages[int(number)] = int(rows), share_of(numbers)
            case ["code", address, times]:
                at = bisect.bisect_right(addresses, int(address, 16)) - 1
                functions[symbols[at][1]] += int(times)
    return spans, functions


def share_of(numbers: Sequence[str]) -> Share:
    *counts, lowest, code = map(int, numbers)
    return Share(Counts(*counts), lowest, code)


def symbols_of(program: Path) -> list[tuple[int, str]]:
    """Addresses, rising, and demangled names without arguments; instances of a template are several of one name."""
    listed = subprocess.run(["arm-none-eabi-nm", "-C", program], check=True, capture_output=True, text=True).stdout
    found = (line.split(maxsplit=2) for line in listed.splitlines())
    return sorted((int(address, 16), named(name)) for address, kind, name in found
                  if kind in "tTaABbDdRrW" and not name.startswith("$"))


def named(symbol: str) -> str:
    """void a::(anonymous namespace)::f<(a::Kind)1>(int, char) as a::f<>."""
    plain = symbol.replace("(anonymous namespace)::", "")
    while (shorter := re.sub("<[^<>]+>", "<>", plain)) != plain:
        plain = shorter
    return plain.split("(")[0].split(" ")[-1]
