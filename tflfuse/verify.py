"""Does a rewritten model give the outputs that it gave before? Both run, in the genuine interpreter."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import flatbuffer
from .chain_codec import OPERATOR
from .errors import BadModel, Refused, TflfuseError
from .inputs import tries
from .ir import Array, Model, Subgraph, float64, shown
from .part import PartError, extract, part_error
from .pipeline import lower
from .runner import ENGINES, Outcome, Runner
from .tflm import Arena

__all__ = ["Comparison", "Difference", "PartError", "extract", "part_error", "verify"]

SEED = 20

FILL = 0x55
"""What memory holds in the second run of the original: outputs that depend on it are not those of the model."""


@dataclass(frozen=True)
class Difference:
    """One output before and after, over all runs.

    equal: the same bits. largest, mean: absolute, in units of the output: steps for integers; infinite where a NaN
    or an infinity stands on one side only. relative: the largest as a part of the output's range before, floats only.
    """

    name: str
    dtype: str
    equal: bool
    largest: float
    mean: float
    relative: float | None = None

    def __str__(self) -> str:
        name = shown(self.name.encode()) or "an unnamed output"
        if self.equal:
            return f"{name} is equal"
        if self.relative is None:
            steps = "1 step" if self.largest == 1 else f"{self.largest:.0f} steps"
            return f"{name} differs by up to {steps}, {self.mean:.3g} on average"
        return f"{name} differs by up to {self.largest:.3g}, {self.relative:.2g} of its range"


@dataclass(frozen=True)
class Comparison:
    """What running both models showed.

    interpreter: name and version; None where neither could run the original, with both reasons in `reasons`.
    reasons: why an interpreter was passed over, and what was not run. runs: inputs tried. equal: every output of every
    run has the same bits; False where nothing ran. failure: why the rewritten model did not run where the original
    did. arena_before, arena_after: TFLM only. unstable: the original's own outputs change from one run to the next, as
    those of a model that reads memory it never wrote; there is nothing to compare with then, and `equal` is False.
    """

    interpreter: str | None
    reasons: tuple[str, ...] = ()
    runs: int = 0
    equal: bool = False
    outputs: tuple[Difference, ...] = ()
    failure: str | None = None
    arena_before: Arena | None = None
    arena_after: Arena | None = None
    unstable: bool = False

    @property
    def conclusive(self) -> bool:
        """The original ran, and did the same each time."""
        return self.interpreter is not None and not self.unstable

    @property
    def summary(self) -> str:
        """One line for a user."""
        return self._told(len(self.reasons) + len(self.outputs))

    @property
    def brief(self) -> str:
        """The same with the worst two of many outputs, and the first two of many reasons."""
        return self._told(2)

    def _told(self, most: int) -> str:
        if self.interpreter is None:
            return "not verified: " + some(self.reasons, most)
        if self.failure is not None:
            return f"the rewritten model fails in {self.interpreter}: {self.failure}"
        if self.unstable:
            return f"not verified: the original's own outputs change from one run to the next in {self.interpreter}"
        different = sorted((d for d in self.outputs if not d.equal), key=lambda d: -(d.relative or d.largest))
        what = "all outputs equal" if self.equal else some([str(d) for d in different], most)
        return f"{what}, {self.runs} inputs in {self.interpreter}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the fields and the summary; a number that is not finite is null."""
        fields = asdict(self)
        for difference in fields["outputs"]:
            difference.update({key: None for key, value in difference.items()
                               if isinstance(value, float) and not math.isfinite(value)})
        return {**fields, "summary": self.summary}


def some(texts: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def verify(before: bytes, after: bytes, inputs: Sequence[Sequence[Array]] | None = None, runs: int = 4) -> Comparison:
    """Run a model and its rewritten form on the same inputs, in processes of their own.

    before, after: .tflite files. inputs: for each run an array for each graph input, of its shape and type; by default
    `runs` random ones (always the same) and then all-minimum, all-maximum and all-zero, see tflfuse.inputs.
    TFLM is the interpreter wherever it can run the original, else LiteRT with its reference kernels, which gets fused
    operators in their lowered form. Each model is
    loaded once and runs all inputs in order, so variables start and evolve alike. Only the main subgraph is run.
    The original runs twice, with other memory contents before it, to see whether its outputs depend on them.
    Raises BadModel where `before` cannot be read, TflfuseError where the inputs do not fit it.
    """
    model = flatbuffer.read(before)
    if not model.subgraphs:
        raise BadModel("the model has no subgraph")
    graph, reasons = model.subgraphs[0], not_run(model)
    try:
        arrays = tries(graph, runs, SEED) if inputs is None else fitting(graph, inputs)
    except Refused as refused:
        return Comparison(None, (f"no inputs can be made up: {refused}", *reasons))
    with Runner() as runner:
        for engine in ENGINES:
            old = runner.run(engine, runnable(engine, before), arrays)
            if old.error is not None:
                reasons.append(old.error if engine in old.error else f"{engine}: {old.error}")
                continue
            again, new = (runner.run(engine, runnable(engine, data), arrays, FILL) for data in (before, after))
            changed = again.error or misfit(old, again)
            unstable = changed is not None or not all(d.equal for d in differing(graph, old, again))
            failure = new.error or misfit(old, new)
            differences = () if failure or unstable else tuple(differing(graph, old, new))
            equal = not failure and not unstable and all(d.equal for d in differences)
            return Comparison(old.interpreter, tuple(reasons), len(arrays), equal, differences, failure,
                              old.arena, new.arena, unstable)
    return Comparison(None, tuple(reasons))


def runnable(engine: str, model: bytes) -> bytes:
    """LiteRT has no fused operators, but the builtin ones that they stand for."""
    return lower(model).model if engine == "LiteRT" and OPERATOR.encode() in model else model


def fitting(graph: Subgraph, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """The caller's arrays, of which each must have its graph input's shape and type."""
    if not len(inputs):
        raise TflfuseError("no inputs were given, so nothing would be compared")
    for run, arrays in enumerate(inputs):
        if len(arrays) != len(graph.inputs):
            raise TflfuseError(f"run {run}: the model has {len(graph.inputs)} inputs, {len(arrays)} arrays were given")
        for tensor, array in zip(graph.inputs, arrays, strict=True):
            if (array.shape, array.dtype) != (tensor.shape, tensor.dtype):
                raise TflfuseError(f"run {run}: {tensor.label} is {tensor.dtype} {list(tensor.shape)}, "
                                   f"{array.dtype} {list(array.shape)} was given")
    return [list(arrays) for arrays in inputs]


def not_run(model: Model) -> list[str]:
    """The signatures that a run of the main subgraph does not reach."""
    keys = [shown(s.key) for s in model.signatures or () if s.subgraph_index != 0]
    return [f"signature '{key}' is not run: it is not the main subgraph" for key in keys]


def misfit(old: Outcome, new: Outcome) -> str | None:
    """Why the outputs cannot be compared number by number."""
    for before, after in zip(old.outputs, new.outputs, strict=True):
        if len(before) != len(after):
            return f"it has {len(after)} outputs, the original has {len(before)}"
        for position, (a, b) in enumerate(zip(before, after, strict=True)):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                return f"output {position} is {b.dtype} {list(b.shape)}, was {a.dtype} {list(a.shape)}"
    return None


def differing(graph: Subgraph, old: Outcome, new: Outcome) -> list[Difference]:
    """Each output over all runs."""
    return [difference((tensor.name or b"").decode("utf-8", "replace"),
                       [run[position] for run in old.outputs], [run[position] for run in new.outputs])
            for position, tensor in enumerate(graph.outputs)]


def difference(name: str, before: Sequence[Array], after: Sequence[Array]) -> Difference:
    """One output's arrays of each run, before and after: same shapes and types in each run."""
    old, new = (np.concatenate([a.ravel() for a in arrays]) for arrays in (before, after))
    same = (raw(old) == raw(new)).all(axis=1)
    apart = distance(old[~same], new[~same])
    largest, mean = float(apart.max(initial=0)), float(apart.sum() / max(old.size, 1))
    relative = largest / extent(old) if old.dtype.kind == "f" else None
    return Difference(name, str(old.dtype), bool(same.all()), largest, mean, relative)


def raw(array: Array) -> Array:
    """uint8 [element, byte]: compared by these, equal NaNs are equal and the two zeros are not."""
    return array.view(np.uint8).reshape(array.size, array.dtype.itemsize)


def distance(old: Array, new: Array) -> Array:
    """float64, how far elements are apart that are not the same; infinite where they are no finite real numbers."""
    if old.dtype.kind not in "iufb":
        return np.full(old.shape, math.inf)
    a, b = float64(old), float64(new)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(a) & np.isfinite(b), np.abs(b - a), math.inf)


def extent(values: Array) -> float:
    """Largest minus least of the finite values; their magnitude where they are all the same."""
    finite = values[np.isfinite(values)].astype(np.float64)
    if finite.size == 0:
        return 1.0
    return float(np.ptp(finite)) or float(np.abs(finite).max()) or 1.0
