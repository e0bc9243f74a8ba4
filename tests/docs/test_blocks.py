"""Every block of Python or C++ in the docs is run or compiled as it stands there."""
from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tflfuse
from tests import test_contributing
from tests.packages import test_readme as pack_readme

from .markdown import FILES, PROJECT, SHELL, Block, blocks

CODE = {block.first_line: block for file in FILES for block in blocks(file) if block.language not in SHELL}
FROM_PYTHON = "from pathlib import Path"
WITH_KERAS = "result = tflfuse.convert_keras("
A_FOLD = '"""RELU(RELU6(x)) -> RELU6(x)."""'
A_RESOLVER = "using Resolver = "
A_PROGRAM = '#include "model.h"'


def block_of(start: str) -> Block:
    found, = [block for line, block in CODE.items() if line.startswith(start)]
    return found


def test_a_test_runs_each() -> None:
    """A block that begins otherwise needs a test of its own here."""
    known = (FROM_PYTHON, WITH_KERAS, A_FOLD, A_RESOLVER, A_PROGRAM)
    assert [line for line in CODE if not line.startswith(known)] == []
    assert len(CODE) == len(known) == sum(block.language not in SHELL for file in FILES for block in blocks(file))


def test_blocks_that_other_tests_run_are_these() -> None:
    assert block_of(A_FOLD).text == test_contributing.shown()
    assert [block_of(A_RESOLVER).text, block_of(A_PROGRAM).text] == pack_readme.blocks("cpp")


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block_of(FROM_PYTHON).text, {})
    assert "in TFLM" in printed.getvalue()


def test_the_training_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keras: Any = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tflfuse[tf]").keras
    monkeypatch.chdir(tmp_path)
    x = keras.Input((8, 8, 2))
    y = keras.layers.DepthwiseConv2D(3, padding="same")(keras.layers.Conv2D(4, 3, padding="same")(x))
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.GlobalAveragePooling2D()(y)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    images, labels = np.random.default_rng(0).normal(0, 1, (20, 8, 8, 2)), np.arange(20) % 2
    exec(block_of(WITH_KERAS).text, {"tflfuse": tflfuse, "model": model, "x_train": images, "y_train": labels,
                                     "x_test": images, "y_test": labels})
    assert {path.name for path in tmp_path.iterdir()} == {"model.tflite", "demo"}
