"""A timeline as a picture: rectangles in per cent of the picture's width and height, which the template writes as SVG.

In per cent, a picture is as wide as the page allows while its text keeps its size.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .ir import Operator
from .timeline import INNER, SCRATCH, Band, Timeline

MOST_TICKS, MOST_NUMBERS, NAMED = 6, 12, 8
SAME_SCALE = 3
"""A picture that would be less than this part of its neighbour's height is drawn larger."""
LABEL_WIDTH, LABEL_HEIGHT = 9.0, 7.0
"""Per cent of the picture that a rectangle must have for a name to be written into it."""


@dataclass(frozen=True)
class Rect:
    """Per cent from the left and the top. text: what there is to say of it. label: written into it, "" for none."""

    x: str
    y: str
    width: str
    height: str
    text: str
    kind: str = ""
    label: str = ""
    key: str = ""


@dataclass(frozen=True)
class Tick:
    """at: per cent from the left or the top. short: what to write where there is little room."""

    at: str
    text: str
    short: str


@dataclass(frozen=True)
class Chart:
    """key: "before" or "after". columns: what runs. bands: buffers. tail: what the arena keeps for good.

    peak: per cent from the top to the head's end; full: the column that reaches it. magnified: so many
    times larger than the other one.
    """

    key: str
    columns: tuple[Rect, ...]
    bands: tuple[Rect, ...]
    tail: Rect
    full: Rect | None
    peak: str
    bytes_axis: tuple[Tick, ...]
    operators_axis: tuple[Tick, ...]
    magnified: int


def charts(before: Timeline, after: Timeline) -> tuple[Chart, Chart]:
    """On one scale where both can be read so."""
    heights = [t.needs.head + t.needs.device_tail for t in (before, after)]
    top = max(heights)
    large, small = (max(top // h, 1) if h and top >= SAME_SCALE * h else 1 for h in heights)
    return chart("before", before, top / large, large), chart("after", after, top / small, small)


def chart(key: str, line: Timeline, top: float, magnified: int) -> Chart:
    """top: the bytes at the picture's upper edge."""
    count = max(len(line.columns), 1)

    def rect(first: int, last: int, begin: int, end: int, text: str, **more: str) -> Rect:
        return Rect(percent(first / count), percent(1 - end / top), percent((last + 1 - first) / count),
                    percent((end - begin) / top), text, **more)

    needs = line.needs
    bands = tuple(rect(b.first, b.last, b.offset, b.end, told(b, line.columns), kind=b.kind, key=f"{key}-{number}",
                       label=written(b) if is_roomy(b, count, top) and not is_covered(b, line.bands) else "")
                  for number, b in enumerate(line.bands))
    kept = rect(0, count - 1, needs.head, needs.head + needs.device_tail,
                f"kept for good: {needs.device_tail:,} bytes of structures and multipliers", kind="tail")
    columns = tuple(rect(n, n, 0, int(top), column_name(o)) for n, o in enumerate(line.columns))
    full = None if line.peak is None else rect(line.peak, line.peak, 0, needs.head, "")
    return Chart(key, columns, bands, kept, full, percent(1 - needs.head / top), tuple(bytes_axis(top)),
                 tuple(operators_axis(line.columns)), magnified)


def is_roomy(band: Band, count: int, top: float) -> bool:
    """There is room for a name."""
    return 100 * (band.last + 1 - band.first) / count >= LABEL_WIDTH and 100 * band.size / top >= LABEL_HEIGHT


def written(band: Band) -> str:
    return SCRATCH if band.kind == SCRATCH else band.name


def is_covered(band: Band, bands: Sequence[Band]) -> bool:
    """Another one lies over the corner in which the name would stand."""
    return any(b is not band and b.first <= band.first <= b.last and b.offset < band.end <= b.end for b in bands)


def told(band: Band, columns: Sequence[Operator | None]) -> str:
    """All there is to say of a buffer, in one line."""
    begin, end = (place_of(columns, column) for column in (band.first, band.last))
    when = f"while {begin} runs" if begin == end else f"from {begin} to {end}"
    over = f", over what is used up of {' and '.join(band.over)}" if band.over else ""
    kind = "" if band.kind in (INNER, SCRATCH) else f" ({band.kind})"
    return f"{band.name}{kind}: {band.size:,} bytes at {band.offset:,}, {when}{over}"


def place_of(columns: Sequence[Operator | None], column: int) -> str:
    operator = columns[column] if column < len(columns) else None
    return column_name(operator, short=True)


def column_name(operator: Operator | None, short: bool = False) -> str:
    if operator is None:
        return "a subgraph's entry"
    return f"{operator.name.removeprefix('CUSTOM:')} {operator.place}" if short else operator.label


def bytes_axis(top: float) -> Iterator[Tick]:
    step = 16
    while top / step > MOST_TICKS:
        step *= 2
    for at in range(0, int(top) + 1, step):
        text = f"{at >> 10:,} KB" if at % 1024 == 0 and top > 1024 else f"{at:,} B"
        yield Tick(percent(1 - at / top), text, text)


def operators_axis(columns: Sequence[Operator | None]) -> Iterator[Tick]:
    """Places in the file, as many as there is room for; with few operators, with their names."""
    step = next(s * 10 ** p for p in range(9) for s in (1, 2, 5) if len(columns) <= MOST_NUMBERS * s * 10 ** p)
    for number in range(0, len(columns), step):
        operator = columns[number]
        place = "" if operator is None else operator.place
        text = column_name(operator, short=True) if place and len(columns) <= NAMED else place
        yield Tick(percent((number + 0.5) / len(columns)), text, place)


def percent(part: float) -> str:
    return f"{100 * part:.3f}".rstrip("0").rstrip(".") + "%"
