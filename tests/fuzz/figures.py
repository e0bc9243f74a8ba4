"""What was tried and what came of it, for people: a row for every run, and which lines the inputs reach."""
from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .limits import MEMORY, SECONDS, SECONDS_PER_KB, TooSlow, bounded

PROJECT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("FIGURES.md")
GROUPS = {
    "reading and checking": ("flatbuffer", "table_reader", "decode", "schema_tables", "zip_tail", "offline_plan",
                             "invariants", "chain_check", "packing", "ir"),
    "writing": ("table_writer", "encode"),
    "folds": ("folds/*", "evaluate", "affine", "linear", "clamps", "requantize", "producers", "reshapes", "sameness"),
    "fusing": ("fusions/*", "stages*", "tables", "chain", "layout", "schedule", "windows", "planes", "plain", "slots"),
    "lowering": ("lowering", "recover"),
    "memory plan": ("memory", "lifetimes", "placement", "greedy", "overlap", "order", "tail", "arena",
                    "kernel_scratch", "memory_check", "replay"),
}
"""Files of the package by what they do; the rest is not counted."""
KEPT = "\n## What was found"
SAMPLE = 600
"""Inputs of the corpus with which lines are counted."""


def covered(corpus: Path) -> dict[str, tuple[int, int]]:
    """Lines run and lines that there are, by group, with inputs of a corpus."""
    import coverage
    measured = coverage.Coverage(data_file=None, source=[str(PROJECT / "tflfuse")])
    measured.start()
    from .target import attack, strict
    strict()
    for path in sorted(corpus.iterdir())[:SAMPLE]:  # named by their hashes: any of them
        data = path.read_bytes()
        try:
            with bounded(10 * len(data)):  # counting lines takes time too
                attack(data)
        except (Exception, TooSlow) as error:
            print(f"{path.name}: {type(error).__name__}: {error}", file=sys.stderr)
    measured.stop()
    found = {}
    for group, names in GROUPS.items():
        files = [f for name in names for f in (PROJECT / "tflfuse").glob(f"{name}.py")]
        lines = [measured.analysis2(str(f)) for f in files]
        there = sum(len(statements) for _, statements, *_ in lines)
        found[group] = there - sum(len(missing) for *_, missing, _ in lines), there
    return found


def row(state: dict[str, Any], revision: str, options: Sequence[str]) -> str:
    reached = state["reached"]
    total = max(state["executions"], 1)
    shares = [f"{100 * reached[name] / total:.1f} %" for name in ("NOTHING", "READ", "FUSE", "REWRITTEN", "LOWERED")]
    findings = "; ".join(f"{kind} ({count:,})" for kind, count in state["findings"].items()) or "none"
    return (f"| {date.today()} | {revision} | `{' '.join(options)}` | {state['executions']:,} | "
            f"{state['seconds'] / 3600:.2f} | {' | '.join(shares)} | {findings} |")


def text(rows: Sequence[str], coverage_of: dict[str, tuple[int, int]], inputs: int) -> str:
    lines = [f"| {group} | {run:,} of {there:,} | {100 * run / there:.1f} % |"
             for group, (run, there) in coverage_of.items()]
    return "\n".join((
        "# What fuzzing the reader, the rules and the writer showed", "",
        "`scripts/fuzz FOLDER SECONDS OPTIONS` writes this file; options are libFuzzer's. An input is read, checked,",
        "written and read again, fused (with and without custom operators, keeping dimensions open, exactly), the",
        "result read, checked and lowered. A finding is anything but the package's own error for a file that is no",
        "valid model: any other exception, a warning of numpy's, a rule that makes an invalid model, a fused operator",
        f"that cannot be lowered, more processor time than {SECONDS:g} s and {SECONDS_PER_KB:g} s per KB, or "
        f"{MEMORY >> 30} GB.", "",
        f"Python {platform.python_version()}, numpy {version('numpy')}, atheris {version('atheris')}.", "",
        "| Date | Revision | Options | Executions | Hours | No tables | No valid model | Nothing to do | Rewritten | "
        "Fused and lowered | Findings |", "|---|---|---|---|---|---|---|---|---|---|---|", *rows, "",
        f"Lines that {min(inputs, SAMPLE):,} of the {inputs:,} inputs of the last run's corpus reach:", "",
        "| Part | Lines | Share |", "|---|---|---|", *lines, ""))


def write(folder: Path, revision: str, options: Sequence[str]) -> str:
    """Add a run's row to the file and take its corpus' coverage; returns what was written. What people added at the
    end, from the headline KEPT on, stays."""
    state = json.loads((folder / "figures.json").read_text())
    before = FILE.read_text() if FILE.exists() else ""
    old = re.findall(r"^\| \d{4}-.*$", before, re.MULTILINE)
    corpus = folder / "corpus"
    out = text([*old, row(state, revision, options)], covered(corpus), sum(1 for _ in corpus.iterdir()))
    out += before[before.index(KEPT):] if KEPT in before else ""
    FILE.write_text(out)
    return out
