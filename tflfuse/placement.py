"""Offsets for blocks of memory of which some are needed at the same time: the smallest total that a search finds.

Blocks are placed one by one, each at the lowest offset that does not disturb those before, or at the highest below the
bound that no placement can beat. Which order is best is searched for: by size and by time first (Pisarchyk and Lee,
Efficient Memory Management for Deep Neural Net Inference, 2020), then by moving blocks that reach above the bound to
the front or to the other end, until none does.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from .errors import Refused

TRIES, STARTS, MOST_STARTS = 2500, 4, 16
"""Orders tried from each start while the bound is not reached; how often the search starts anew, and how often while
more than a hundredth is missing."""

WORK_PER_BLOCK, MOST_WORK = 100_000, 20_000_000
"""Pairs of blocks looked at in all that is searched, for each block and at most: an order of n blocks takes up to n * n
and one more for each. Wide graphs get fewer tries."""

MOST_MOMENTS = 1_000_000
"""Blocks times how long they are needed, all together: as many pairs of blocks would have to be kept apart."""
MOST_WAYS = 256
"""Ways in which an output may lie over its inputs that are looked at: each input may double them."""


@dataclass(eq=False)
class Block:
    """size: bytes. first, last: the times between which it is needed."""

    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Spot:
    """Below or above another block: a block's offset minus the other's lies not inside of (low, high)."""

    other: int
    low: int
    high: int


@dataclass
class Problem:
    """near: for an input and an output, by their numbers, the distance in bytes from the output's offset up to the
    input's from which on they may overlap. tight: the times at which gaps below the top cost most. tried:
    placements looked at. work: pairs of blocks looked at for them."""

    blocks: Sequence[Block]
    near: Mapping[tuple[int, int], int]
    tight: frozenset[int] = frozenset()
    tried: int = 0
    work: int = 0
    spots: list[list[Spot]] = field(init=False)
    beside: list[frozenset[int]] = field(init=False)
    alive: dict[int, list[int]] = field(init=False)
    sums: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        if sum(moments(b.first, b.last) for b in self.blocks) > MOST_MOMENTS:
            raise Refused("so many tensors are needed at one time that no search for their places would end")
        self.alive = {}
        for number, block in enumerate(self.blocks):
            for time in range(block.first, block.last + 1):
                self.alive.setdefault(time, []).append(number)
        self.spots = [self.around(number) for number in range(len(self.blocks))]
        self.beside = [frozenset(spot.other for spot in spots) for spots in self.spots]
        under: dict[int, list[int]] = {}
        for source, output in self.near:
            under.setdefault(output, []).append(source)
        self.sums = {time: self.sum_of(numbers, under) for time, numbers in self.alive.items()}

    def around(self, number: int) -> list[Spot]:
        block = self.blocks[number]
        others = {o for time in range(block.first, block.last + 1) for o in self.alive[time] if o != number}
        return [spot for other in sorted(others) if (spot := self.spot(number, other)).low < spot.high]

    def spot(self, number: int, other: int) -> Spot:
        low, high = -self.blocks[number].size, self.blocks[other].size
        if (other, number) in self.near:
            low = -self.near[other, number]
        elif (number, other) in self.near:
            high = self.near[number, other]
        return Spot(other, low, high)

    def bound(self) -> int:
        """No placement is smaller: the largest sum of what is needed at one time."""
        return max(self.sums.values(), default=0)

    def most_work(self) -> int:
        """Pairs of blocks that may be looked at."""
        return min(WORK_PER_BLOCK * len(self.blocks), MOST_WORK)

    def needed(self, time: int) -> int:
        """The sum of the blocks of one time, with outputs as far over inputs as they may lie."""
        return self.sums[time]

    def sum_of(self, numbers: Sequence[int], under: Mapping[int, Sequence[int]]) -> int:
        """That sum for the blocks of one time. under: the inputs over which each output may lie."""
        there = set(numbers)
        total = sum(self.blocks[n].size for n in numbers)
        for output in there & under.keys():
            inputs = [(self.blocks[n].size, self.near[n, output]) for n in under[output] if n in there]
            if inputs:
                total += joint(self.blocks[output].size, inputs) - self.blocks[output].size - sum(s for s, _ in inputs)
        return total

    def placed(self, order: Sequence[int], high: Collection[int] = (), ceiling: int = 0) -> list[int]:
        """Each block in turn at the lowest offset that is left; those in high at the highest that ends at the ceiling,
        where there is room."""
        return self.again([-1] * len(self.blocks), order, 0, high, ceiling)

    def again(self, before: Sequence[int], order: Sequence[int], kept: int, high: Collection[int],
              ceiling: int) -> list[int]:
        """The same, knowing the offsets before the block order[kept] came there from a later turn, into `high` or out
        of it. What lies beside none that moves stays where it was: of what has its turn after that block now, and did
        not before, nothing lay where the block is if it stayed."""
        self.tried += 1
        self.work += len(order)
        offsets = [-1] * len(self.blocks)
        for number in order[:kept]:
            offsets[number] = before[number]
        touched = {*order[kept:kept + 1]}
        for number in order[kept:]:
            offset = before[number]
            if number in touched or offset < 0:
                self.work += len(self.spots[number])
                taken = [(offsets[s.other] + s.low, offsets[s.other] + s.high)
                         for s in self.spots[number] if offsets[s.other] >= 0]
                offset = highest(taken, ceiling - self.blocks[number].size) if number in high else -1
                offset = offset if offset >= 0 else lowest(taken)
                if offset != before[number]:
                    touched |= self.beside[number]
            offsets[number] = offset
        return offsets

    def above(self, offsets: Sequence[int], ceiling: int) -> int:
        """Bytes by which blocks reach above the ceiling, all together."""
        return sum(max(o + b.size - ceiling, 0) for o, b in zip(offsets, self.blocks, strict=True))

    def price(self, offsets: Sequence[int]) -> tuple[int, int]:
        """The total, and the bytes below the top that are not used at the tight times. Smaller is better."""
        total = max((o + b.size for o, b in zip(offsets, self.blocks, strict=True)), default=0)
        gaps = sum(max(offsets[n] + self.blocks[n].size for n in self.alive[time]) - self.needed(time)
                   for time in self.tight & self.alive.keys())
        return total, gaps


def moments(first: int, last: int) -> int:
    """At how many times something is needed."""
    return max(last - first + 1, 0)


def joint(output: int, inputs: Sequence[tuple[int, int]]) -> int:
    """The fewest bytes that an output and the inputs that it may overlap lie in together.

    inputs: for each its size and the distance from the output's offset. Sizes in bytes. Those that lie over the output
    do so in the order of their distances, which ends lowest; each may lie beside it instead.
    """
    ways = {0: 0}  # where those over the output end: bytes of those beside it
    for size, distance in sorted(inputs, key=lambda one: one[1]):
        more: dict[int, int] = {}
        for at, beside in ways.items():
            for end, rest in ((max(at, distance) + size, beside), (at, beside + size)):
                more[end] = min(rest, more.get(end, rest))
        ways = least(more, output)
    return min(max(output, at) + beside for at, beside in ways.items())


def least(ways: Mapping[int, int], output: int) -> dict[int, int]:
    """The ways to lie over an output that no other one is better than in both, at most MOST_WAYS of them."""
    kept: dict[int, int] = {}
    lowest_yet = ways[min(ways)] + 1
    for at in sorted(ways):
        if ways[at] < lowest_yet:
            kept[at] = lowest_yet = ways[at]
    return dict(sorted(kept.items(), key=lambda way: max(output, way[0]) + way[1])[:MOST_WAYS])


def lowest(taken: list[tuple[int, int]]) -> int:
    """The lowest offset that lies inside of none of these ranges."""
    offset = 0
    for low, high in sorted(taken):
        if low < offset < high:
            offset = high
    return offset


def highest(taken: list[tuple[int, int]], most: int) -> int:
    """The highest offset up to `most` that lies inside of none of these ranges; negative where there is none."""
    offset = most
    for low, high in sorted(taken, key=lambda ends: -ends[1]):
        if low < offset < high:
            offset = low
    return offset


def place(problem: Problem, tries: int = TRIES, starts: int = STARTS, most: int = MOST_STARTS) -> list[int]:
    """The best offsets found, a multiple of 16 for each block, as sizes and distances are.

    most: starts if more than a hundredth is missing.
    """
    bound = problem.bound()
    found = [(problem.placed(order), order) for order in orders(problem)]
    offsets, order = min(found, key=lambda pair: problem.price(pair[0]))
    begin = [order, *outward(problem)]
    for start in range(most):
        missing = problem.price(offsets)[0] - bound
        if missing <= (bound // 100 if start >= starts else 0) or problem.work >= problem.most_work():
            break
        other = searched(problem, begin[start % len(begin)], tries, Random(start))
        offsets = min(offsets, other, key=problem.price)
    return offsets


def searched(problem: Problem, order: list[int], tries: int, random: Random) -> list[int]:
    """The best placement met while blocks change places: those that reach above the bound most often."""
    ceiling, most_work = problem.bound(), problem.most_work()
    high: frozenset[int] = frozenset()
    offsets = best = problem.placed(order, high, ceiling)
    cost = least = problem.above(offsets, ceiling)
    for _ in range(tries):
        if least == 0 or problem.work >= most_work:
            break
        wrong = [n for n in order if offsets[n] + problem.blocks[n].size > ceiling]
        number = random.choice(wrong if random.random() < 0.7 else order)
        at = order.index(number)
        new_order, new_high = order, high
        kind = random.random()
        if kind < 0.65:
            new_order = order[:at] + order[at + 1:]
            at = random.randint(0, at)
            new_order.insert(at, number)
        if kind > 0.45:
            new_high = high ^ {number}
        new = problem.again(offsets, new_order, at, new_high, ceiling)
        new_cost = problem.above(new, ceiling)
        if new_cost <= cost or random.random() < 0.01:
            order, high, offsets, cost = new_order, new_high, new, new_cost
        if new_cost < least:
            best, least = new, new_cost
    return best


def outward(problem: Problem) -> Iterator[list[int]]:
    """Orders that begin with what is needed at the fullest time and go on to earlier and later times from there."""
    blocks, numbers = problem.blocks, range(len(problem.blocks))
    full = max(problem.alive, key=lambda time: (problem.needed(time), -time), default=0)
    away = [max(b.first - full, full - b.last, 0) for b in blocks]
    yield sorted(numbers, key=lambda n: (away[n], -blocks[n].size, n))
    yield sorted(numbers, key=lambda n: (away[n], -blocks[n].last, -blocks[n].size))
    yield sorted(numbers, key=lambda n: (away[n], -blocks[n].size, n))
    yield sorted(numbers, key=lambda n: (away[n], blocks[n].first - blocks[n].last, -blocks[n].size))


def orders(problem: Problem) -> Iterator[list[int]]:
    """Orders that are good to begin with."""
    blocks, numbers = problem.blocks, list(range(len(problem.blocks)))
    pressure = [max(problem.needed(t) for t in range(b.first, b.last + 1)) for b in blocks]
    yield sorted(numbers, key=lambda n: (-blocks[n].size, -n))
    yield sorted(numbers, key=lambda n: (-blocks[n].size, n))
    yield sorted(numbers, key=lambda n: (-pressure[n], -blocks[n].size, n))
    yield sorted(numbers, key=lambda n: (blocks[n].first - blocks[n].last, -blocks[n].size))
    yield sorted(numbers, key=lambda n: (blocks[n].first, -blocks[n].size))
    yield sorted(numbers, key=lambda n: (-blocks[n].last, -blocks[n].size))
    yield sorted(numbers, key=lambda n: -blocks[n].size * (blocks[n].last - blocks[n].first + 1))
