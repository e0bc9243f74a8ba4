"""The kernel pack as the library that the TFLM interpreter of the wheel loads, built once."""
from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

PACK = Path(__file__).resolve().parents[2] / "tflm_kernels"
FLAGS = ["-std=c++17", "-O3", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
         "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wold-style-cast", "-Wcast-align", "-Wundef",
         f"-I{PACK}/include", f"-I{PACK}/python"]
KERNELS = sorted((PACK / "src/kernels").glob("*.cc"))
GLUE = sorted((PACK / "src/tflm").glob("*.cc"))
PYTHON = sorted((PACK / "python").glob("*.cc"))


def compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("g++ is not installed")
    return found


def build(output: Path, sources: list[Path], *flags: str) -> Path:
    """Compile and link; the compiler's words where it fails."""
    command = [compiler(), *FLAGS, *flags, *map(str, sources), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, loaded so that the interpreter finds its registerer."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    path = build(tmp_path_factory.mktemp("pack") / "libtflfuse.so", [*PYTHON, *GLUE, *KERNELS], "-fPIC", "-shared")
    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return path
