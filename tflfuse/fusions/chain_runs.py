"""CONV_2D -> DEPTHWISE_CONV_2D -> ... -> ADD -> one TFLFUSE_CHAIN_1, whose inner tensors never exist whole.

Which runs to take is a search over all of them, see `cuts`.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ..ir import Model, Operator
from ..layout import laid_out
from ..packing import fused_operators
from ..pattern import Replacement
from ..plan import Plan, Refusal, Step, View, refusal_of, snapshot
from ..tail import tail_bytes
from .cuts import Piece
from .stretch import Stretch

ROUNDING = 64
"""Bytes by which the sum of what operators keep may differ from what the interpreter makes of it."""

NAME = "chain_runs"
SUMMARY = "Compute a run of operators row by row as one TFLFUSE_CHAIN_1."


def chain_runs(model: Model, planned: bool = True, budget: int | None = None) -> Plan:
    """The runs to fuse, and for each run that was not taken the reason. Changes nothing.

    planned: the file will carry a memory plan. budget: bytes of the arena that need not be undercut; the runs of the
    main subgraph keep to it.
    """
    steps: list[Step] = []
    refusals: list[Refusal] = []
    for number in range(len(model.subgraphs)):
        stretch = Stretch(View.of(model, number), planned)
        room = None if budget is None or number else budget - fixed_part(model, stretch)
        pieces = stretch.cut(room).pieces
        taken = [piece for piece in pieces if piece.run.run is not None]
        runs = [piece.run.run for piece in taken]
        fused = fused_operators([(run.chain, run.inputs, run.output) for run in runs])
        steps += [step_of(stretch, piece, operator, number) for piece, operator in zip(taken, fused, strict=True)]
        refusals += reasons(stretch, pieces)
    return Plan(tuple(steps), tuple(refusals))


def fixed_part(model: Model, stretch: Stretch) -> int:
    """Bytes of the arena's tail that no cut of the operators changes."""
    return tail_bytes(model) - sum(stretch.alone(k).kept for k in range(len(stretch.operators))) + ROUNDING


def step_of(stretch: Stretch, piece: Piece, fused: Operator, number: int) -> Step:
    run = piece.run.run
    last = run.operators[-1]
    fused.place = last.place
    before = max(stretch.alone(position).peak for position in range(piece.begin, piece.end))
    stages = "1 stage" if len(run.chain.links) == 1 else f"{len(run.chain.links)} stages"
    note = (f"{stages}, {laid_out(run.chain).scratch_bytes:,} bytes of rows; while it runs the arena holds up to "
            f"{before:,} -> {piece.peak:,} bytes")
    return Step(NAME, SUMMARY, last.place, last.label, True, note, number, snapshot(run.operators), snapshot([fused]),
                Replacement((fused,)), run.operators)


def reasons(stretch: Stretch, cut: Sequence[Piece]) -> Iterator[Refusal]:
    """Why an operator was left as it is, and why a run ends where another begins."""
    most = max((piece.peak for piece in cut), default=0)
    for piece, after in zip_longest(cut, cut[1:]):
        refused = None
        if piece.run.run is None:
            refused = stretch.why_left(piece, most)
        elif after is not None and after.run.run is not None:
            refused = stretch.why_ended(piece, after)
        if refused is not None:
            yield refusal_of(NAME, stretch.operators[piece.end - 1], refused)
