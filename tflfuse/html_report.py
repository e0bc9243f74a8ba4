"""What was done to a model, as one HTML file that needs nothing else: no network, no fonts, a few lines of script.

Names come from the model's file, which anyone may have written: the template engine escapes all that it is given, and
the page's own policy lets nothing run or load but the script and the style of this package, by their hashes.
"""
from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from . import energy, flatbuffer
from .blocks import Block, blocks_of
from .chart import charts, place_of
from .ir import NAME_OF_TYPE, Model
from .plan import Refusal, Step
from .refusals import moved_by
from .report import Report
from .result import Result
from .timeline import Timeline, timeline

OPEN_GROUPS = 3
"""So many fused operators are shown with all their stages; of more, each one's stages on demand."""


def render(result: Result, name: str = "model.tflite") -> str:
    """The page. name: what the model is called in the title. The same result gives the same page."""
    before, after = flatbuffer.read(result.original), flatbuffer.read(result.model)
    old, new = timeline(before), timeline(after)
    pictures = charts(old, new) if isinstance(old, Timeline) and isinstance(new, Timeline) else ()
    report = result.report
    blocks = tuple(blocks_of(after, report.traffic.groups if report.traffic else ()))
    style, script = (files(__package__).joinpath("templates", f"report.{kind}").read_text("utf-8")
                     for kind in ("css", "js"))
    return environment().get_template("report.html").render(
        name=name, report=report, before=old, after=new, known=bool(pictures), charts=pictures, blocks=blocks,
        open_groups=sum(bool(b.stages) for b in blocks) <= OPEN_GROUPS,
        estimates=estimates(report, blocks_of(before, ()), blocks), energy=energy, steps=by_rule(report.plan.steps),
        refusals=by_reason(report.plan.refusals), inputs=values(before, "inputs"), outputs=values(before, "outputs"),
        style=Markup(style), script=Markup(script), style_hash=source_hash(style), script_hash=source_hash(script))


def environment() -> Environment:
    made = Environment(loader=PackageLoader(__package__ or "tflfuse"), autoescape=True, undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True)
    made.filters.update(n=lambda number: f"{number:,}", change=change, shape=shape)
    made.globals.update(place_of=place_of)
    return made


def change(before: int, after: int) -> str:
    """ "−60%" """
    if before == after:
        return "the same"
    if before == 0:
        return "new"
    part = 100 * (after - before) / before
    if after > 0:
        part = max(part, -99)  # something is left
    return f"{'−' if part < 0 else '+'}{abs(part):.{0 if abs(part) >= 10 else 1}f}%"


def shape(sizes: Iterable[int]) -> str:
    return " × ".join(map(str, sizes)) or "one number"


def estimates(report: Report, before: Iterable[Block], after: Iterable[Block]) -> tuple[energy.Estimate, ...]:
    rows = [[(b.flow.rings, b.scratch) for b in blocks if b.stages] for blocks in (before, after)]
    return energy.estimates(report.traffic.before, report.traffic.after, *rows) if report.traffic else ()


def by_rule(steps: Iterable[Step]) -> list[tuple[str, str, bool, list[Step]]]:
    """Rule, what it does, whether it keeps every bit, and its steps; in the order of the first one."""
    found: dict[tuple[str, str, bool], list[Step]] = defaultdict(list)
    for step in steps:
        found[step.rule, step.summary, step.exact].append(step)
    return [(*key, several) for key, several in found.items()]


@dataclass(frozen=True)
class Reason:
    """Refusals of one rule for one reason. moved: bytes of tensors that the operators read and write which stay."""

    rule: str
    reason: str
    by_choice: bool
    refusals: tuple[Refusal, ...]
    moved: int


def by_reason(refusals: Iterable[Refusal]) -> list[Reason]:
    """What keeps most bytes moving first, then what most operators have; what was better left comes last."""
    found: dict[tuple[str, str, bool], list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        found[refusal.rule, refusal.reason, refusal.by_choice].append(refusal)
    reasons = [Reason(*key, tuple(several), sum(moved_by(o) for o in {o for r in several for o in r.operators}))
               for key, several in found.items()]
    return sorted(reasons, key=lambda r: (r.by_choice, -r.moved, -len(r.refusals)))


def values(model: Model, which: str) -> list[tuple[str, tuple[int, ...], str]]:
    """Name, shape and type of the main subgraph's inputs or outputs."""
    tensors = getattr(model.subgraphs[0], which) if model.subgraphs else []
    return [(t.label, t.shape, NAME_OF_TYPE.get(t.type, str(t.type))) for t in tensors]


def source_hash(text: str) -> str:
    """As a Content-Security-Policy names an inline script or style."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
