"""Where everything of a chain lies in its scratch memory, decided when the file is written.

    [state of each stage][row pointers][rings, pad segments, accumulators: each at a multiple of 4]

A convolution reads columns beside the plane from the ring row itself, so an outside tensor is copied row by row into a
ring first where that is wanted. A table whose input nobody else reads overwrites it. Rows that are used up as soon as
they are made share memory. Convolutions find rows above and below the plane in a segment of zero points, which those
with the same zero point share.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

from .chain import Chain, Convolution, GlobalAverage, Link, Mean, Pool, Stage, Table, Value
from .chain_codec import MAX_INPUTS, MAX_ROWS, MAX_STAGES, MAX_VALUES, MAX_WINDOW, ROW_BYTES, STATE_BYTES
from .errors import Refused
from .schedule import Stop, ring_rows
from .slots import slots, used_up_at_once

MOST_16_BITS = (1 << 16) - 1
MOST_SCRATCH = (1 << 31) - 1
MOST_PIXELS = 1 << 23


@dataclass(frozen=True, eq=False)
class Copy(Stage):
    """Rows of an outside tensor into ring rows; only here and in the records."""


@dataclass(frozen=True)
class Place:
    """Where a value lies. rows: of its ring, 0 where it lies in a tensor; offset: of the ring in scratch memory."""

    value: Value
    rows: int = 0
    left: int = 0
    right: int = 0
    offset: int = 0

    @property
    def pitch(self) -> int:
        """Bytes from ring row to ring row."""
        return (self.left + self.value.width + self.right) * self.value.channels

    @property
    def ring_bytes(self) -> int:
        return self.rows * self.pitch


@dataclass(frozen=True)
class Layout:
    """links: the chain's with copies in front. places: by value number. stage_scratch: offsets, None for none.

    ring_bytes: rings, pad segments and accumulators, without the stages' state and the row pointers.
    """

    links: tuple[Link, ...]
    places: tuple[Place, ...]
    stage_scratch: tuple[int | None, ...]
    rows_max: int
    ring_bytes: int
    scratch_bytes: int


def scratch_bytes(chain: Chain) -> int:
    """What the fused operator asks of the arena, in bytes."""
    return laid_out(chain).scratch_bytes


def laid_out(chain: Chain) -> Layout:
    """Refused where the chain exceeds what its records can say."""
    links = _with_copies(chain)
    count = len(chain.inputs)
    values = (*chain.inputs, *(link.stage.out for link in links))
    _check_limits(chain, links, values)
    readers: list[list[int]] = [[] for _ in values]
    for number, link in enumerate(links):
        for value in link.reads:
            readers[value].append(number)
    if not all(readers[:-1]):
        raise Refused("a value of the chain is read by nobody")
    stops = [Stop(link.reads, link.stage.rows, link.stage.out.height) for link in links]
    rows = [0] * count + ring_rows([v.height for v in chain.inputs], stops)
    pads = [_columns_beside(value, [links[r] for r in readers[v]]) for v, value in enumerate(values)]
    home = _in_place(links, count, readers, len(values) - 1)
    rows_max = max(link.stage.window.kernel_h if isinstance(link.stage, Convolution | Pool) else 1 for link in links)
    begin = at = len(links) * STATE_BYTES + rows_max * ROW_BYTES
    places = [Place(value, rows[v], *pads[v]) for v, value in enumerate(values)]
    slot, starts, at = _slots(links, count, readers, home, places, at)
    for v in range(len(values) - 2, count - 1, -1):  # a table's output before the input that shares its ring
        if v in slot:
            places[v] = replace(places[v], offset=starts[slot[v]])
        elif home[v] == v:
            places[v] = replace(places[v], offset=at)
            at = _aligned(at + places[v].ring_bytes)
        else:
            shared = places[home[v]]
            places[v] = Place(values[v], shared.rows, shared.left, shared.right, shared.offset)
    scratch, end = _stage_scratch(links, values, at)
    if end > MOST_SCRATCH:
        raise Refused("the rows that the chain keeps do not fit 31 bits")
    return Layout(links, tuple(places), scratch, rows_max, end - begin, end)


def _aligned(offset: int) -> int:
    return -(-offset // 4) * 4


def _columns_beside(value: Value, links: list[Link]) -> tuple[int, int]:
    """Columns left and right of the plane that convolutions want beside each row."""
    left = right = 0
    for stage in (link.stage for link in links):
        if isinstance(stage, Convolution):
            left = max(left, stage.window.pad_left)
            right = max(right, stage.window.right(value.width, stage.out.width))
    return left, right


def _with_copies(chain: Chain) -> tuple[Link, ...]:
    """The links, with a copy for each outside tensor that a convolution wants columns beside."""
    count = len(chain.inputs)
    padded = sorted({v for link in chain.links for v in link.reads if v < count and _wants_columns(chain, link, v)})
    if not padded:
        return chain.links
    copies = [Link(Copy(chain.inputs[v]), (v,)) for v in padded]
    moved = []
    for link in chain.links:
        reads = []
        for v in link.reads:
            copied = v in padded and _wants_columns(chain, link, v)
            reads.append(v + len(padded) if v >= count else count + padded.index(v) if copied else v)
        moved.append(Link(link.stage, tuple(reads)))
    return (*copies, *moved)


def _wants_columns(chain: Chain, link: Link, value: int) -> bool:
    return _columns_beside(chain.inputs[value], [link]) != (0, 0)


def _in_place(links: tuple[Link, ...], count: int, readers: list[list[int]], last: int) -> list[int]:
    """The value whose ring each value lies in: its own, or that of the table which overwrites it."""
    home = list(range(len(readers)))
    for v in range(len(readers) - 2, count - 1, -1):
        reader = readers[v][0]
        if len(readers[v]) == 1 and isinstance(links[reader].stage, Table) and count + reader != last:
            home[v] = home[count + reader]
    return home


def _slots(links: tuple[Link, ...], count: int, readers: list[list[int]], home: list[int], places: list[Place],
           at: int) -> tuple[dict[int, int], list[int], int]:
    """Rings of one row without columns beside it that share memory: each one's slot, where slots begin, and the end."""
    last = len(places) - 1
    brief = [count <= v < last and used_up_at_once(v, links, count, readers) for v in range(len(places))]
    sizes = {v: places[v].ring_bytes for v in range(count, last)
             if home[v] == v and (places[v].rows, places[v].left, places[v].right) == (1, 0, 0)
             and all(brief[member] for member in range(count, v + 1) if home[member] == v)}
    apart = [(v, home[count + readers[v][0]]) for v in sizes]
    slot, room = slots(sizes, apart)
    starts: list[int] = []
    for size in room:
        starts.append(at)
        at = _aligned(at + size)
    return slot, starts, at


def _stage_scratch(links: tuple[Link, ...], values: tuple[Value, ...], at: int) -> tuple[tuple[int | None, ...], int]:
    """The offsets of pad segments and accumulators, and where they end."""
    segments: dict[int, int] = {}
    for link in links:
        bytes_ = _segment_bytes(link, values)
        if bytes_:
            zero = values[link.reads[0]].zero_point
            segments[zero] = max(segments.get(zero, 0), bytes_)
    offsets: dict[int, int] = {}
    for zero, bytes_ in segments.items():
        offsets[zero], at = at, _aligned(at + bytes_)
    scratch: list[int | None] = []
    for link in links:
        if isinstance(link.stage, Mean | GlobalAverage):
            scratch.append(at)
            at += 4 * link.stage.out.channels
        else:
            scratch.append(offsets[values[link.reads[0]].zero_point] if _segment_bytes(link, values) else None)
    return tuple(scratch), at


def _segment_bytes(link: Link, values: tuple[Value, ...]) -> int:
    """What a convolution reads of a row outside of the plane; 0 where none of its windows has such a row."""
    stage, source = link.stage, values[link.reads[0]]
    if not isinstance(stage, Convolution):
        return 0
    outside = stage.window.pad_top > 0 or stage.window.below(source.height, stage.out.height) > 0
    return stage.window.span_w * source.channels if outside else 0


def _check_limits(chain: Chain, links: tuple[Link, ...], values: tuple[Value, ...]) -> None:
    """What the kernels accept (chain_check.cc)."""
    if len(chain.inputs) > MAX_INPUTS or len(links) > MAX_STAGES or len(values) > MAX_VALUES:
        raise Refused(f"a chain has at most {MAX_INPUTS} inputs, {MAX_STAGES} stages and {MAX_VALUES} values")
    if any(max(value.plane) > MOST_16_BITS for value in values):
        raise Refused(f"a plane of a chain has at most {MOST_16_BITS} rows, columns and channels")
    if sum(value.height for value in values) > MAX_ROWS:
        raise Refused(f"the values of a chain have at most {MAX_ROWS} rows together")
    for link in links:
        stage, source = link.stage, values[link.reads[0]]
        if isinstance(stage, Mean | GlobalAverage) and source.height * source.width > MOST_PIXELS:
            raise Refused(f"a mean of a chain is over at most {MOST_PIXELS} pixels")
        if not isinstance(stage, Convolution | Pool):
            continue
        window = stage.window
        if max(vars(window).values()) > MOST_16_BITS:
            raise Refused(f"a window of a chain has at most {MOST_16_BITS} rows and columns")
        depth = source.channels if type(stage) is Convolution else 1
        if window.kernel_h * window.kernel_w * depth > MAX_WINDOW:
            raise Refused(f"a window of a chain holds at most {MAX_WINDOW} numbers")
