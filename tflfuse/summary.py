"""What there is to say about a result, on one screen: 24 lines of 80 columns."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from .fusions import chain_runs
from .plan import Step
from .refusals import stakes
from .traffic import Group
from .wrapping import rows

if TYPE_CHECKING:
    from .report import Report

LINES, COLUMNS = 24, 80
BEST = 3
LEAST_PART = 1000
"""Of the bytes that the result moves, through rows too, a refusal must have one in so many to be named."""
MOST_RULES, MOST_NOTES = 3, 2
LABEL, KINDS = 16, 43
"""Columns."""


def lines(report: Report) -> list[str]:
    """For a terminal or a file, with as many fused operators as there is room for; where even few are too many, with
    every line cut to one row."""
    found = parts(report, lambda line: line)
    return found if height(found) < LINES else parts(report, shortened)


def parts(report: Report, line: Callable[[str], str]) -> list[str]:
    """line: what to make of each."""
    above = [line(text) for text in (*figures(report), *outputs(report), *folds(report.plan.steps))]
    below = [line(text) for text in (*left(report), *notes(report.notes), *hint(report))]
    room = LINES - 1 - height(above) - height(below)  # the prompt wants a line too
    return [*above, *groups(report, room), *below]


def height(text: Iterable[str]) -> int:
    return sum(rows(line, COLUMNS) for line in text)


def shortened(line: str) -> str:
    """To one row."""
    return line if cell_len(line) <= COLUMNS else set_cell_size(line, COLUMNS - 3) + "..."


def figures(report: Report) -> Iterator[str]:
    """What changed, in numbers."""
    yield f"{'operators':{LABEL}} {report.operators_before.total():>10,} -> {report.operators_after.total():,}"
    yield f"{'file':{LABEL}} {report.bytes_before:>10,} -> {report.bytes_after:,} bytes"
    proof, memory, traffic = report.proof, report.memory, report.traffic
    if proof and proof.arena_before and proof.arena_after:
        yield (f"{'arena':{LABEL}} {proof.arena_before.total:>10,} -> {proof.arena_after.total:,} bytes, "
               "measured in the 64-bit interpreter")
    if proof and proof.tflm_fails:
        yield f"{'kTensorArenaSize':{LABEL}} not known: the model did not run in TFLM"
    elif memory:
        before = f"{memory.before.device:>10,} -> " if memory.before else " " * 14
        yield f"{'kTensorArenaSize':{LABEL}} {before}{memory.after.device:,} bytes for 32-bit targets"
    if traffic:
        inside = f", {traffic.after.rings:,} of them rows in fused operators" if traffic.after.rings else ""
        yield (f"{'traffic':{LABEL}} {traffic.before.total:>10,} -> {traffic.after.total:,} bytes read and written"
               f"{inside}")
    if not report.changed:
        yield f"unchanged: {report.why_unchanged}"


def outputs(report: Report) -> list[str]:
    """How exact the result is, and who says so."""
    if report.proof:
        return report.proof.lines(brief=True)
    changing = sum(not s.exact for s in report.plan.steps)
    return ["not verified: no model was run; " + (f"{count(changing, 're-quantizing step')}" if changing else
                                                  "every step keeps every bit by construction")]


def folds(steps: Sequence[Step]) -> Iterator[str]:
    """Rules that touched operators each on a line, with what they do; the others by name."""
    of_operators = Counter((s.rule, s.summary, s.exact) for s in steps if s.rule != chain_runs.NAME and s.place)
    found = of_operators.most_common()
    for (rule, summary, exact), number in found[:MOST_RULES]:
        yield f"{number:>4} x {rule}{'' if exact else ' (re-quantizing)'}: {summary}"
    others = [rule for (rule, *_), _ in found[MOST_RULES:]]
    others += [s.rule for s in steps if s.rule != chain_runs.NAME and not s.place]
    if others:
        yield f"also done: {', '.join(dict.fromkeys(others))}"


def groups(report: Report, room: int) -> Iterator[str]:
    """The fused operators, in order; where there are more than lines for them, those that spare most traffic.

    room: lines.
    """
    steps = [s for s in report.plan.steps if s.rule == chain_runs.NAME]
    if not steps:
        return
    yield f"fused {count(sum(len(s.before) for s in steps), 'operator')} into {len(steps)}, bytes of tensors moved:"
    moved = {g.label: g for g in report.traffic.groups} if report.traffic else {}
    of_several = [s for s in steps if len(s.before) > 1]
    most = len(of_several) if len(of_several) + (len(of_several) < len(steps)) < room else max(room - 2, 1)
    best = sorted(of_several, key=lambda s: (-spared(moved.get(s.after[0].label)), -len(s.before)))[:most]
    others = [s for s in steps if s not in best]
    if len(others) == 1:  # the line that would count it has room for it
        best, others = steps, []
    for step in (s for s in steps if s in best):
        yield group(step, moved.get(step.after[0].label))
    if others:
        operators = sum(len(s.before) for s in others)
        each = "one operator each" if operators == len(others) else f"{operators} operators"
        yield f"  {len(others)}{' more' if best else ''} of {each}"


def spared(group: Group | None) -> int:
    """Bytes of tensors."""
    return group.before.tensors - group.after.tensors if group and group.before else 0


def group(step: Step, moved: Group | None) -> str:
    """ "  #1-#28    14 CONV_2D, 7 DEPTHWISE_CONV_2D and 7 more  380,160 -> 36,672" """
    places = dict.fromkeys((step.before[0].place, step.before[-1].place))
    numbers = f"{moved.before.tensors:>10,} -> {moved.after.tensors:,}" if moved and moved.before else ""
    return f"  {'-'.join(places):<9} {kinds(Counter(o.name for o in step.before)):<{KINDS}}{numbers}".rstrip()


def kinds(names: Counter[str]) -> str:
    """As many as there is room for."""
    words: list[str] = []
    several = names.most_common()
    for position, (name, number) in enumerate(several):
        word = f"{number} {name}" if number > 1 else name
        rest = sum(n for _, n in several[position + 1:])
        if words and len(", ".join([*words, word])) + (len(f" and {rest} more") if rest else 0) > KINDS:
            return f"{', '.join(words)} and {number + rest} more"
        words.append(word)
    return ", ".join(words)


def left(report: Report) -> Iterator[str]:
    """The refusals that cost most."""
    moving = report.traffic.after.total if report.traffic else 0
    worth = [s for s in stakes(report.plan.refusals) if s.moved * LEAST_PART >= moving][:BEST]
    if worth:
        yield "not fused, and why:"
        yield from (f"  {stake.moved:,} bytes moved by {stake}" for stake in worth)


def notes(said: Sequence[str]) -> Iterator[str]:
    yield from (f"note: {note}" for note in said[:MOST_NOTES])
    if len(said) > MOST_NOTES:
        yield f"{count(len(said) - MOST_NOTES, 'more note')}: -v"


def hint(report: Report) -> Iterator[str]:
    steps, refusals = len(report.plan.steps), len(report.plan.refusals)
    if steps or refusals:
        yield f"-v or --explain shows {count(steps, 'step')} and {count(refusals, 'refusal')} one by one"


def count(number: int, what: str) -> str:
    """ "1 step", "2 steps" """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
