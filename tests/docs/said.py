"""The sentences that the code can say: its strings, with \\0 for each part that is filled in."""
from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

from .markdown import PROJECT

MEANT = 10
"""As many characters in a row can only be the sentence that is meant."""

C_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


@lru_cache
def by_the_command() -> tuple[str, ...]:
    return tuple(text for path in sorted((PROJECT / "tflfuse").rglob("*.py")) for text in strings(path))


@lru_cache
def by_the_kernels() -> tuple[str, ...]:
    return tuple(text for path in sorted((PROJECT / "tflm_kernels/src").rglob("*.cc"))
                 for text in C_STRING.findall(path.read_text()))


def strings(path: Path) -> list[str]:
    """Without docstrings: those are expressions by themselves."""
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [text_of(node) for node in ast.walk(tree)
            if isinstance(node, (ast.JoinedStr, ast.Constant)) and id(node) not in skipped]


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "\0"


def says(texts: tuple[str, ...], message: str) -> bool:
    """Whether one of them is the message, in which ... stands for whatever is filled in or left out."""
    parts = message.split("...")
    assert max(map(len, parts)) >= MEANT, f"{message} could be anything"
    return any(re.search(".*".join(map(re.escape, parts)), text) for text in texts)
