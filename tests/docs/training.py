"""The training example on few images: it learns little, but goes through every step to a sketch that compiles."""
from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build import names
from tests.packages.building import compile_all
from tests.packages.test_arduino import STRICT
from tflfuse import flatbuffer

from .markdown import PROJECT


def on_few_images(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tflfuse[tf]")
    python, example, out = shlex.split(command)
    done = subprocess.run([sys.executable, PROJECT / example, out, "--images", "256"], capture_output=True,
                          text=True, cwd=folder, env={**os.environ, "PYTHONPATH": os.fspath(PROJECT)})
    assert done.returncode == 0, done.stderr
    assert "verified: all outputs equal" in done.stdout
    before, after = re.findall(r"^accuracy: (\S+) -> (\S+)$", done.stdout, re.MULTILINE)[0]
    assert before == after and re.search(r"^accuracy before quantizing: 0\.\d+$", done.stdout, re.MULTILINE)
    made = folder / out
    sketch = made / "stripes_sketch"
    assert {path.name for path in made.iterdir()} == {"model.tflite", "model.cc", "model.h", "ops.h", sketch.name}
    assert set(names(flatbuffer.read((made / "model.tflite").read_bytes()))) == {"CUSTOM:TFLFUSE_CHAIN_1", "SOFTMAX"}
    assert "tflfuse::AddChain(resolver)" in (made / "ops.h").read_text()
    compile_all("host", [sketch / f"{sketch.name}.ino"], "-std=gnu++11", *STRICT, "-include", "Arduino.h", "-x", "c++")
    compile_all("host", [sketch / "model.cpp", made / "model.cc"], "-std=gnu++11", *STRICT)
