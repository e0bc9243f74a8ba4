"""Compiling the pack as the systems that package it do."""
from __future__ import annotations

import configparser
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACK = PROJECT / "tflm_kernels"
TFLM_HEADERS = PACK / "python"
"""The declarations that stand in for TFLM's headers."""
SOURCES = sorted(path for path in (PACK / "src").rglob("*") if path.suffix in {".c", ".cc", ".cpp", ".cxx", ".S"})
"""What a system compiles that takes every source below src."""
CPUS = {"host": ["g++"], **{cpu: ["arm-none-eabi-g++", f"-mcpu={cpu}", "-mthumb"]
                            for cpu in ("cortex-m0plus", "cortex-m4", "cortex-m55")}}
every_cpu = pytest.mark.parametrize("cpu", CPUS)


def compile_all(cpu: str, sources: Sequence[Path], *flags: str) -> None:
    """Compile each source; the compiler's words where one fails."""
    assert sources
    with tempfile.TemporaryDirectory() as folder:
        run([*CPUS[cpu], "-c", *flags, *map(str, sources)], Path(folder))


def run(command: Sequence[str], folder: Path | None = None) -> str:
    """What the command prints; its errors where it fails. Skips the test where the program is not installed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def version() -> str:
    """The project's version."""
    config = configparser.ConfigParser()
    config.read(PROJECT / "setup.cfg")
    return config["metadata"]["version"]
