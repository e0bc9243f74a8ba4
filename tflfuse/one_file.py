"""One file, read to written: what the arguments ask for, and what there is to say about it."""
from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import firmware, html_report
from .errors import TflfuseError
from .files import check_distinct, check_places, written_whole
from .pipeline import fuse, lower
from .proof import Differs, Unproved, fuse_and_prove, lower_and_prove
from .report import Report
from .result import Result
from .source import model_bytes

Progress = Callable[[str], None]
"""Is told what is being done."""


class OverBudget(TflfuseError):
    """The fused model's arena is larger than --arena."""


@dataclass(frozen=True)
class Made:
    """contents: every file to be written; folders: to be made for them where they are missing."""

    report: Report
    contents: dict[Path, bytes]
    folders: tuple[Path, ...] = ()

    def write(self) -> None:
        """All of them or none. Raises OSError."""
        written_whole(self.contents, self.folders)


def check(args: argparse.Namespace, source: Path, target: Path | None) -> None:
    """Raise OSError or TflfuseError where the outputs cannot be written, before any work is done for them."""
    paths = places(args, target)
    check_distinct(paths, source)
    check_places(paths, folders(args))


def places(args: argparse.Namespace, target: Path | None) -> list[Path]:
    """All files that will be written, the model first."""
    beside = firmware.places(args.resolver, args.c_array, args.sketch)
    return [path for path in (target, *beside, args.json, args.report) if path is not None]


def folders(args: argparse.Namespace) -> tuple[Path, ...]:
    return tuple(path for path in (args.folder, args.sketch) if path is not None)


def make(args: argparse.Namespace, source: Path, target: Path | None, progress: Progress) -> Made:
    """What is to be written for one file. Writes nothing.

    Raises OSError where it cannot be read, Differs where the proof fails, OverBudget, and other TflfuseErrors.
    """
    result = rewritten(args, model_bytes(source), progress)
    report = result.report
    if args.lower and not report.changed:
        report = replace(report, unchanged="no operator in it is fused, so there is nothing to lower")
    contents: list[tuple[Path, bytes]] = []
    if target is not None:
        made = firmware.firmware(result.model, target.name, args.resolver, args.c_array, args.sketch)
        contents += [(target, result.model), *made.contents]
        report = replace(report, notes=report.notes + made.notes)
    if args.json:
        contents.append((args.json, (json.dumps(report.as_dict(), indent=1) + "\n").encode()))
    if args.report:
        page = html_report.render(replace(result, report=report), source.name)
        contents.append((args.report, page.encode("utf-8", "replace")))
    return Made(report, dict(contents), folders(args))


def failure(error: Exception, source: Path) -> tuple[int, str]:
    """The exit code and the line that say what went wrong."""
    if isinstance(error, OSError):
        name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(source)
        return 2, f"{name}: {error.strerror or error}"
    if isinstance(error, (Differs, OverBudget)):
        return 3 if isinstance(error, Differs) else 4, f"{source}: {error}; nothing was written"
    return 2, f"{source}: {error}"


def rewritten(args: argparse.Namespace, data: bytes, progress: Progress) -> Result:
    """The rewritten or lowered model, proved unless --no-verify; rewritten, within --arena."""
    if args.lower:
        return lower(data) if args.no_verify else lower_and_prove(data, args.verify, progress)
    options = {"custom_ops": not args.builtin_only, "exact": args.exact, "keep_dynamic": args.keep_dynamic,
               "memory_plan": not args.no_memory_plan}
    if args.no_verify:
        return fuse(data, **options, progress=lambda done: progress("rewriting"))
    return within_budget(args.arena, lambda arena: fuse_and_prove(data, args.verify, progress, arena=arena, **options))


def within_budget(budget: int | None, make: Callable[[int | None], Result]) -> Result:
    """The result of `make`, which gets the budget; where that is overdrawn after all, the smallest there is."""
    result = make(budget)
    if budget is None:
        return result
    try:
        check_budget(result, budget)
    except OverBudget:
        result = make(None)
        check_budget(result, budget)
    return result


def check_budget(result: Result, budget: int) -> None:
    arena = result.report.proof.arena_after if result.report.proof else None
    if arena is None:
        reasons = result.report.proof.whole.reasons if result.report.proof else ()
        raise Unproved("; ".join(("the arena is not known, because TFLM did not run the model", *reasons)))
    if arena.total > budget:
        memory = result.report.memory
        obstacle = f": {memory.obstacle()}" if memory else ""
        raise OverBudget(f"the smallest arena found is {arena.total:,} bytes, --arena allows {budget:,}{obstacle}")
