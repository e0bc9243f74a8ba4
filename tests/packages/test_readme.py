"""The steps of the pack's README, executed."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .building import PACK, PROJECT, compile_all
from .test_arduino import STRICT

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


def test_the_steps_lead_to_a_program_that_compiles(model: Path) -> None:
    fuse, = blocks("sh")
    assert "for 32-bit targets" in shell(fuse, model)
    registered, program = blocks("cpp")
    assert registered in (model / "ops.h").read_text()
    (model / "program.cpp").write_text(program)
    for source in ("program.cpp", "model.cpp"):
        compile_all("host", [model / source], "-std=gnu++11", *STRICT, f"-I{PACK}/include")


def test_the_names_it_tells_follow_the_files(model: Path) -> None:
    shell("python -m tflfuse model.tflite fused.tflite --c-array person.cpp --resolver person_ops.h", model)
    written = "".join((model / name).read_text() for name in ("person_ops.h", "person.h"))
    for name in ("PersonResolver", "AddPersonOps", "g_person", "kPersonArenaSize"):
        assert name in written and f"`{name}`" in README
