"""The pack compiles without a warning for every target, through its own CMakeLists.txt and toolchain files.

For each Cortex-M it is small, and has nothing that a microcontroller would have to do for it.
"""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .emulator import PACK, told
from .pack import CORTEX_M, LIMIT, build, code_bytes, forbidden

WARNINGS = ("-Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wcast-align -Wundef "
            "-Wdouble-promotion")


@pytest.mark.skipif(shutil.which("arm-none-eabi-g++") is None or shutil.which("ninja") is None,
                    reason="apt-get install cmake ninja-build gcc-arm-none-eabi libnewlib-arm-none-eabi")
@pytest.mark.parametrize("cpu", CORTEX_M)
def test_it_compiles_for_cortex_m(cpu: str, tmp_path: Path) -> None:
    archives = build(cpu, tmp_path, f"-Os {WARNINGS}")
    assert [a.name for a in archives] == ["libtflfuse_kernels.a", "libtflfuse_ops.a"]
    assert f"-mcpu={cpu} -mthumb" in (tmp_path / "build.ninja").read_text(), "flags have pushed those of the CPU out"
    assert 8_000 < code_bytes(archives) < LIMIT
    assert forbidden(archives) == []


@pytest.mark.skipif(shutil.which("riscv64-unknown-elf-g++") is None or shutil.which("ninja") is None,
                    reason="apt-get install cmake ninja-build gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
def test_it_compiles_for_risc_v_of_32_bits(tmp_path: Path) -> None:
    told(["cmake", "-S", PACK, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={PACK}/cmake/riscv32.cmake",
          "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE=-Os {WARNINGS} -I{PACK}/python"])
    assert "-march=rv32imc" in (tmp_path / "build.ninja").read_text()
    told(["cmake", "--build", tmp_path, "--target", "tflfuse_kernels", "tflfuse_ops"])
    assert (tmp_path / "libtflfuse_kernels.a").stat().st_size > 10_000
