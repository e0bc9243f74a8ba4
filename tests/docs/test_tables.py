"""The README's table of rules and the tables of messages say what the code says."""
from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tflfuse import fuse
from tflfuse.folds import FOLDS

from .markdown import PROJECT
from .said import by_the_command, by_the_kernels, says

MODEL = PROJECT / "examples/residual_net.tflite"
BY_TFLM = re.compile(r"Failed to |Too many buffers|Didn't find op")
IN_ARENA = """
import sys
from pathlib import Path
from tflite_micro import runtime
from tflfuse import tflm
data = Path(sys.argv[1]).read_bytes()
runtime.Interpreter.from_bytes(data, [tflm._loaded()] if sys.argv[3:] else [], int(sys.argv[2]))
"""


def table(file: str, head: str) -> list[list[str]]:
    """The cells of the rows below the row that begins with `head`."""
    lines = (PROJECT / file).read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def first_line(module: str) -> str:
    docstring = ast.get_docstring(ast.parse((PROJECT / f"tflfuse/{module}.py").read_text()))
    assert docstring
    return docstring.splitlines()[0]


def test_each_rule_has_its_row_in_the_order_of_trying() -> None:
    expected = [[f"`{rule.name}`", first_line(f"folds/{rule.name}")] for rule in FOLDS]
    expected.append(["`chain_runs`, unless `--builtin-only`", first_line("fusions/chain_runs")])
    assert [row[:2] for row in table("README.md", "| rule |")] == expected


@pytest.mark.parametrize("reason", [
    reason for row in table("README.md", "| rule |") for reason in re.findall("`([^`]+)`", row[2])])
def test_a_reason_is_one_that_the_code_gives(reason: str) -> None:
    assert says(by_the_command(), reason)


@pytest.mark.parametrize("message", [
    message for row in table("README.md", "| message |") for message in re.findall("^`([^`]+)`$", row[0])])
def test_a_message_is_one_that_the_command_gives(message: str) -> None:
    assert says(by_the_command(), message)


def test_messages_of_the_fused_operator_are_in_its_code() -> None:
    ours = [row[0].strip("`") for row in table("tflm_kernels/README.md", "| message |") if "TFLFUSE" in row[0]]
    assert len(ours) == 3 and "TFLFUSE_CHAIN_1" in by_the_kernels() and "%s: %s" in by_the_kernels()
    assert all(says(by_the_kernels(), message.removeprefix("TFLFUSE_CHAIN_1: ")) for message in ours[:2])
    assert ours[2] == "TFLFUSE_CHAIN_1: ..."


def in_tflm(model: Path, arena: int, *kernels: str) -> str:
    """What TFLM says of a model in an arena of so many bytes, in a process of its own."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    done = subprocess.run([sys.executable, "-c", IN_ARENA, model, str(arena), *kernels], capture_output=True, text=True,
                          cwd=PROJECT)
    assert done.returncode == 1, "it was allocated"
    return done.stdout + done.stderr


def test_messages_of_tflm_are_what_it_says(tmp_path: Path) -> None:
    fused, unknown = tmp_path / "fused.tflite", tmp_path / "unknown.tflite"
    fused.write_bytes(fuse(MODEL.read_bytes()).model)
    unknown.write_bytes(model_of_tile())
    said = [in_tflm(MODEL, 1000), in_tflm(MODEL, 20_000), in_tflm(fused, 2000, "with"), in_tflm(fused, 1 << 20),
            in_tflm(unknown, 1 << 20)]
    told = [row[0].strip("`") for row in table("tflm_kernels/README.md", "| message |") if BY_TFLM.match(row[0][1:])]
    assert len(told) == len(said)
    assert all(any(says((text,), message) for text in said) for message in told), said


def model_of_tile() -> bytes:
    """An operator that the wheel's resolver does not have."""
    from tests.build import Build
    b = Build()
    return b.bytes(b.op("TILE", [b.input((1, 4), scale=0.1)], (1, 4), scale=0.1))
