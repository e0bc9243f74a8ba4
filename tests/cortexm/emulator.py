"""The harness built for a CPU, and run in QEMU."""
from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .boards import BOARDS

HERE = Path(__file__).resolve().parent
PACK = HERE.parents[1] / "tflm_kernels"
TOOLCHAIN = PACK / "cmake/arm-none-eabi.cmake"
PACKAGES = {"cmake": "cmake", "ninja": "ninja-build", "qemu-system-arm": "qemu-system-arm",
            "arm-none-eabi-g++": "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib"}
RESERVED = 1 << 17
"""Bytes of SRAM in front of the arena: stack, marks and what the harness itself keeps; far more than it takes."""
STACK = 1024
"""Bytes of stack that no Prepare and no Eval takes."""
PATIENCE = 600
"""Seconds after which a run is given up: a program that hangs would hang for ever."""


class Failed(Exception):
    """A program could not be built, or told of a difference; the message is what it said."""


@dataclass(frozen=True)
class Outcome:
    """stack: the bytes that each Prepare took, and each Eval, in order."""

    text: str

    @property
    def stack(self) -> list[tuple[int, int]]:
        found = re.findall(r"stack of Prepare (\d+)\nstack of Eval (\d+)\n", self.text)
        return [(int(prepare), int(evaluate)) for prepare, evaluate in found]

    @property
    def deepest(self) -> int:
        """Bytes of stack that some Prepare or Eval took."""
        return max(max(pair) for pair in self.stack)


def missing() -> str | None:
    """What is not installed, in a sentence that says how to install it; None where everything is there."""
    absent = [tool for tool in PACKAGES if shutil.which(tool) is None]
    if not absent:
        return None
    return f"{', '.join(absent)} not found: apt-get install {' '.join(PACKAGES[tool] for tool in absent)}"


def build(cpu: str, folder: Path, flags: str = "-O2", *definitions: str) -> Path:
    """The harness for a CPU, compiled in a folder of its own; the meter's probe lies beside it.

    definitions: more of them for target/CMakeLists.txt.
    """
    board = BOARDS[cpu]
    told(["cmake", "-S", HERE / "target", "-B", folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}",
          f"-DTFLFUSE_CPU={cpu}", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={flags}",
          f"-DCMAKE_C_FLAGS_RELEASE={flags}", *definitions,
          f"-DCODE={board.code:#x}", f"-DRAM={board.ram:#x}", f"-DIMAGE={board.image:#x}",
          f"-DARENA_BYTES={board.ram_bytes - RESERVED:#x}"])
    told(["cmake", "--build", folder])
    return folder / "harness"


def run(cpu: str, harness: Path, image: Path, *options: str) -> Outcome:
    """Run an image's programs. options: more of QEMU's. Raises Failed where an output differs."""
    board = BOARDS[cpu]
    if image.stat().st_size > board.image_bytes:
        raise Failed(f"{board.machine} has {board.image_bytes} bytes for an image of {image.stat().st_size}")
    return Outcome(told(["qemu-system-arm", "-M", board.machine, "-display", "none", "-monitor", "none",
                         "-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel", harness,
                         "-device", f"loader,file={image},addr={board.image:#x},force-raw=on", *options]))


def told(command: list[str | Path]) -> str:
    """What a command writes; Failed where it ends with another status than 0."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as expired:
        raise Failed(f"{Path(command[0]).name} did not end in {PATIENCE} seconds") from expired
    if done.returncode != 0:
        raise Failed(f"{Path(command[0]).name} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout
