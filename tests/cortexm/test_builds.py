"""The pack compiles without a warning for every target, through its own CMakeLists.txt and toolchain files."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .emulator import PACK, told

WARNINGS = ("-Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wcast-align -Wundef "
            "-Wdouble-promotion")
CORTEX_M = ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"]


def compile_pack(toolchain: str, target: str, folder: Path, *definitions: str) -> None:
    """target: the flag that the toolchain file sets, which a definition of ours must not have pushed out."""
    told(["cmake", "-S", PACK, "-B", folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={PACK}/cmake/{toolchain}.cmake",
          "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE=-Os {WARNINGS} -I{PACK}/python", *definitions])
    assert target in (folder / "build.ninja").read_text()
    told(["cmake", "--build", folder, "--target", "tflfuse_kernels", "tflfuse_ops"])
    assert (folder / "libtflfuse_kernels.a").stat().st_size > 10_000


@pytest.mark.skipif(shutil.which("arm-none-eabi-g++") is None or shutil.which("ninja") is None,
                    reason="apt-get install cmake ninja-build gcc-arm-none-eabi libnewlib-arm-none-eabi")
@pytest.mark.parametrize("cpu", CORTEX_M)
def test_it_compiles_for_cortex_m(cpu: str, tmp_path: Path) -> None:
    compile_pack("arm-none-eabi", f"-mcpu={cpu} -mthumb", tmp_path, f"-DTFLFUSE_CPU={cpu}")


@pytest.mark.skipif(shutil.which("riscv64-unknown-elf-g++") is None or shutil.which("ninja") is None,
                    reason="apt-get install cmake ninja-build gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
def test_it_compiles_for_risc_v_of_32_bits(tmp_path: Path) -> None:
    compile_pack("riscv32", "-march=rv32imc", tmp_path)
