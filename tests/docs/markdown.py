"""What the project's Markdown files tell a reader to type: blocks of code, and commands in them and in the text."""
from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FILES = (*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "tflm_kernels").glob("*.md")))
SHELL = ("", "sh", "bash", "shell", "console")
"""The languages of blocks of commands. A block that begins with "$ " shows output below its command."""

FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
TYPED = re.compile(r"(?:python3?|pip|pytest|cmake|git|sudo|apt-get|make|vela|tflfuse|arduino-cli|pio|west|idf\.py) "
                   r"|scripts/|-D[A-Z]|CONFIG_\w+=|lib_deps\b|(?:add_subdirectory|find_package|target_\w+)\(")
"""How words in the text begin that somebody is to type somewhere."""

COMMENT = re.compile(r"\s+# (.*)$")


@dataclass(frozen=True)
class Block:
    """Code between fences, without the indentation that a list gives it."""

    file: Path
    language: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]


def blocks(file: Path) -> list[Block]:
    return [Block(file, found[2], textwrap.dedent(found[3])) for found in FENCED.finditer(file.read_text())]


def spans(file: Path) -> list[str]:
    """What stands between backticks outside of blocks."""
    return SPAN.findall(FENCED.sub("", file.read_text()))


def commands(file: Path) -> list[str]:
    """In the order of the file, blocks first, each once."""
    shown = [command for block in blocks(file) if block.language in SHELL for command in commands_of(block.text)]
    return list(dict.fromkeys([*shown, *(span for span in spans(file) if TYPED.match(span))]))


def commands_of(text: str) -> Iterator[str]:
    """The commands of a block, and those that a comment gives as another way: # or: tflfuse in.tflite out.tflite"""
    lines = text.replace("\\\n", " ").splitlines()
    if text.startswith("$ "):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    for line in lines:
        command = COMMENT.sub("", line).strip()
        if command and not command.startswith("#"):
            yield command
        for comment in COMMENT.findall(line):
            if comment.startswith("or: "):
                yield comment.removeprefix("or: ")
