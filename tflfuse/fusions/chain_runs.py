"""CONV_2D -> DEPTHWISE_CONV_2D -> ... -> ADD -> one TFLFUSE_CHAIN_1, whose inner tensors never exist whole.

A run is a stretch of operators, as they stand in the file, whose inner tensors nobody outside of it reads. While it
runs the arena holds what is alive outside of it, its rings, and its output. Which runs to take is a search over all of
them, see `cuts`.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..errors import Refused
from ..ir import DTYPE, Model, Tensor
from ..layout import laid_out
from ..packing import fused_operator
from ..pattern import Replacement
from ..plan import Plan, Refusal, Step, View, refusal_of, snapshot
from ..stages import KINDS, Run, Stages
from .cuts import Piece, best_cut

LONGEST = 40
"""Operators in a run: an unbroken network longer than this is cut, which keeps the search short."""

ALIGNMENT = 16  # of every buffer in the arena: kBufferAlignment of TFLM's planner

NODE, TENSOR, BUILTIN, FUSED, PER_CHANNEL = 64, 24, 96, 32, 8
"""Bytes of the arena's tail with 64-bit pointers: a node with its registration; a tensor (TfLiteEvalTensor); the
options and state of a builtin operator, roughly; the state and scratch handle of a fused one; the multiplier and the
shift that a builtin convolution keeps for each channel."""

MULTIPLIERS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"})

NAME = "chain_runs"
SUMMARY = "Compute a run of operators row by row as one TFLFUSE_CHAIN_1."


class Stretch:
    """One subgraph's operators, the pieces that they can be cut into, and why there are not more."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.operators = view.graph.operators
        self.stages = Stages()
        self.reasons: dict[tuple[int, int], Refused] = {}
        self.fused: dict[tuple[int, int], Piece] = {}
        self.born: dict[Tensor, int] = dict.fromkeys(view.graph.inputs, -1)
        self.last_reader: dict[Tensor, int] = defaultdict(lambda: -1)
        for position, operator in enumerate(self.operators):
            self.born.update((t, position) for t in operator.outputs)
            self.last_reader.update((t, position) for t in operator.inputs if t is not None)
        ends = dict.fromkeys(view.results, len(self.operators))
        self.dies = {t: max(ends.get(t, 0), self.last_reader[t], born) for t, born in self.born.items()}

    def cut(self) -> list[Piece]:
        """The best pieces; those without a run are operators left as they are."""
        count = len(self.operators)
        alone = [self.alone(position) for position in range(count)]
        for begin in range(count):
            for end in range(begin + 1, min(begin + LONGEST, count) + 1):
                if self.operators[end - 1].name not in KINDS:
                    break
                self.consider(begin, end)
        return best_cut(count, [*self.fused.values(), *alone])

    def consider(self, begin: int, end: int) -> None:
        """Price one run, or note what stands in its way."""
        try:
            self.check_inside(begin, end)
            run = self.stages.run(self.operators[begin:end])
            scratch = laid_out(run.chain).scratch_bytes
        except Refused as refused:
            self.reasons[begin, end] = refused
            return
        peak = self.alive(begin, end, frozenset(run.inner)) + aligned(scratch)
        moved = sum(size_of(t) for t in (*run.inputs, run.output))
        self.fused[begin, end] = Piece(begin, end, peak, NODE + 2 * TENSOR + FUSED, moved, run)

    def check_inside(self, begin: int, end: int) -> None:
        for operator in self.operators[begin:end]:
            if any(t is not None and t.is_variable for t in (*operator.inputs, *operator.outputs)):
                raise Refused("it reads or writes a variable, whose value depends on the order", at=operator)
        for operator in self.operators[begin:end - 1]:
            for tensor in operator.outputs:
                if tensor in self.view.results:
                    raise Refused("its result is an output of the model", at=operator)
                if self.last_reader[tensor] >= end:
                    raise Refused("its result is read outside of the run", at=operator)

    def alone(self, position: int) -> Piece:
        """An operator as it is."""
        operator = self.operators[position]
        values = [t for t in (*operator.inputs, *operator.outputs) if t is not None]
        channels = operator.outputs[0].shape[-1:] if operator.name in MULTIPLIERS else ()
        constants = sum(t.is_constant for t in operator.inputs if t is not None)
        kept = NODE + BUILTIN + TENSOR * (constants + len(operator.outputs)) + PER_CHANNEL * sum(channels)
        moved = sum(size_of(t) for t in values if t in self.born)
        return Piece(position, position + 1, self.alive(position, position + 1, frozenset()), kept, moved)

    def alive(self, begin: int, end: int, without: frozenset[Tensor]) -> int:
        """Bytes of the tensors that the arena holds at some time while operators[begin:end] run."""
        return sum(aligned(size_of(t)) for t, born in self.born.items()
                   if born < end and self.dies[t] >= begin and t not in without)

    def why_left(self, piece: Piece) -> Refused | None:
        """What stands against fusing an operator that was left as it is; None where nobody would expect it."""
        if self.operators[piece.begin].name not in KINDS:
            return None
        better = self.fused.get((piece.begin, piece.end))
        if better is None:
            return self.reasons.get((piece.begin, piece.end))
        return Refused(f"fused, the arena would hold {better.peak:,} bytes at once instead of {piece.peak:,}")

    def why_ended(self, piece: Piece, after: Piece) -> Refused:
        """What stands against one run where there are two."""
        if after.end - piece.begin > LONGEST:
            return Refused(f"with the next run it would be longer than {LONGEST} operators")
        both = self.fused.get((piece.begin, after.end))
        if both is None:
            refused = self.reasons[piece.begin, after.end]
            return Refused(f"the run ends here: {refused.reason}", refused.at)
        return Refused(f"the run ends here: with the next one the arena would hold {both.peak:,} bytes at once")


def size_of(tensor: Tensor) -> int:
    """Bytes in the arena; 0 for a constant, a variable, or a type without a size, none of which a run changes."""
    return 0 if tensor.is_constant or tensor.is_variable or tensor.type not in DTYPE else tensor.nbytes


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def chain_runs(model: Model) -> Plan:
    """The runs to fuse, and for each run that was not taken the reason. Changes nothing."""
    steps: list[Step] = []
    refusals: list[Refusal] = []
    for number in range(len(model.subgraphs)):
        stretch = Stretch(View.of(model, number))
        cut = stretch.cut()
        steps += [step_of(stretch, piece, number) for piece in cut if piece.run is not None]
        refusals += reasons(stretch, cut)
    return Plan(tuple(steps), tuple(refusals))


def step_of(stretch: Stretch, piece: Piece, number: int) -> Step:
    run: Run = piece.run
    fused = fused_operator(run.chain, run.inputs, run.output)
    last = run.operators[-1]
    fused.place = last.place
    before = max(stretch.alone(position).peak for position in range(piece.begin, piece.end))
    note = (f"{len(run.chain.links)} stages, {laid_out(run.chain).scratch_bytes:,} bytes of rows, "
            f"peak {before:,} -> {piece.peak:,}")
    return Step(NAME, SUMMARY, last.place, last.label, True, note, number, snapshot(run.operators), snapshot([fused]),
                Replacement((fused,)), run.operators)


def reasons(stretch: Stretch, cut: list[Piece]) -> Iterator[Refusal]:
    """Why an operator was left as it is, and why a run ends where another begins."""
    for piece, after in zip(cut, [*cut[1:], None], strict=True):
        refused = None
        if piece.run is None:
            refused = stretch.why_left(piece)
        elif after is not None and after.run is not None:
            refused = stretch.why_ended(piece, after)
        if refused is not None:
            yield refusal_of(NAME, stretch.operators[piece.end - 1], refused)
