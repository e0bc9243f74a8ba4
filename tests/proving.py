"""What was proved of random models so far: a file that a run goes on from, and the page that tells of it."""
from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .random_checks import Verdict

ROOT = Path(__file__).resolve().parent.parent
SOURCES = "tflfuse", "tflm_kernels/src", "tflm_kernels/include"
"""What a proof is about: the package and the kernels."""
COUNTS = "models", "operators", "rules", "stages"


@dataclass
class Proved:
    """The models of one commit's sources. seeds: ranges [first, behind the last], in order and apart.

    failed: what does not hold, by seed. seconds: of all processes together.
    """

    commit: str
    seeds: list[list[int]] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    ended: str = ""

    @property
    def done(self) -> int:
        return sum(end - first for first, end in self.seeds)

    def add(self, seed: int, family: str, verdict: Verdict, seconds: float) -> None:
        """Count a model's verdict."""
        merge(self.seeds, seed)
        self.seconds += seconds
        self.models[family] += 1
        self.models["refused"] += verdict.refused is not None
        self.models["left out"] += verdict.excluded
        for mine, more in ((self.operators, verdict.operators), (self.rules, verdict.rules),
                           (self.stages, verdict.stages)):
            mine.update(more)
        if verdict.failure is not None:
            self.failed[str(seed)] = verdict.failure
        self.ended = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def merge(ranges: list[list[int]], seed: int) -> None:
    """Add a seed to ranges that do not have it."""
    before = next((r for r in ranges if r[1] == seed), None)
    after = next((r for r in ranges if r[0] == seed + 1), None)
    if before is not None and after is not None:
        before[1] = after[1]
        ranges.remove(after)
    elif before is not None:
        before[1] += 1
    elif after is not None:
        after[0] -= 1
    else:
        ranges.append([seed, seed + 1])
        ranges.sort()


def load(path: Path) -> list[Proved]:
    if not path.exists():
        return []
    return [entry_of(**{key: Counter(value) if key in COUNTS else value for key, value in entry.items()})
            for entry in json.loads(path.read_text())]


def entry_of(**fields: Any) -> Proved:
    return Proved(**fields)


def save(path: Path, proved: list[Proved]) -> None:
    """Whole or not at all."""
    partial = path.with_name(path.name + ".new")
    partial.write_text(json.dumps([as_dict(p) for p in proved], indent=1) + "\n")
    partial.replace(path)


def as_dict(proved: Proved) -> dict[str, Any]:
    return {key: dict(sorted(value.items())) if isinstance(value, Counter) else value
            for key, value in vars(proved).items()}


def of_commit(proved: list[Proved], commit: str) -> Proved:
    """The entry to go on with."""
    found = next((p for p in proved if p.commit == commit), None)
    if found is None:
        proved.append(found := Proved(commit))
    return found


def left(proved: list[Proved], commit: str, first: int, count: int) -> Iterator[int]:
    """The seeds that no entry has yet, and those that failed with other sources."""
    mine = {seed for p in proved if p.commit == commit for seed in p.failed}
    again = {int(seed) for p in proved for seed in p.failed if seed not in mine} - right(proved)
    ranges = [r for p in proved for r in p.seeds]
    return (s for s in range(first, first + count) if s in again or not any(a <= s < b for a, b in ranges))


def right(proved: list[Proved]) -> set[int]:
    """The seeds that failed in one entry and did not in a later one."""
    return {int(seed) for number, p in enumerate(proved) for seed in p.failed for other in proved[number + 1:]
            if seed not in other.failed and any(a <= int(seed) < b for a, b in other.seeds)}


def commit() -> str:
    """Of the sources; with a word where they are not as committed."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + (" with changes" if git("status", "--short", *SOURCES) else "")


def page(proved: list[Proved], command: str) -> str:
    """Markdown, for the figures file."""
    total: dict[str, Counter[str]] = {name: sum((getattr(p, name) for p in proved), Counter()) for name in COUNTS}
    models = total["models"]
    families = {k: v for k, v in models.items() if k not in ("refused", "left out")}
    fixed = right(proved)
    failed = {seed: why for p in proved for seed, why in p.failed.items()}
    wrong = {seed: why for seed, why in failed.items() if int(seed) not in fixed}
    count = sum(p.done for p in proved) - len(fixed)
    rows = [f"| {p.commit} | {', '.join(f'{a:,} to {b - 1:,}' for a, b in p.seeds)} | {p.done:,} | {len(p.failed)} | "
            f"{p.seconds / max(p.done, 1) * 1000:.0f} ms | {p.ended} |" for p in proved]
    return "\n".join([
        "# Random models proved", "",
        f"Written by `{command}`. Each seed makes one model and the options to rewrite it with; `scripts/prove --help`",
        "says what is compared. A seed gives the same model on every machine. What holds since was tried again after a",
        "change of the sources or of what the check allows.", "",
        f"**{count:,} models, {len(wrong)} with a difference**; {models['refused']:,} that TFLM "
        f"does not run as they are; {models['left out']:,} re-quantizing steps left out by their measured error.", "",
        "| commit | seeds | models | with a difference | time for a model | ended |",
        "|---|---|--:|--:|--:|---|", *rows, "",
        *(f"* seed {seed}{', holds since' * (int(seed) in fixed)}: {why}" for seed, why in failed.items()),
        *([""] if failed else []),
        "## What was in them", "",
        "Models: " + told(families), "", "Operators: " + told(total["operators"]), "",
        "Steps taken, by rule: " + told(total["rules"]), "", "Stages of fused operators: " + told(total["stages"]), ""])


def told(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda c: (-c[1], c[0]))) + "."
