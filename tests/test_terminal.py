"""What people see: colours only where they are wanted, nothing that steers a terminal, lines of its width."""
from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.small_models import activation_model
from tflfuse.terminal import fail, say
from tflfuse.wrapping import rows, wrapped

ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[[\d;]*m")
COMMAND = (sys.executable, "-m", "tflfuse", "in.tflite", "out.tflite", "--no-verify")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.tflite").write_bytes(activation_model())
    return tmp_path


def on_a_terminal(folder: Path, *command: str, **variables: str) -> str:
    """What a terminal gets, of standard and of error output."""
    ours, theirs = pty.openpty()
    without = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "FORCE_COLOR")}
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
                          env=without | {"TERM": "xterm-256color"} | variables) as running:
        os.close(theirs)
        text = b""
        while data := received(ours):
            text += data
    os.close(ours)
    assert running.returncode == 0, text
    return text.decode()


def received(terminal: int) -> bytes:
    """Nothing where the other end is closed."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_a_terminal_gets_colours(folder: Path) -> None:
    text = on_a_terminal(folder, *COMMAND)
    assert f"3 -> {ESCAPE}[1;32m1{ESCAPE}[0m" in text and COLOUR.search(text)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_whoever_wants_no_colours_gets_none(variables: dict[str, str], folder: Path) -> None:
    text = on_a_terminal(folder, *COMMAND, **variables)
    assert "3 -> 1\r\n" in text
    assert not COLOUR.search(text)


def test_a_dumb_terminal_gets_no_escapes_at_all(folder: Path) -> None:
    text = on_a_terminal(folder, *COMMAND, TERM="dumb")
    assert ESCAPE not in text and text.startswith("operators")


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_a_pipe_gets_ascii_and_whole_lines(options: tuple[str, ...], folder: Path) -> None:
    done = subprocess.run([*COMMAND, *options], cwd=folder, capture_output=True, env=os.environ | {"COLUMNS": "30"})
    assert done.returncode == 0 and done.stderr == b""
    text = done.stdout.decode("ascii")
    assert ESCAPE not in text and max(map(len, text.splitlines())) > 60
    assert "operators" in text and not any(line.startswith("     ") for line in text.splitlines())


def test_a_narrow_terminal_gets_lines_of_its_width(folder: Path) -> None:
    text = on_a_terminal(folder, *COMMAND, NO_COLOR="1", COLUMNS="40", LINES="24")
    lines = [line.rpartition("\r")[2].rpartition("K")[2] for line in text.replace("\r\n", "\n").splitlines()]
    assert max(map(len, lines)) <= 40 and any(line.startswith("    ") for line in lines)


def test_a_reader_who_leaves_is_no_error(folder: Path) -> None:
    with subprocess.Popen([*COMMAND, "-v"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout and running.stderr
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0 and (folder / "out.tflite").exists()


def test_names_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert say("a \x1b[2J name\nand \u202e another") == 0
    assert fail(2, "bad\x07 name\r\n") == 2
    assert capsys.readouterr() == ("a \\x1b[2J name\nand \\u202e another\n", "tflfuse: bad\\x07 name\n")


@pytest.mark.parametrize("encoding, shown", [("ascii", b"gr\\xf6\\xdfer \\u5927"), ("latin-1", b"gr\xf6\xdfer \\u5927"),
                                             ("utf-8", "größer 大".encode())])
def test_what_the_encoding_lacks_comes_as_escapes(encoding: str, shown: bytes) -> None:
    program = "from tflfuse.terminal import say; say('gr\\xf6\\xdfer \\u5927')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True,
                          env=os.environ | {"PYTHONIOENCODING": encoding})
    assert (done.stdout.strip(), done.stderr) == (shown, b"")


@pytest.mark.parametrize("line, width, parts", [
    ("short", 10, ["short"]), ("", 10, [""]),
    ("  one two three four five", 20, ["  one two three four", "      five"]),
    ("https://a.very.long.word/that-does-not-fit-anywhere x", 20,
     ["https://a.very.long.word/that-does-not-fit-anywhere", "    x"])])
def test_lines_are_wrapped_at_blanks(line: str, width: int, parts: list[str]) -> None:
    assert wrapped(line, width) == parts


def test_rows_are_what_a_terminal_shows() -> None:
    lines = "", "x" * 20, "x" * 21, "one two three four five six", "大" * 11
    assert [rows(line, 20) for line in lines] == [1, 1, 2, 2, 2]


def test_a_report_that_cannot_be_printed_is_exit_2_and_the_files_are_there(folder: Path) -> None:
    (folder / "other.tflite").write_bytes(activation_model())
    for arguments in (["in.tflite", "-o", "out/"], ["in.tflite", "other.tflite", "-o", "out/"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*COMMAND[:3], *arguments, "--no-verify"], cwd=folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "the report cannot be printed: No space left on device" in done.stderr
    assert {path.name for path in (folder / "out").iterdir()} == {"in.tflite", "other.tflite"}


def test_without_an_error_output_errors_do_not_get_into_the_report(folder: Path) -> None:
    program = ["sh", "-c", 'exec "$@" 2>&-', "sh", *COMMAND[:3], "missing.tflite", "out.tflite"]
    done = subprocess.run(program, cwd=folder, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (2, b"")


def test_the_version_is_that_of_the_package() -> None:
    done = subprocess.run([*COMMAND[:3], "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"tflfuse {version('tflfuse')}\n")
