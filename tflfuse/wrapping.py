"""Lines for a terminal of so many columns, of text that may hold anything."""
from __future__ import annotations

import textwrap

from rich.cells import cell_len

NARROWEST = 20


def wrapped(line: str, width: int) -> list[str]:
    """At blanks; what follows the first line is indented. A word that is longer is left to the terminal."""
    if cell_len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, max(width, NARROWEST), subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def rows(line: str, width: int) -> int:
    """How many the terminal shows for it."""
    return sum(max(-(-cell_len(part) // width), 1) for part in wrapped(line, width))


def visible(text: str) -> str:
    """With escapes for what cannot be printed, but for the ends of lines."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """With escapes for the ends of lines too."""
    return visible(text).replace("\n", "\\n")
