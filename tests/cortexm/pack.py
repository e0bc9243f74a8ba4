"""The kernel pack compiled for a Cortex-M through its own CMakeLists.txt, and what is in the archives."""
from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from .emulator import PACK, TOOLCHAIN, told

CORTEX_M = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
LIMIT = 24 * 1024
"""Bytes of code and constants that the whole pack may have at -Os."""
RUNTIME = re.compile(r"mem(cpy|set|move)|__aeabi_(u?idiv(mod)?|u?ldivmod|lmul|llsl|llsr|lasr)|__gnu_thumb1_case_\w+")
"""What the pack may take from outside: copies, and integer arithmetic where the processor has none."""
CONSTANT = (".text", ".rodata", ".ARM.", ".comment", ".note", ".group")
"""How the sections of an object may begin: code and constants, and what never reaches a processor."""


def build(cpu: str, folder: Path, flags: str = "-Os") -> list[Path]:
    """The archives for a CPU, compiled in a folder of their own. flags: the compiler's, warnings and optimization."""
    told(["cmake", "-S", PACK, "-B", folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}",
          f"-DTFLFUSE_CPU={cpu}", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={flags} -I{PACK}/python"])
    told(["cmake", "--build", folder, "--target", "tflfuse_kernels", "tflfuse_ops"])
    return sorted(folder.glob("*.a"))


def code_bytes(archives: Sequence[Path]) -> int:
    """Code and constants, as they lie in flash, whether anything calls them or not."""
    rows = (line.split() for line in printed("size", *archives).splitlines())
    return sum(int(row[0]) for row in rows if row[0] != "text")


def forbidden(archives: Sequence[Path]) -> list[str]:
    """What a kernel must not have, in sentences: heap, libm, floating point, the C++ runtime, memory that is written,
    code that runs before main.

    What is taken from outside of the archives must be of RUNTIME; sections must be CONSTANT, or empty.
    """
    symbols = set(symbols_of(archives))
    defined = {name for kind, name in symbols if kind not in "Uw"}
    outside = sorted({name for kind, name in symbols if kind in "Uw"} - defined)
    wrong = [f"{name} is taken from outside" for name in outside if RUNTIME.fullmatch(name) is None]
    wrong += [f"{name} is of the run-time type information" for name in sorted(defined) if name.startswith("_ZT")]
    for line in printed("objdump", "-h", *archives).splitlines():
        match line.split():
            case [number, section, size, *_] if number.isdigit() and int(size, 16) and not section.startswith(CONSTANT):
                wrong.append(f"there is a section {section}")
    return wrong


def symbols_of(archives: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Kinds and names as nm gives them."""
    for line in printed("nm", *archives).splitlines():
        match line.split():
            case [kind, name] | [_, kind, name]:
                yield kind, name


def printed(tool: str, *arguments: str | Path) -> str:
    return subprocess.run([f"arm-none-eabi-{tool}", *arguments], check=True, capture_output=True, text=True).stdout
