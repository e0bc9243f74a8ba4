"""The pack as a module of Zephyr, by the schema of zephyr/module.yml."""
from __future__ import annotations

import re
from pathlib import Path

import yaml

from .building import PACK, SOURCES, TFLM_HEADERS, run

PROJECT_FILE = f"""
cmake_minimum_required(VERSION 3.20)
project(application CXX)
set(CMAKE_CXX_STANDARD 17)
function(zephyr_library_named name)
  add_library(${{name}} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${{name}} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endfunction()
function(zephyr_include_directories)
  target_include_directories(${{ZEPHYR_CURRENT_LIBRARY}} PUBLIC ${{ARGN}})
endfunction()
include_directories({TFLM_HEADERS})
add_compile_options(-Os -Wall -Werror -fno-exceptions -fno-rtti -fno-common -ffunction-sections -fdata-sections)
add_subdirectory({PACK}/zephyr module)
if(CONFIG_TFLFUSE)
  get_target_property(sources tflfuse SOURCES)
  file(WRITE ${{CMAKE_BINARY_DIR}}/sources "${{sources}}")
endif()
"""


def configure(tmp_path: Path, *options: str) -> Path:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT_FILE)
    run(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), *options])
    return tmp_path / "build"


def test_the_modules_file_follows_the_schema() -> None:
    module = yaml.safe_load((PACK / "zephyr/module.yml").read_text())
    assert set(module) == {"name", "build"} and set(module["build"]) == {"cmake", "kconfig"}
    assert (PACK / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (PACK / module["build"]["kconfig"]).is_file()


def test_the_build_asks_for_the_option_that_kconfig_defines() -> None:
    kconfig = (PACK / "zephyr/Kconfig").read_text()
    defined = re.findall(r"^config (\w+)\n\tbool \".+\"\n\tdepends on TENSORFLOW_LITE_MICRO$", kconfig, re.MULTILINE)
    asked = re.findall(r"CONFIG_(\w+)", (PACK / "zephyr/CMakeLists.txt").read_text())
    assert defined == asked == ["TFLFUSE"]


def test_the_module_builds_every_source(tmp_path: Path) -> None:
    build = configure(tmp_path, "-DCONFIG_TFLFUSE=y")
    paths = (build / "sources").read_text().split(";")
    assert sorted(Path(path).resolve() for path in paths) == SOURCES
    run(["cmake", "--build", str(build)])


def test_nothing_is_built_unless_it_is_chosen(tmp_path: Path) -> None:
    build = configure(tmp_path)
    assert "tflfuse" not in run(["cmake", "--build", str(build), "--target", "help"])
