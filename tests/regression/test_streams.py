"""Standard streams that are closed, full, read in part or narrow in their letters: each once a traceback."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build import Build
from tflfuse import flatbuffer

COMMAND = f"'{sys.executable}' -m tflfuse in.tflite out.tflite --builtin-only --no-verify -v"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    b = Build()
    x = b.input((1, 4))
    y = b.tensor((1, 4), name="Größe".encode())
    b.add("RELU", [b.op("ADD", [x, x], x.shape)], [y])
    (tmp_path / "in.tflite").write_bytes(b.bytes(y))
    return tmp_path


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The line in bash; the model must have been written whatever became of the streams."""
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(p or "." for p in sys.path), **environment})
    assert len(list(flatbuffer.read((folder / "out.tflite").read_bytes()).operators)) == 1, done.stderr
    return done


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream(closed: str, folder: Path) -> None:
    done = shell(f"{COMMAND} {closed}", folder)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_leaves_early(folder: Path) -> None:
    done = shell(f"{COMMAND} | true; exit ${{PIPESTATUS[0]}}", folder)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_behind_the_standard_output(folder: Path) -> None:
    done = shell(f"{COMMAND} > /dev/full", folder)
    said = b"tflfuse: the report cannot be printed: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_letters_that_the_output_lacks(folder: Path) -> None:
    done = shell(COMMAND, folder, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"") and b"'Gr\\xf6\\xdfe'" in done.stdout
