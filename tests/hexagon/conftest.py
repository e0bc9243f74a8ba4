"""What the tests on Hexagon share: harnesses, each built once for all test processes."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cortexm.conftest import once
from tflfuse import tflm

from . import emulator

Harness = Callable[..., Path]


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Harness:
    """The harness compiled with more flags; skips where a tool is missing."""
    absent = emulator.missing()
    if absent is not None:
        pytest.skip(absent)

    def built(*flags: str) -> Path:
        name = "-".join(["hexagon", *(flag.strip("-D") for flag in flags)])
        return once(tmp_path_factory, name, lambda folder: emulator.build(folder, *flags)) / "harness"

    return built


@pytest.fixture(scope="session")
def host_kernels() -> None:
    """The kernels of this machine, where the interpreter of the wheel finds them."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    ctypes.CDLL(str(tflm.library()), mode=ctypes.RTLD_GLOBAL)
