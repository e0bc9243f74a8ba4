"""What the tests on emulated boards share: a harness for each CPU and the meter, built once for all test processes."""
from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tflfuse import tflm

from . import emulator, meter

Harness = Callable[[str], Path]


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first process to want it fills."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Harness:
    """The harness for a CPU; skips where a tool is missing."""
    absent = meter.missing()
    if absent is not None:
        pytest.skip(absent)
    return lambda cpu: once(tmp_path_factory, f"harness-{cpu}", lambda folder: emulator.build(cpu, folder)) / "harness"


@pytest.fixture(scope="session")
def plugin(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "meter", meter.build_plugin) / "meter.so"


@pytest.fixture(scope="session")
def host_kernels() -> None:
    """The kernels of this machine, where the interpreter of the wheel finds them."""
    ctypes.CDLL(str(tflm.library()), mode=ctypes.RTLD_GLOBAL)
