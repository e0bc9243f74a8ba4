"""The pack in a CMake project: by add_subdirectory and by find_package."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .building import PACK, TFLM_HEADERS, run, version

APPLICATION = """
#include "python_ops_resolver.h"
#include "tflfuse/fused_ops.h"

int main() {
  static PythonOpsResolver resolver;
  if (tflfuse::AddFusedOps(resolver) != kTfLiteOk) return 1;
  return tflfuse::AddFusedOps(resolver) == kTfLiteOk;  // the name is taken
}
"""
PROJECT_FILE = """
cmake_minimum_required(VERSION 3.13)
project(application CXX)
add_library(tflm INTERFACE)
target_include_directories(tflm INTERFACE {headers})
{pack}
target_link_libraries(tflfuse_ops PUBLIC tflm)
add_executable(application main.cc)
target_link_libraries(application PRIVATE tflfuse_ops)
"""
FIND = f"list(APPEND CMAKE_PREFIX_PATH {PACK})\nfind_package(tflfuse {{}} REQUIRED CONFIG)"


def project(folder: Path, pack: str) -> None:
    (folder / "main.cc").write_text(APPLICATION)
    (folder / "CMakeLists.txt").write_text(PROJECT_FILE.format(headers=TFLM_HEADERS, pack=pack))


@pytest.mark.parametrize("pack", [f"add_subdirectory({PACK} tflfuse)", FIND.format(""), FIND.format("0.1"),
                                  FIND.format(f"{version()} EXACT"), f"{FIND.format('')}\n{FIND.format('')}"],
                         ids=["subdirectory", "any", "release", "exact", "twice"])
def test_an_application_builds_and_runs(tmp_path: Path, pack: str) -> None:
    project(tmp_path, pack)
    run(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")])
    run(["cmake", "--build", str(tmp_path / "build")])
    run([str(tmp_path / "build/application")])


@pytest.mark.parametrize("wanted", ["0.0.9", "99.0"])
def test_another_version_is_refused(tmp_path: Path, wanted: str) -> None:
    run(["cmake", "--version"])
    project(tmp_path, FIND.format(wanted))
    done = subprocess.run(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")], capture_output=True, text=True)
    assert done.returncode != 0
    assert f'compatible with requested version "{wanted}"' in " ".join(done.stderr.split())
    assert f"version: {version()}" in done.stderr
