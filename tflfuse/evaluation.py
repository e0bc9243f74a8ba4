"""A data set through a model before and after: how good both are, and how far apart."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from . import flatbuffer
from .errors import TflfuseError
from .ir import Array, Subgraph
from .samples import data_set, real, sample_shape
from .side_by_side import run_both
from .verify import Difference, difference


@dataclass(frozen=True)
class Output:
    """One output over all samples.

    before, after: [samples, ...] as the models give it. difference: between these, with the output's name. least,
    largest, mean: of the fused model's, as real numbers. equal: the part of the samples in which every value is the
    same. agreement: the part of them in which the largest value stands at the same place; None where a sample has one
    value.
    """

    before: Array
    after: Array
    difference: Difference
    least: float
    largest: float
    mean: float
    equal: float
    agreement: float | None

    def __str__(self) -> str:
        same = "" if self.agreement is None else f"; the same class in {self.agreement:.2%}"
        return (f"{self.difference}; equal in {self.equal:.2%} of the samples{same}; "
                f"{self.least:.4g} to {self.largest:.4g}, {self.mean:.4g} on average")


@dataclass(frozen=True)
class Evaluation:
    """interpreter: its name and version. measure: "accuracy" or "mean absolute error" of the first output, None without
    labels; before, after: its value for the two models.
    """

    samples: int
    interpreter: str
    outputs: tuple[Output, ...]
    measure: str | None = None
    before: float | None = None
    after: float | None = None

    def __str__(self) -> str:
        score = [] if self.measure is None else [f"{self.measure}: {self.before:.4f} -> {self.after:.4f}"]
        return "\n".join([f"{self.samples:,} samples in {self.interpreter}", *score, *map(str, self.outputs)])


def evaluate(before: bytes, after: bytes, x: Array | Sequence[Array], y: Array | None = None) -> Evaluation:
    """Run both models on every sample, each in a process of its own, with a progress bar on a terminal.

    x: [samples, ...], for several inputs a list of these. Arrays of the input's type are taken as they are, others are
    real numbers and get quantized. y: class numbers int [samples], or [samples, 1], for the accuracy: the place of the
    largest value of the first output, and whether it exceeds 0.5 where there is one value; or real numbers of the first
    output's shape for the mean absolute error (of one-hot labels give y.argmax(1)).
    TFLM runs them wherever it can run the original, else LiteRT. Variables carry over from a sample to the next.
    Raises TflfuseError where x or y do not fit, or a model cannot be run.
    """
    graph = flatbuffer.read(before).subgraphs[0]
    arrays = data_set(graph, x)
    score = scored_by(graph, y, len(arrays[0]))
    interpreter, old, new = run_both(before, after, graph, arrays)
    outputs = tuple(output(graph, position, old, new) for position in range(len(graph.outputs)))
    if score is None:
        return Evaluation(len(arrays[0]), interpreter, outputs)
    measure, function = score
    first = graph.outputs[0]
    return Evaluation(len(arrays[0]), interpreter, outputs, measure, function(real(first, outputs[0].before)),
                      function(real(first, outputs[0].after)))


def scored_by(graph: Subgraph, y: Array | None, samples: int) -> tuple[str, Callable[[Array], float]] | None:
    """What is measured, and the function from the first output's real values to it."""
    if y is None:
        return None
    labels = np.asarray(y)
    shape = (samples, *sample_shape(graph.outputs[0]))
    if labels.dtype.kind in "iub" and labels.size == samples:
        return "accuracy", lambda values: float((classes(values) == labels.ravel()).mean())
    if labels.dtype.kind == "f" and labels.shape == shape:
        return "mean absolute error", lambda values: float(np.abs(values.reshape(shape) - labels).mean())
    raise TflfuseError(f"y is {labels.dtype} {list(labels.shape)}: it takes the number of each sample's class, "
                       f"integers [{samples}], or real numbers {list(shape)}")


def classes(values: Array) -> Array:
    """int [samples]"""
    flat = values.reshape(len(values), -1)
    return np.asarray((flat[:, 0] > 0.5).astype(int) if flat.shape[1] == 1 else flat.argmax(axis=1))


def output(graph: Subgraph, position: int, old: list[list[Array]], new: list[list[Array]]) -> Output:
    tensor = graph.outputs[position]
    before, after = (np.stack([run[position] for run in runs]) for runs in (old, new))
    before, after = (a.reshape(len(a), *sample_shape(tensor)) for a in (before, after))
    values, same = real(tensor, after), (before == after).reshape(len(after), -1)
    name = (tensor.name or b"").decode("utf-8", "replace")
    return Output(before, after, difference(name, [before], [after]), float(values.min()), float(values.max()),
                  float(values.mean()), float(same.all(axis=1).mean()),
                  float((classes(before) == classes(after)).mean()) if same.shape[1] > 1 else None)
