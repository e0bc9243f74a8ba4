"""What the command writes for a firmware project compiles, and holds the model."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tflfuse import cli

from .building import CPUS, PACK, PROJECT, TFLM_HEADERS, compile_all, every_cpu, run
from .test_arduino import STAND_INS, STRICT, every_standard

MODEL = PROJECT / "examples/residual_net.tflite"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """out.tflite, ops.h, model.cc, model.h and the sketch `blink`."""
    made = tmp_path_factory.mktemp("firmware")
    assert cli.main([str(MODEL), str(made / "out.tflite"), "--no-verify", "-q", "--resolver", str(made / "ops.h"),
                     "--c-array", str(made / "model.cc"), "--sketch", str(made / "blink")]) == 0
    return made


@every_cpu
@every_standard
def test_the_sketch_compiles_as_the_ide_does_it(folder: Path, cpu: str, standard: str) -> None:
    sketch = folder / "blink"
    assert {path.name for path in sketch.iterdir()} == {"blink.ino", "model.cpp", "model.h", "ops.h"}
    compile_all(cpu, [sketch / "blink.ino"], f"-std={standard}", *STRICT, "-include", "Arduino.h", "-x", "c++")
    compile_all(cpu, [sketch / "model.cpp"], f"-std={standard}", *STRICT)


@every_cpu
def test_the_resolver_compiles_elsewhere_too(folder: Path, cpu: str) -> None:
    main = folder / "main.cc"
    main.write_text('#include "ops.h"\nResolver resolver;\nTfLiteStatus added = AddOps(resolver);\n')
    compile_all(cpu, [main], "-std=c++11", "-Wall", "-Werror", f"-I{PACK}/include", f"-I{STAND_INS}",
                f"-I{TFLM_HEADERS}")


@every_cpu
def test_the_array_lies_at_a_multiple_of_16(folder: Path, cpu: str, tmp_path: Path) -> None:
    """-fdata-sections gives it a section of its own, whose alignment is what the linker keeps."""
    compiled = tmp_path / "model.o"
    run([*CPUS[cpu], "-std=c++11", "-Wall", "-Werror", "-Os", "-fdata-sections", "-c", str(folder / "model.cc"), "-o",
         str(compiled)])
    sections = run(["readelf", "-SW", str(compiled)]).splitlines()
    section, = [line.split() for line in sections if ".rodata.g_model" in line]
    assert int(section[-1]) % 16 == 0 and "W" not in section[-4], section


def test_the_array_is_the_file(folder: Path, tmp_path: Path) -> None:
    main = tmp_path / "main.cc"
    main.write_text(f'#include <stdio.h>\n#include "{folder}/model.h"\n'
                    "int main() { fwrite(g_model, 1, kModelLength, stdout); }\n")
    run(["g++", str(main), str(folder / "model.cc"), "-o", str(tmp_path / "main")])
    written = subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout
    assert written == (folder / "out.tflite").read_bytes()


def test_a_header_of_another_model_does_not_compile(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "model.cc").write_text((folder / "model.cc").read_text())
    (tmp_path / "model.h").write_text(re.sub(r"(kModelLength) = \d+", r"\1 = 1", (folder / "model.h").read_text()))
    done = subprocess.run([*CPUS["host"], "-c", "model.cc"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "the header is of another model" in done.stderr
