"""The steps of the pack's README, executed."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .building import PACK, PROJECT, compile_all, run
from .test_arduino import FLAGS

README = (PACK / "README.md").read_text()


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return [textwrap.dedent(block) for block in found]


def shell(commands: str, folder: Path) -> str:
    """What they print, with this Python as python."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-ec", commands], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PATH": path, "PYTHONPATH": os.fspath(PROJECT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.tflite").write_bytes((PROJECT / "tests/data/squeeze_excite_open_batch.tflite").read_bytes())
    return tmp_path


def test_the_first_step_writes_the_fused_file_as_an_array(model: Path) -> None:
    fuse, _ = blocks("sh")
    assert "for 32-bit targets" in shell(fuse, model)
    main = model / "main.cpp"
    main.write_text("#include <stdio.h>\nextern const unsigned char g_model[];\n"
                    f"int main() {{ fwrite(g_model, 1, {(model / 'fused.tflite').stat().st_size}, stdout); }}")
    run(["g++", str(main), str(model / "model.cpp"), "-o", str(model / "main")])
    written = subprocess.run([model / "main"], capture_output=True, check=True).stdout
    assert written == (model / "fused.tflite").read_bytes()


def test_the_resolvers_operators_are_told(model: Path) -> None:
    fuse, tell = blocks("sh")
    assert set(shell(fuse + tell, model).splitlines()[-1].split()) == {"CUSTOM", "MUL"}


def test_the_sketch_compiles(tmp_path: Path) -> None:
    sketch, = blocks("cpp")
    (tmp_path / "sketch.cpp").write_text(sketch)
    compile_all("host", [tmp_path / "sketch.cpp"], "-std=gnu++11", *FLAGS, "-include", "Arduino.h")
