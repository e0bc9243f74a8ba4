"""The pack as a library of Mbed OS, whose tools compile every source and search every folder above a header."""
from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path

from .building import PACK, SOURCES, TFLM_HEADERS, compile_all, every_cpu

FLAGS = ["-std=gnu++14", "-Os", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers",
         "-Wvla", "-Werror", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections",
         "-funsigned-char", f"-I{TFLM_HEADERS}"]


def scanned() -> list[Path]:
    """The files that Mbed takes: all but those in hidden folders and those that .mbedignore names."""
    patterns = (PACK / ".mbedignore").read_text().split()
    files = (path for path in PACK.rglob("*") if path.is_file())
    inside = [(path, str(path.relative_to(PACK))) for path in files]
    return [path for path, name in inside
            if not any(fnmatch(name, pattern) for pattern in patterns)
            and not any(part.startswith(".") for part in Path(name).parts)]


def include_folders(files: list[Path]) -> list[Path]:
    headers = [path for path in files if path.suffix in {".h", ".hh", ".hpp"}]
    return sorted({parent for path in headers for parent in path.parents if parent.is_relative_to(PACK)})


def test_the_manifest_has_what_the_schema_wants() -> None:
    manifest = json.loads((PACK / "mbed_lib.json").read_text())
    assert manifest == {"name": "tflfuse"}  # name is what the schema requires; there is nothing to configure


def test_patterns_of_the_ignore_file_match_something() -> None:
    for pattern in (PACK / ".mbedignore").read_text().split():
        assert any(fnmatch(str(path.relative_to(PACK)), pattern) for path in PACK.rglob("*"))


def test_mbed_takes_the_sources_below_src_and_no_others() -> None:
    taken = [path for path in scanned() if path.suffix in {".c", ".cc", ".cpp", ".s"}]
    assert sorted(taken) == SOURCES


def test_no_folder_that_mbed_searches_hides_tflms_headers() -> None:
    assert not [path for path in scanned() if "tensorflow" in path.parts]


@every_cpu
def test_every_source_compiles(cpu: str) -> None:
    compile_all(cpu, SOURCES, *FLAGS, *(f"-I{folder}" for folder in include_folders(scanned())))
