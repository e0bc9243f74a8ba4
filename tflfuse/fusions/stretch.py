"""The pieces that one subgraph's operators can be cut into, their prices, and what a cut of them needs of the arena.

A run is a stretch of operators, as they stand in the file, whose inner tensors nobody outside of it reads. While it
runs the arena holds what is alive outside of it, its rings, and its output, which may lie over inputs that die there.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..chain import Convolution
from ..errors import Refused
from ..flash import growth
from ..greedy import ONLINE, greedy, head
from ..ir import DTYPE, Tensor
from ..kernel_scratch import scratch_if_known
from ..layout import Layout, laid_out
from ..lifetimes import Request, aligned
from ..overlap import distances, distances_of
from ..placement import MOST_MOMENTS, Block, Problem, joint, moments, place
from ..packing import CUSTOM
from ..plan import View
from ..stages import KINDS, Run, Stages
from ..tail import of_fused_constants, of_fused_operator, of_operator
from ..traffic import flow_of_chain, flow_of_one
from .cuts import Cut, Piece, best_cut

LONGEST = 40
"""Operators in a run: an unbroken network longer than this is cut, which keeps the search short."""

FLASH = 4
"""Bytes of flash that are worth one of the arena: about as many times as much of it microcontrollers have (1 MB to
256 KB on an nRF52840, 1 MB to 192 KB on an STM32F405). A run that saves less than it costs is not fused."""

TRIES = 300
"""Placements tried for a cut. The one that is taken gets more."""


@dataclass(frozen=True)
class Live:
    """A tensor that the arena holds: bytes, and the positions of the operators that it is made and last read by.

    An input is born at -1, and dies there where no operator reads it.
    """

    tensor: Tensor
    size: int
    born: int
    dies: int


@dataclass(frozen=True)
class Done:
    """How a piece's operators are done. run: None for an operator left as it is. scratch: bytes of each buffer.

    near: the inputs that the output may lie over, with the distance in bytes from its beginning up to theirs.
    """

    inner: frozenset[Tensor]
    output: Tensor | None
    scratch: tuple[int, ...]
    near: dict[Tensor, int]
    run: Run | None = None


class Stretch:
    """planned: the file will carry a memory plan, so that tensors can overlap and need not lie as TFLM puts them.
    fuses: runs may be fused.
    """

    def __init__(self, view: View, planned: bool, fuses: bool = True) -> None:
        self.view = view
        self.fuses = fuses
        self.operators = view.graph.operators
        self.stages = Stages()
        self.reasons: dict[tuple[int, int], Refused] = {}
        self.fused: dict[tuple[int, int], Piece] = {}
        self.last_reader: dict[Tensor, int] = defaultdict(lambda: -1)
        born = dict.fromkeys(view.graph.inputs, -1)
        for position, operator in enumerate(self.operators):
            born.update((t, position) for t in operator.outputs)
            self.last_reader.update((t, position) for t in operator.inputs if t is not None)
        ends = dict.fromkeys(view.results, len(self.operators))
        self.live = {t: Live(t, aligned(size_of(t)), at, max(ends.get(t, at), self.last_reader[t]))
                     for t, at in born.items() if size_of(t)}
        self.planned = planned and sum(moments(t.born, t.dies) for t in self.live.values()) <= MOST_MOMENTS // 2
        self.overlaps = self.planned and view.number == 0

    def cut(self, budget: int | None = None) -> Cut:
        """The best pieces; those without a run are operators left as they are. budget: bytes of the arena."""
        count = len(self.operators)
        alone = [self.alone(position) for position in range(count)]
        for begin in range(count if self.fuses else 0):
            for end in range(begin + 1, min(begin + LONGEST, count) + 1):
                if self.operators[end - 1].name not in KINDS:
                    break
                self.consider(begin, end)
        return best_cut(count, [*self.fused.values(), *alone], self.head, budget)

    def consider(self, begin: int, end: int) -> None:
        """Price one run, or note what stands in its way."""
        try:
            self.check_inside(begin, end)
            run = self.stages.run(self.operators[begin:end])
            layout = laid_out(run.chain)
        except Refused as refused:
            self.reasons[begin, end] = refused
            return
        near: dict[Tensor, int] = {}
        if self.overlaps and any(self.dies_in(t, begin, end) for t in run.inputs):
            near = dict(zip(run.inputs, distances(run.chain.inputs, layout.links), strict=True))
        done = Done(frozenset(run.inner), run.output, (layout.scratch_bytes,), near, run)
        moved = flow_of_chain(run.chain.inputs, layout.links).tensors
        self.fused[begin, end] = Piece(begin, end, self.peak(begin, end, done), of_fused_operator(), moved,
                                       weights_read(layout), done, max(0, growth(run, layout)) // FLASH,
                                       of_fused_constants())

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
        constants = sum(t.is_constant for t in operator.inputs if t is not None)
        kept = of_operator(operator, constants + len(operator.outputs))
        moved = flow_of_one(operator).tensors
        weights = sum(len(t.buffer) for t in values)
        output = operator.outputs[0] if len(operator.outputs) == 1 else None
        near = distances_of(operator) if self.overlaps else {}
        done = Done(frozenset(), output, tuple(aligned(size) for size in scratch_if_known(operator)), near)
        return Piece(position, position + 1, self.peak(position, position + 1, done), kept, moved, weights, done)

    def dies_in(self, tensor: Tensor, begin: int, end: int) -> bool:
        """Nobody reads it after these operators."""
        return tensor in self.live and self.live[tensor].born < begin and begin <= self.live[tensor].dies < end

    def peak(self, begin: int, end: int, done: Done) -> int:
        """Bytes that the arena holds at some time while operators[begin:end] run, with the output over the inputs."""
        total = sum(map(aligned, done.scratch)) + sum(
            t.size for t in self.live.values() if t.born < end and t.dies >= begin and t.tensor not in done.inner)
        inputs = [(self.live[t].size, distance) for t, distance in done.near.items() if self.dies_in(t, begin, end)]
        if not inputs or done.output not in self.live:
            return total
        output = self.live[done.output].size
        return total - output - sum(size for size, _ in inputs) + joint(output, inputs)

    def head(self, pieces: Sequence[Piece]) -> int:
        """Bytes of the arena's head for a cut whose tensors are placed."""
        at = dict(enumerate(number for number, piece in enumerate(pieces) for _ in range(piece.begin, piece.end)))
        at |= {-1: -1, len(at): len(pieces)}
        gone = frozenset(t for piece in pieces for t in piece.run.inner)
        kept = [t for t in self.live.values() if t.tensor not in gone]
        spans = [(t.size, at[t.born], at[t.dies]) for t in kept]
        spans += [(aligned(size), number, number) for number, piece in enumerate(pieces) for size in piece.run.scratch]
        if not self.planned:
            requests = [Request(*span) for span in spans]
            return head(requests, greedy(requests, [ONLINE] * len(requests)))
        blocks = [Block(*span) for span in spans]
        numbers = {t.tensor: number for number, t in enumerate(kept)}
        near = {(numbers[t], numbers[piece.run.output]): distance for piece in pieces
                for t, distance in piece.run.near.items()
                if piece.run.output in numbers and self.dies_in(t, piece.begin, piece.end)}
        problem = Problem(blocks, near)
        return problem.price(place(problem, TRIES, starts=1, most=1))[0]

    def why_left(self, piece: Piece, most: int) -> Refused | None:
        """What stands against fusing an operator that was left as it is; None where it is a fused one.

        most: bytes that the arena holds at once anyway.
        """
        name = self.operators[piece.begin].name
        if name not in KINDS:
            return None if name == CUSTOM else Refused(f"{name} is not computed by a chain")
        better = self.fused.get((piece.begin, piece.end))
        if better is None:
            return self.reasons.get((piece.begin, piece.end))
        saved = piece.kept - better.kept
        if better.peak <= most and better.flash >= saved:
            return Refused(f"fused, it would save {saved:,} bytes of the arena for {better.flash * FLASH:,} of flash",
                           by_choice=True)
        return Refused(f"fused, the arena would hold {better.peak:,} bytes at once instead of {piece.peak:,}",
                       by_choice=True)

    def why_ended(self, piece: Piece, after: Piece) -> Refused:
        """What stands against one run where there are two."""
        if after.end - piece.begin > LONGEST:
            return Refused(f"with the next run it would be longer than {LONGEST} operators")
        both = self.fused.get((piece.begin, after.end))
        if both is None:
            refused = self.reasons[piece.begin, after.end]
            return Refused(f"the run ends here: {refused.reason}", refused.at)
        return Refused(f"the run ends here: with the next one the arena would hold {both.peak:,} bytes at once",
                       by_choice=True)


def weights_read(layout: Layout) -> int:
    """Bytes of weights that a chain reads: all of a stage's for each row that it makes."""
    convolutions = [link.stage for link in layout.links if isinstance(link.stage, Convolution)]
    return sum(stage.weights.size * (stage.out.height if len(layout.links) > 1 else 1) for stage in convolutions)


def size_of(tensor: Tensor) -> int:
    """Bytes in the arena; 0 for a constant, a variable, or a type without a size, none of which a run changes."""
    return 0 if tensor.is_constant or tensor.is_variable or tensor.type not in DTYPE else tensor.nbytes
