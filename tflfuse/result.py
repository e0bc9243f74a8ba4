"""What rewriting a model gave, and what can be done with it: write it, run data through it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .files import check_distinct, written_whole
from .firmware import firmware, places
from .ir import Array
from .report import Report

if TYPE_CHECKING:
    from .evaluation import Evaluation


@dataclass(frozen=True)
class Result:
    """model: the rewritten .tflite, the very bytes that came in where nothing was done. report: what happened.

    original: what came in.
    """

    model: bytes
    report: Report
    original: bytes

    def write(self, path: Path | str, resolver: Path | str | None = None, c_array: Path | str | None = None,
              sketch: Path | str | None = None, report: Path | str | None = None) -> None:
        """Write the model, what a firmware project compiles, and the page that tells what was done: the files of the
        command's options of these names.

        They appear whole or not at all. Raises OSError, and TflfuseError where one of them cannot be made or two are
        one file.
        """
        path, *pages = (Path(place) for place in (path, report) if place is not None)
        asked = [None if place is None else Path(place) for place in (resolver, c_array, sketch)]
        check_distinct([path, *places(*asked), *pages])
        made = firmware(self.model, path.name, *asked)
        contents = {path: self.model, **dict(made.contents)}
        for page in pages:
            from .html_report import render  # which takes a Result, and so needs this module first
            contents[page] = render(self, path.name).encode("utf-8", "replace")
        written_whole(contents, made.folders)

    def evaluate(self, x: Array | Sequence[Array], y: Array | None = None) -> Evaluation:
        """Run a data set through the model before and after; see tflfuse.evaluation.evaluate."""
        from .evaluation import evaluate  # which lowers models, and so needs this module first
        return evaluate(self.original, self.model, x, y)
