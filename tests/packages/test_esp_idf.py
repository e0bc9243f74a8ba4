"""The pack as a component of ESP-IDF, by the rules of idf_component.yml."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from .building import PACK, SOURCES, TFLM_HEADERS, compile_all, run, version

SCRIPT = f"""
function(idf_component_register)
  cmake_parse_arguments(COMPONENT "" "" "SRCS;INCLUDE_DIRS" ${{ARGN}})
  message(NOTICE "sources ${{COMPONENT_SRCS}}")
  message(NOTICE "include ${{COMPONENT_INCLUDE_DIRS}}")
  message(NOTICE "others ${{COMPONENT_UNPARSED_ARGUMENTS}}")
endfunction()
set(ESP_PLATFORM 1)
include({PACK}/CMakeLists.txt)
"""


def manifest() -> Any:
    return yaml.safe_load((PACK / "idf_component.yml").read_text())


def test_the_manifest_follows_the_rules() -> None:
    m = manifest()
    assert set(m) == {"version", "description", "license", "maintainers", "tags", "dependencies", "files"}
    assert m["version"] == version()
    assert m["license"] == "Apache-2.0"
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{3,32}", tag) for tag in m["tags"])
    assert m["dependencies"]["espressif/esp-tflite-micro"]["public"] is True
    versions = [m["dependencies"]["idf"], m["dependencies"]["espressif/esp-tflite-micro"]["version"]]
    assert all(re.fullmatch(r">=\d+\.\d+(\.\d+)?", wanted) for wanted in versions)
    assert all(list(PACK.glob(pattern)) for pattern in m["files"]["exclude"])


def test_the_component_registers_every_source(tmp_path: Path) -> None:
    """In a script, where ESP-IDF reads it first and where project() and add_library() are errors."""
    script = tmp_path / "script.cmake"
    script.write_text(SCRIPT)
    told = run(["sh", "-c", f"cmake -P {script} 2>&1"])
    said = dict(line.split(" ", 1) for line in told.splitlines())
    assert sorted(map(Path, said["sources"].split(";"))) == SOURCES
    assert said["include"] == "include" and (PACK / "include/tflfuse/fused_ops.h").is_file()
    assert said["others"] == ""


def test_every_source_compiles() -> None:
    compile_all("host", SOURCES, "-std=gnu++2b", "-Og", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
                "-Wno-sign-compare", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections",
                f"-I{PACK}/include", f"-I{TFLM_HEADERS}")
