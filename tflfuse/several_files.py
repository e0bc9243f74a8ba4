"""Several files, each as it would be alone: one that fails stops no other."""
from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len, set_cell_size

from . import one_file
from .errors import TflfuseError
from .files import written_whole
from .report import Report
from .summary import outputs
from .workers import Died, Workers
from .wrapping import one_line

SHORTEST_NAME = 20

DEFECT = 1
"""The exit code where a process ended that should not have."""


@dataclass(frozen=True)
class Figures:
    """Before and after. outputs: how exact they are. arena: kTensorArenaSize; moved: bytes read and written.

    None where it is not known.
    """

    outputs: str
    operators: tuple[int, int]
    size: tuple[int, int]
    arena: tuple[int, int] | None
    moved: tuple[int, int] | None


@dataclass(frozen=True)
class Outcome:
    """What became of one file. code: its exit code alone. said: one line. made: to be written, None where it failed.

    text: all that a run of it alone prints. figures: None where it failed.
    """

    source: Path
    code: int
    said: str
    text: str = ""
    figures: Figures | None = None
    contents: dict[Path, bytes] | None = None
    folders: tuple[Path, ...] = ()


def check(args: argparse.Namespace) -> None:
    """Raise OSError or TflfuseError where the folder cannot be written to, or an output is another one's input."""
    inputs = {os.path.realpath(source): source for source, _ in args.pairs}
    outputs: dict[str, Path] = {}
    for source, target in args.pairs:
        one_file.check(args, source, target)
        place = os.path.realpath(target)
        if inputs.get(place, source) != source:
            raise TflfuseError(f"{target} is also {inputs[place]}, which is read")
        if outputs.setdefault(place, target) != target:
            raise TflfuseError(f"{target} and {outputs[place]} are one file")


def outcomes(args: argparse.Namespace, workers: Workers) -> Iterator[Outcome]:
    """Each file's, in the order of the arguments; what it made is written by then."""
    calls: list[tuple[Callable[..., Outcome], tuple[object, ...]]] = [
        (outcome, (args, source, target)) for source, target in args.pairs]
    early: dict[int, Outcome] = {}
    turn = 0
    for number, answer in workers.answers(calls):
        source = args.pairs[number][0]
        if isinstance(answer, Died):
            answer = Outcome(source, DEFECT, f"{source}: the process that worked on it ended: {answer.how}")
        early[number] = written(answer)
        while turn in early:
            yield early.pop(turn)
            turn += 1


def outcome(args: argparse.Namespace, source: Path, target: Path) -> Outcome:
    """In a process of its own. Writes nothing."""
    try:
        made = one_file.make(args, source, target, lambda what: None)
    except (OSError, TflfuseError) as error:
        return Outcome(source, *one_file.failure(error, source))
    said = one_line("; ".join(outputs(made.report)))
    return Outcome(source, 0, said, made.report.text(everything=args.verbose), figures(made.report), made.contents,
                   made.folders)


def written(found: Outcome) -> Outcome:
    """The outcome after its files are written, without them."""
    if found.contents is None:
        return found
    try:
        written_whole(found.contents, found.folders)
    except OSError as error:
        return Outcome(found.source, *one_file.failure(error, found.source))
    return Outcome(found.source, found.code, found.said, found.text, found.figures)


def how_exact(report: Report) -> str:
    """Whether the outputs are the same, in few words."""
    if report.proof is None:
        return "not run"
    whole = report.proof.whole
    if not whole.conclusive:
        return "not verified"
    if whole.equal:
        return "equal"
    worst = max((d for d in whole.outputs if not d.equal), key=lambda d: d.relative or d.largest)
    return f"{worst.largest:.0f} steps" if worst.relative is None else f"{worst.relative:.2g} of range"


def figures(report: Report) -> Figures:
    memory, traffic = report.memory, report.traffic
    known = memory is not None and memory.before is not None and not (report.proof and report.proof.tflm_fails)
    return Figures(how_exact(report), (report.operators_before.total(), report.operators_after.total()),
                   (report.bytes_before, report.bytes_after),
                   (memory.before.device, memory.after.device) if known and memory and memory.before else None,
                   (traffic.before.total, traffic.after.total) if traffic else None)


def table(found: Sequence[Outcome], room: int | None = None) -> list[str]:
    """A line for each file, and how many there are. room: columns, for which names are cut; None for any number."""
    head = ("", "operators", "file", "", "kTensorArenaSize", "", "traffic", "outputs")
    rows = [head, *map(row, found)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    if room is not None:
        widths[0] = max(min(widths[0], room - sum(widths[1:]) - len(widths)), SHORTEST_NAME)
    lines = [" ".join([padded(cut(name, widths[0]), widths[0]),
                       *(padded(cell, -width) for cell, width in zip(cells, widths[1:], strict=False)), " " + exact])
             for name, *cells, exact in rows]
    failed = sum(f.code != 0 for f in found)
    return [*(line.rstrip() for line in lines), f"{len(found)} files, {len(found) - failed} written, {failed} failed"]


def row(found: Outcome) -> tuple[str, ...]:
    """The cells of a file."""
    f, name = found.figures, one_line(found.source.name)
    if f is None:
        return name, *[""] * 6, f"exit {found.code}"
    operators, size = f"{f.operators[0]:,} -> {f.operators[1]:,}", f"{f.size[1]:,}"
    arena = f"{f.arena[0]:,} -> {f.arena[1]:,}" if f.arena else "not known"
    return (name, operators, size, change(f.size), arena, change(f.arena), change(f.moved), f.outputs)


def change(numbers: tuple[int, int] | None) -> str:
    """ "-65%" """
    if numbers is None:
        return ""
    percent = round(100 * (numbers[1] - numbers[0]) / max(numbers[0], 1))
    if numbers[1] > 0:
        percent = max(percent, -99)  # something is left
    return f"{percent:+}%" if percent else "0%"


def cut(name: str, width: int) -> str:
    """Its beginning and its end."""
    if cell_len(name) <= width:
        return name
    half = (width - 3) // 2
    return set_cell_size(name, width - 3 - half).rstrip() + "..." + name[-half:]


def padded(cell: str, width: int) -> str:
    """To so many columns of a terminal, to the right where the width is negative."""
    blanks = " " * (abs(width) - cell_len(cell))
    return cell + blanks if width > 0 else blanks + cell
