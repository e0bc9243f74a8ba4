"""The harness for Hexagon, built with the vector kernels or with the portable ones and run in QEMU."""
from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).resolve().parent / "target"
KERNELS = TARGET.parents[2] / "tflm_kernels/src/kernels"
FOLDER = KERNELS / "hexagon_hvx"
VECTORS: tuple[str, ...] = ()
"""Flags for the kernels that the compiler's own macros choose."""
PORTABLE = ("-DTFLFUSE_PORTABLE",)
PACKAGES = {"clang++-14": "clang-14", "ld.lld-14": "lld-14", "qemu-hexagon": "qemu-user"}
FLAGS = ("--target=hexagon-unknown-linux-musl", "-mcpu=hexagonv66", "-mhvx", "-mhvx-length=128B", "-ffreestanding",
         "-fno-builtin", "-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror",
         "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wold-style-cast", "-Wcast-align", "-Wundef",
         f"-I{TARGET}/include", f"-I{KERNELS}")
PATIENCE = 600
"""Seconds after which a run is given up: a program that hangs would hang for ever."""


@dataclass(frozen=True)
class Outcome:
    """What was executed in the chains alone. packet: instructions that the processor issues together.

    differing: of two outputs of each chain, those that are not what was expected. digest: of all outputs.
    """

    chains: int
    differing: int
    digest: int
    packets: int
    instructions: int
    vector_instructions: int


class Failed(Exception):
    """A program could not be built, or did not end well; the message is what it said."""


def missing() -> str | None:
    """What is not installed, in a sentence that says how to install it; None where everything is there."""
    absent = [tool for tool in PACKAGES if shutil.which(tool) is None]
    if not absent:
        return None
    return f"{', '.join(absent)} not found: apt-get install {' '.join(PACKAGES[tool] for tool in absent)}"


def build(folder: Path, *flags: str) -> Path:
    """The harness, in a folder of its own. Clang's driver wants a linker that Debian has not."""
    objects = []
    for source in (KERNELS, FOLDER, TARGET):
        files = sorted(source.glob("*.cc"))
        (folder / source.name).mkdir(parents=True)
        told(["clang++-14", *FLAGS, *flags, "-c", *map(str, files)], folder / source.name)
        objects += [f"{source.name}/{file.stem}.o" for file in files]
    told(["ld.lld-14", "-static", *objects, "-o", "harness"], folder)
    return folder / "harness"


def run(harness: Path, vectors: Sequence[bytes]) -> Outcome:
    """Run chains with their inputs. Raises Failed where memory is touched that must not be."""
    text = told(["qemu-hexagon", str(harness)], harness.parent, b"".join(vectors))
    return Outcome(*(int(n) for n in re.findall(r" (\d+)\n", text)))


def told(command: Sequence[str], folder: Path, given: bytes = b"") -> str:
    """What a command writes, given bytes to read; Failed where it ends with another status than 0."""
    try:
        done = subprocess.run(command, cwd=folder, input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE)
    except subprocess.TimeoutExpired as expired:
        raise Failed(f"{command[0]} did not end in {PATIENCE} seconds") from expired
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise Failed(f"{command[0]} ended with {done.returncode}:\n{text[-3000:]}")
    return text
