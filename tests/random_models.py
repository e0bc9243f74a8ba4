"""Random small models of the operators that folds work on, each from a recipe that can be cut down.

A recipe is a seed and a list of random numbers, one for each step; a step adds an operator or a few that belong
together to a model that was grown so far. Without one of its numbers a recipe still makes a model: that is how a
failing one is made small, by hypothesis and by `smallest`.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tflfuse import flatbuffer
from tflfuse.ir import Array, Model, Tensor

from .build import Build

FEWEST, MOST = 2, 7
FLOAT, INT8, INT16 = np.dtype(np.float32), np.dtype(np.int8), np.dtype(np.int16)
Rng = np.random.Generator


@dataclass(frozen=True)
class Recipe:
    """seed: for the inputs of the model. steps: for each step."""

    seed: int
    steps: tuple[int, ...]

    @staticmethod
    def of(seed: int) -> Recipe:
        rng = np.random.default_rng(seed)
        return Recipe(seed, tuple(int(n) for n in rng.integers(0, 2 ** 32, int(rng.integers(FEWEST, MOST + 1)))))

    def bytes(self) -> bytes:
        return flatbuffer.write(self.model())

    def model(self) -> Model:
        from .random_steps import STEPS
        rng = np.random.default_rng([self.seed, 1])
        grown = Grown(rng)
        grown.start()
        for number in self.steps:
            grown.rng = np.random.default_rng([number, 2])
            grown.step(STEPS)
        grown.rng = rng
        return grown.finished()


def smallest(recipe: Recipe, fails: Callable[[Recipe], bool]) -> Recipe:
    """A recipe that still fails, but no longer does without any one of its steps."""
    shorter = (Recipe(recipe.seed, recipe.steps[:i] + recipe.steps[i + 1:]) for i in reversed(range(len(recipe.steps))))
    failing = next((r for r in shorter if fails(r)), None)
    return recipe if failing is None else smallest(failing, fails)


@dataclass(eq=False)
class Weights:
    """A filter that another operator may use once more."""

    kind: str
    dtype: np.dtype[Any]
    tensor: Tensor


@dataclass(eq=False)
class Grown:
    """A model that grows. values: what steps may read. spread: about how large a value's real numbers are."""

    rng: Rng
    b: Build = field(default_factory=Build)
    values: list[Tensor] = field(default_factory=list)
    spread: dict[Tensor, float] = field(default_factory=dict)
    weights: list[Weights] = field(default_factory=list)
    constants: list[Tensor] = field(default_factory=list)
    open: bool = False

    def start(self) -> None:
        self.open = self.chance(0.25)
        for _ in range(1 + self.chance(0.3)):
            dtype = self.pick(FLOAT, INT8, INT8, INT8, INT16)
            batch = 1 if self.open or self.chance(0.85) else 2
            plane = (self.whole(1, 8), self.whole(1, 8)) if self.chance(0.85) else ()
            shape = (batch, *plane, self.pick(1, 2, 3, 4, 5, 8))
            scale, zero = self.quantized(dtype, 1.0)
            x = self.b.input(shape, dtype, scale, zero)
            self.put(x, 1.0 if dtype == FLOAT else x.scale * (70 if dtype == INT8 else 18000))

    def step(self, steps: tuple[tuple[int, Callable[[Grown, Tensor], bool]], ...]) -> None:
        """One step that is possible on some value, the newest ones first."""
        odds = np.array([weight for weight, _ in steps], float)
        for _ in range(12):
            number = int(self.rng.choice(len(steps), p=odds / odds.sum()))
            back = min(int(self.rng.geometric(0.7)), len(self.values))
            if steps[number][1](self, self.values[-back]):
                return

    def finished(self) -> Model:
        """Everything that nobody reads is an output; now and then a value that is read, an input, an output again.

        Names are no keys: in some models they are missing, empty or the same.
        """
        read = {t for o in self.b.operators for t in o.inputs}
        computed = [t for o in self.b.operators for t in o.outputs]
        outputs = [t for t in computed if t not in read or t in self.spread and self.chance(0.05)]
        outputs += [t for t in (*self.b.inputs, *outputs) if self.chance(0.02)]
        if not outputs:
            outputs = [self.b.op("DEQUANTIZE" if self.values[0].dtype != FLOAT else "RELU", [self.values[0]],
                                 self.values[0].shape, np.float32)]
        if self.chance(0.1):
            for tensor in self.b.tensors:
                tensor.name = self.pick(tensor.name, None, b"", b"same")
        return self.b.model(*outputs, signature=self.chance(0.3))

    # Choices

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def whole(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most, endpoint=True))

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def near(self, decades: float = 0.3) -> float:
        """About 1."""
        return float(10 ** self.rng.uniform(-decades, decades))

    def activation(self) -> str:
        return str(self.pick("NONE", "NONE", "NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1"))

    # Tensors

    def put(self, value: Tensor, spread: float) -> Tensor:
        """Let later steps read a value."""
        if self.open and value.shape and value.shape[0] == 1:
            value.shape_signature = (-1, *value.shape[1:])
        held = spread if value.dtype == FLOAT else value.scale * np.iinfo(value.dtype).max
        self.values.append(value)
        self.spread[value] = float(np.clip(min(spread, held), 1e-6, 1e6))
        return value

    def op(self, name: str, inputs: list[Tensor | None], shape: tuple[int, ...], like: Tensor, spread: float | None,
           **more: Any) -> Tensor:
        """An operator whose output is of like's type; in a quantization of its own that suits spread, or in like's."""
        scale, zero = self.same(like) if spread is None else self.quantized(like.dtype, spread)
        out = self.b.op(name, inputs, shape, like.dtype, scale, zero, **more)
        return self.put(out, self.spread[like] if spread is None else spread)

    def same(self, like: Tensor) -> tuple[float | None, int]:
        return (None, 0) if like.dtype == FLOAT else (like.scale, like.zero_point)

    def quantized(self, dtype: np.dtype[Any], spread: float) -> tuple[float | None, int]:
        """A scale with which some of the values clip, or none; the ends of all that is possible now and then."""
        if dtype == FLOAT:
            return None, 0
        scale = 4 * spread * self.near() / (2 * np.iinfo(dtype).max)
        if self.chance(0.04):
            scale *= 10 ** self.rng.uniform(-3, 3)
        zero = 0 if dtype == INT16 else self.pick(-128, -128, 127, 0, *self.rng.integers(-80, 80, 6))
        return float(np.clip(scale, 1e-6, 1e3)), int(zero)

    def constant(self, like: Tensor, shape: tuple[int, ...], size: float) -> Tensor:
        """Real numbers about as large as `size` in like's type, sometimes a constant that is there already."""
        old = [c for c in self.constants if c.shape == shape and c.dtype == like.dtype]
        if old and self.chance(0.4):
            return old[self.whole(0, len(old) - 1)]
        real = self.rng.normal(0, 1, shape) if self.chance(0.7) else self.rng.uniform(0.2, 2, shape)
        real = np.asarray(real)
        if self.chance(0.08):
            real = np.where(self.rng.random(shape) < 0.4, self.pick(0.0, 1e-7, -1e-3, 300.0), real)
        new = self.stored(like, real * size)
        self.constants.append(new)
        return new

    def stored(self, like: Tensor, real: Array) -> Tensor:
        if like.dtype == FLOAT:
            return self.b.constant(real.astype(np.float32))
        limits = np.iinfo(like.dtype)
        zero = 0 if like.dtype == INT16 else self.pick(0, -128, 127, self.whole(-80, 80))
        furthest = max(float(np.abs(real).max()), 1e-9)
        scale = float(np.float32(furthest / limits.max * self.pick(1, 1.1, 3)))
        integers = np.clip(np.rint(real / scale) + zero, limits.min, limits.max)
        return self.b.constant(integers.astype(like.dtype), scale, zero)

    def numbers(self, values: Any) -> Tensor:
        return self.b.constant(np.array(values, np.int32))
