"""Offsets for blocks of memory of which some are needed at the same time: the smallest total that a search finds.

Blocks are placed one by one, each at the lowest offset that does not disturb those before. Which order is best is
searched for: by size and by time first (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference,
2020), then by moving blocks that lie at the top to the front, until the bound that no placement can beat is reached.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from random import Random

STEP = 16
"""Offsets, sizes and distances are multiples of it."""

TRIES = 1500
"""Orders tried while the bound is not reached."""


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
    input's from which on they may overlap. tight: the times at which gaps below the top cost most."""

    blocks: Sequence[Block]
    near: Mapping[tuple[int, int], int]
    tight: frozenset[int] = frozenset()
    tried: int = 0
    spots: list[list[Spot]] = field(init=False)
    alive: dict[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.alive = {}
        for number, block in enumerate(self.blocks):
            for time in range(block.first, block.last + 1):
                self.alive.setdefault(time, []).append(number)
        self.spots = [self.around(number) for number in range(len(self.blocks))]

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
        return max((self.needed(time) for time in self.alive), default=0)

    def needed(self, time: int) -> int:
        """The sum of the blocks of one time, with outputs as far over inputs as they may lie."""
        numbers = self.alive[time]
        total = sum(self.blocks[n].size for n in numbers)
        for output in numbers:
            inputs = [(self.blocks[n].size, self.near[n, output]) for n in numbers if (n, output) in self.near]
            if inputs:
                total += joint(self.blocks[output].size, inputs) - self.blocks[output].size - sum(s for s, _ in inputs)
        return total

    def placed(self, order: Sequence[int]) -> list[int]:
        """Each block in turn at the lowest offset that is left."""
        self.tried += 1
        offsets = [-1] * len(self.blocks)
        for number in order:
            taken = sorted((offsets[s.other] + s.low, offsets[s.other] + s.high)
                           for s in self.spots[number] if offsets[s.other] >= 0)
            offset = 0
            for low, high in taken:
                if low < offset < high or low < 0 == offset < high:
                    offset = high
            offsets[number] = offset
        return offsets

    def price(self, offsets: Sequence[int]) -> tuple[int, int]:
        """The total, and the bytes below the top that are not used at the tight times. Smaller is better."""
        total = max((o + b.size for o, b in zip(offsets, self.blocks, strict=True)), default=0)
        gaps = sum(max(offsets[n] + self.blocks[n].size for n in self.alive[time]) - self.needed(time)
                   for time in self.tight & self.alive.keys())
        return total, gaps


def joint(output: int, inputs: Sequence[tuple[int, int]]) -> int:
    """The fewest bytes that an output and the inputs that it may overlap lie in together.

    inputs: for each its size and the distance from the output's offset. Sizes in bytes.
    """
    def above(order: Sequence[tuple[int, int]]) -> Iterator[int]:
        """For each number of inputs over the output, the rest beside it."""
        end, beside = output, sum(size for size, _ in order)
        yield output + beside
        at = 0
        for size, distance in order:
            at = max(at, distance) + size
            beside -= size
            end = max(output, at)
            yield end + beside

    return min(total for order in permutations(inputs) for total in above(order))


def place(problem: Problem, tries: int = TRIES) -> list[int]:
    """The best offsets found, a multiple of STEP for each block."""
    bound = problem.bound()
    found = [(problem.placed(order), order) for order in orders(problem)]
    offsets, order = min(found, key=lambda pair: problem.price(pair[0]))
    best = problem.price(offsets)
    random = Random(len(problem.blocks))
    current, price, at = order, best, offsets
    for _ in range(tries):
        if best[0] <= bound:
            break
        changed = moved(problem, current, at, random)
        new = problem.placed(changed)
        new_price = problem.price(new)
        if new_price <= price or random.random() < 0.02:
            current, price, at = changed, new_price, new
        if new_price < best:
            best, offsets = new_price, new
    return offsets


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


def moved(problem: Problem, order: list[int], offsets: list[int], random: Random) -> list[int]:
    """The order with one block earlier, most often one of those that reach the top."""
    tops = [o + b.size for o, b in zip(offsets, problem.blocks, strict=True)]
    highest = max(tops)
    choice = [n for n in order if tops[n] == highest] if random.random() < 0.7 else order
    number = random.choice(choice)
    at = order.index(number)
    changed = order[:at] + order[at + 1:]
    changed.insert(random.randint(0, at), number)
    return changed
