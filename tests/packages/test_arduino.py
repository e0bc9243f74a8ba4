"""The pack as an Arduino library, by the library specification, revision 2.2."""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tflfuse import flatbuffer
from tflfuse.ir import Array
from tflfuse.tflm import Interpreter

from .building import PACK, SOURCES, TFLM_HEADERS, compile_all, every_cpu, version

SKETCH = PACK / "examples/fused_model/fused_model.ino"
STAND_INS = Path(__file__).parent / "arduino"
FLAGS = ["-Os", "-w", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections", "-DARDUINO=10607",
         f"-I{PACK}/src", f"-I{STAND_INS}", f"-I{TFLM_HEADERS}"]
STRICT = [*(flag for flag in FLAGS if flag != "-w"), "-Wall", "-Werror"]
every_standard = pytest.mark.parametrize("standard", ["gnu++11", "gnu++17"])  # the oldest and the newest of boards
CATEGORIES = {"Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing", "Data Storage",
              "Data Processing", "Other"}


def properties() -> dict[str, str]:
    lines = (PACK / "library.properties").read_text().splitlines()
    pairs = [line.split("=", 1) for line in lines]
    assert all(len(pair) == 2 for pair in pairs)
    assert len({key for key, _ in pairs}) == len(pairs)
    return {key: value for key, value in pairs}


def test_properties_follow_the_specification() -> None:
    p = properties()
    assert all(p[key] for key in ("author", "maintainer", "sentence", "paragraph"))
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", p["name"]) and not p["name"].lower().startswith("arduino")
    assert p["category"] in CATEGORIES
    assert re.fullmatch(r"https?://\S+", p["url"])
    assert p["architectures"] == "*"
    assert p["version"] == version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", p["version"])
    assert "depends" not in p  # no TFLM library is in Arduino's index under a name that all boards share


def test_a_sketch_finds_the_library_by_its_header() -> None:
    """The IDE looks for a sketch's headers in the src folder itself, not below it."""
    for header in properties()["includes"].split(","):
        assert (PACK / "src" / header).is_file()
        assert f"#include <{header}>" in SKETCH.read_text()


def test_keywords_are_separated_by_one_tab() -> None:
    for line in (PACK / "keywords.txt").read_text().splitlines():
        assert re.fullmatch(r"\w+\t(KEYWORD[123]|LITERAL1)", line)


@every_cpu
@every_standard
def test_every_source_compiles(cpu: str, standard: str) -> None:
    compile_all(cpu, SOURCES, f"-std={standard}", *FLAGS)


@every_cpu
@every_standard
def test_the_sketch_compiles(cpu: str, standard: str) -> None:
    """As the IDE does: Arduino.h goes before the sketch."""
    compile_all(cpu, [SKETCH], f"-std={standard}", *FLAGS, "-include", "Arduino.h", "-x", "c++")
    compile_all(cpu, sorted(SKETCH.parent.glob("*.cpp")), f"-std={standard}", *FLAGS)


def test_the_sketch_bears_its_folders_name() -> None:
    assert [path.stem for path in SKETCH.parent.glob("*.ino")] == [SKETCH.parent.name]


def array(name: str) -> Array:
    """The numbers of an array in the sketch's model.cpp."""
    text, = re.findall(rf"{name}\[\] = {{([^}}]*)}}", (SKETCH.parent / "model.cpp").read_text())
    return np.array([int(number, 0) for number in text.replace(",", " ").split()])


def test_the_sketchs_model_gives_what_the_sketch_expects() -> None:
    """In the genuine interpreter with the kernels as they are. scripts/make_sketch_model.py makes the model again."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    data = array("g_model").astype(np.uint8).tobytes()
    model = flatbuffer.read(data)
    shape = model.subgraphs[0].inputs[0].shape
    output, = Interpreter(data).run([(np.arange(np.prod(shape)) * 37).astype(np.int8).reshape(shape)])
    np.testing.assert_array_equal(output.ravel(), array("g_expected"))


def test_the_sketch_registers_what_its_model_holds() -> None:
    """A call for each kind of operator, and as many places."""
    model = flatbuffer.read(array("g_model").astype(np.uint8).tobytes())
    kinds = {operator.name for operator in model.subgraphs[0].operators}
    assert kinds == {"CUSTOM:TFLFUSE_CHAIN_1", "MUL"}
    text = SKETCH.read_text()
    assert f"MicroMutableOpResolver<{len(kinds)}>" in text and "AddFusedOps(resolver)" in text and "AddMul()" in text
