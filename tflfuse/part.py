"""How far a few operators are from the real-valued function that they stand for, before and after a rewrite.

The real function is what the operators say when every integer is the real number it stands for and nothing is
rounded: constants dequantized from the model as it was, float32 tensors everywhere, run by the same interpreter's
float kernels (their error, some 1e-6 of an output's range, is far below a step of 8 bits, about 0.01 of one of 16).

What is measured, so that it is the rounding and nothing else:
* Inputs are random integers over all of their type, in most runs shrunk around the zero point, the more the later in
  each round of eight runs: sums of full-range noise can all lie beyond the output's range, which is made for real data.
* Before the rewrite, inner tensors clip at their own range, which the real function does not. A rewrite that removes
  such a tensor gets nearer to the real function, and would look good however badly it rounds. So elements are counted
  only where every value in between lies inside what its tensor can hold: the element's own where only pointwise
  operators lie between, otherwise all of the run. Of a large tensor some element would clip in nearly every run, so an
  input element that makes a value before a convolution clip is replaced by that of another run which does not.
  The output itself must lie inside its range too, because both models clip there alike. `overall_before` and
  `overall_after` are over all elements.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tflite import TensorType

from . import flatbuffer
from .errors import Refused, TflfuseError
from .inputs import given, representable, span
from .ir import Array, Buffer, Model, Operator, Subgraph, Tensor
from .runner import ENGINES, Runner

SEED = 20
MAXIMUM_MAY_GROW = 1.0
"""Output steps. The last rounding is half a step off at worst in both models, and an interpreter's fixed-point
multiplication may turn a near tie the other way: of two models with the same error inside, one may hold an element that
ends a step further out. The mean over all elements has no such luck in it and may not grow at all."""

ENOUGH = 100_000
FEWEST, MOST = 8, 1000
AT_ONCE = 20_000_000  # numbers of all values over all runs, so that they fit into memory
SHRINK = (1.0, 1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
BORROWINGS = 16  # so that what half of the runs could lend is found for all but one element in 65,536
BIASED = {"CONV_2D": (0, 1, 2), "DEPTHWISE_CONV_2D": (0, 1, 2), "FULLY_CONNECTED": (0, 1, 2),
          "TRANSPOSE_CONV": (2, 1, 3)}
"""Where the input, the filter and the bias are among an operator's operands."""

POINTWISE = frozenset({"ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1",
                       "LEAKY_RELU", "PRELU", "HARD_SWISH", "LOGISTIC", "TANH", "ELU", "QUANTIZE", "DEQUANTIZE"})
"""Operators whose output element depends on one element of an operand of the output's shape."""


class Unmeasured(TflfuseError):
    """There is nothing to measure by: no interpreter runs the part as it was, or its real-valued function."""


@dataclass(frozen=True)
class PartError:
    """Absolute differences to the real function in output steps, over the elements that nothing clips.

    runs: inputs tried. counted: elements measured, over all runs and outputs.
    overall_before, overall_after: the means over all elements, clipped ones too.
    """

    before_mean: float
    before_max: float
    after_mean: float
    after_max: float
    runs: int
    counted: int
    overall_before: float
    overall_after: float

    @property
    def accepted(self) -> bool:
        """The rewrite is no further from the real function than the original, as far as anything was measured."""
        return (self.counted > 0 and self.after_mean <= self.before_mean
                and self.after_max <= self.before_max + MAXIMUM_MAY_GROW)


def extract(operators: Sequence[Operator], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Model:
    """Operators as a model of their own, around the same tensors: nothing of them is changed.

    operators: in execution order. inputs: what they read that none of them computes and that is not constant.
    """
    used = (t for o in operators for t in (*o.inputs, *o.outputs, *(o.intermediates or ())) if t is not None)
    tensors = list(dict.fromkeys([*inputs, *used, *outputs]))
    buffers = list(dict.fromkeys([Buffer(), *(t.buffer for t in tensors)]))
    codes = list(dict.fromkeys(o.code for o in operators))
    return Model([Subgraph(tensors, list(inputs), list(outputs), list(operators))], codes, buffers)


def part_error(before: Model | bytes, after: Model | bytes, runs: int | None = None,
               runner: Runner | None = None) -> PartError | None:
    """Measure a part and what replaces it.

    before, after: models with the same inputs and outputs, see `extract`. runs: random inputs; by default enough for
    100,000 elements, from 8 to 1,000 as far as memory goes. runner: a process to use, one of its own by default.
    None where an output is no integer with a scale. Raises Unmeasured where no interpreter runs `before`, TflfuseError
    where none runs `after`.
    """
    old = flatbuffer.read(before) if isinstance(before, bytes) else before
    graph = old.subgraphs[0]
    if not all(t.dtype.kind in "iu" and t.is_quantized for t in graph.outputs):
        return None
    arrays = drawn(graph, enough(graph) if runs is None else runs)
    models = [m if isinstance(m, bytes) else flatbuffer.write(m) for m in (before, after)]
    if runner is not None:
        return measured(graph, models, arrays, runner)
    with Runner() as own:
        return measured(graph, models, arrays, own)


def enough(graph: Subgraph) -> int:
    """How many runs give numbers to judge by."""
    elements, values = sum(t.size for t in graph.outputs), sum(t.size for t in graph.tensors if not t.is_constant)
    return max(FEWEST, min(MOST, ENOUGH // max(elements, 1), AT_ONCE // max(values, 1)))


def drawn(graph: Subgraph, runs: int) -> list[list[Array]]:
    """Random integers over an input's type, shrunk around its zero point in some of the runs."""
    rng = np.random.default_rng(SEED)
    inputs = []
    for run in range(runs):
        arrays = []
        for tensor in graph.inputs:
            around = span(graph, tensor)
            values = around.draw(rng, tensor.shape)
            if tensor.is_quantized:
                values = np.round(around.zero + SHRINK[run % len(SHRINK)] * (values - around.zero))
            arrays.append(given(tensor, values))
        inputs.append(arrays)
    return inputs


def measured(graph: Subgraph, models: Sequence[bytes], arrays: list[list[Array]], runner: Runner) -> PartError:
    truth = Truth(graph)
    arrays = without_clipping(graph, arrays, truth.run(arrays, runner))
    real = truth.run(arrays, runner)
    old, new = in_one_interpreter(models, arrays, runner)
    before: list[Array] = []
    after: list[Array] = []
    kept: list[Array] = []
    for position, tensor in enumerate(graph.outputs):
        exact = real[tensor] / tensor.scale
        for errors, results in ((before, old), (after, new)):
            got = np.stack([run[position] for run in results]).astype(np.float64) - tensor.zero_point
            errors.append(np.abs(got - exact).ravel())
        kept.append(unclipped(graph, tensor, real).ravel())
    b, a, k = (np.concatenate(parts) for parts in (before, after, kept))
    counted = int(k.sum())
    return PartError(float(b[k].sum() / max(counted, 1)), float(b[k].max(initial=0)),
                     float(a[k].sum() / max(counted, 1)), float(a[k].max(initial=0)),
                     len(arrays), counted, float(b.mean()), float(a.mean()))


def without_clipping(graph: Subgraph, arrays: list[list[Array]], real: dict[Tensor, Array]) -> list[list[Array]]:
    """The inputs, with elements that make a value before a convolution clip taken from runs in which they do not."""
    rng = np.random.default_rng(SEED)
    near = {t for output in graph.outputs for t in pointwise_before(graph, output)}
    inputs = []
    for position, tensor in enumerate(graph.inputs):
        values = np.stack([run[position] for run in arrays])
        clear = np.ones(values.shape, np.bool_)
        for behind in pointwise_behind(graph, tensor) - near:
            clear &= inside(behind, real[behind])
        for _ in range(0 if clear.all() else BORROWINGS):
            lender = rng.permutation(len(values))
            borrow = ~clear & clear[lender]
            values[borrow] = values[lender][borrow]
            clear |= borrow
        inputs.append(values)
    return [list(run) for run in zip(*inputs, strict=True)]


def pointwise_behind(graph: Subgraph, source: Tensor) -> set[Tensor]:
    """The inner tensors whose elements depend on the element of a graph input at the same place alone."""
    behind = {source}
    for operator in graph.operators:
        read = {t for t in operator.inputs if t is not None and not t.is_constant}
        if operator.name in POINTWISE and read and read <= behind:
            behind.update(t for t in operator.outputs if t.shape == source.shape)
    return behind - {source}


def pointwise_before(graph: Subgraph, output: Tensor) -> set[Tensor]:
    """An output and the values of which its element depends on the element at the same place alone."""
    near = {output}
    for operator in reversed(graph.operators):
        if operator.name in POINTWISE and operator.outputs[0] in near:
            near.update(t for t in operator.inputs if t is not None and t.shape == output.shape)
    return near


def unclipped(graph: Subgraph, output: Tensor, real: dict[Tensor, Array]) -> Array:
    """bool [run, *output.shape]: where nothing on the way to an output is outside what its tensor can hold."""
    near = pointwise_before(graph, output)
    clear = inside(output, real[output])
    for tensor in real.keys() - {output} - set(graph.inputs):
        here = inside(tensor, real[tensor])
        if tensor not in near:
            here = here.reshape(len(here), -1).all(axis=1).reshape(-1, *[1] * len(output.shape))
        clear = clear & here
    return clear


def inside(tensor: Tensor, real: Array) -> Array:
    """Where a real value is within half a step of what the tensor can hold; everywhere if it is not quantized."""
    if tensor.dtype.kind == "f" or not tensor.is_quantized:
        return np.ones(real.shape, np.bool_)
    low, high = representable(tensor)
    return np.asarray((real >= low - tensor.scale / 2) & (real <= high + tensor.scale / 2))


def in_one_interpreter(models: Sequence[bytes], arrays: list[list[Array]], runner: Runner) -> list[list[list[Array]]]:
    """The outputs of each model in the first interpreter that can run them all, [model][run][output].

    Raises Unmeasured where none runs the first model, else TflfuseError: what was made of it should run as well.
    """
    reasons = []
    first_runs = False
    for engine in ENGINES:
        outcomes = [runner.run(engine, model, arrays) for model in models]
        first_runs |= outcomes[0].error is None
        failed = next((o.error for o in outcomes if o.error is not None), None)
        if failed is None:
            return [o.outputs for o in outcomes]
        reasons.append(failed if engine in failed else f"{engine}: {failed}")
    raise (TflfuseError if first_runs else Unmeasured)("; ".join(reasons))


class Truth:
    """The real-valued function of a graph: the same operators on float32 tensors.

    QUANTIZE and DEQUANTIZE become nothing. Constants without a scale, axes and shapes for example, stay as they are.
    """

    def __init__(self, graph: Subgraph) -> None:
        self.graph = graph
        self.real: dict[Tensor, Tensor] = {}
        for tensor in graph.inputs:
            self.real[tensor] = as_float(tensor)
        operators = []
        for operator in graph.operators:
            if operator.name in ("QUANTIZE", "DEQUANTIZE") and operator.inputs[0] is not None:
                self.real[operator.outputs[0]] = self.operand(operator, 0)
                continue
            inputs = [None if t is None else self.operand(operator, i) for i, t in enumerate(operator.inputs)]
            for tensor in operator.outputs:
                self.real[tensor] = as_float(tensor)
            operators.append(operator.like(inputs=inputs, outputs=[self.real[t] for t in operator.outputs]))
        self.operators = operators

    def operand(self, operator: Operator, position: int) -> Tensor:
        tensor = operator.inputs[position]
        assert tensor is not None
        if tensor in self.real:
            return self.real[tensor]
        return real_constant(operator, tensor) if tensor.is_constant else as_float(tensor)

    def run(self, arrays: list[list[Array]], runner: Runner) -> dict[Tensor, Array]:
        """The real values of everything that the graph computes: float64 [run, *shape] by the graph's tensor."""
        inputs = [self.real[t] for t in self.graph.inputs]
        floats = [[dequantized(t, a) for t, a in zip(self.graph.inputs, run, strict=True)] for run in arrays]
        computed = [t for o in self.operators for t in o.outputs]
        results: list[list[Array]] = [[] for _ in arrays]
        if computed:
            results, = in_one_interpreter([flatbuffer.write(extract(self.operators, inputs, computed))], floats, runner)
        runs = [[*given_to, *found] for given_to, found in zip(floats, results, strict=True)]
        values = {t: np.stack([run[i] for run in runs]).astype(np.float64) for i, t in enumerate((*inputs, *computed))}
        return {t: values[real] for t, real in self.real.items() if real in values}


def as_float(tensor: Tensor) -> Tensor:
    """The same value as float32; a value that is no quantized number stays what it is."""
    if tensor.dtype.kind not in "iu" or not tensor.is_quantized:
        return tensor
    return Tensor(tensor.shape, TensorType.FLOAT32, Buffer(), tensor.name, is_variable=tensor.is_variable)


def real_constant(operator: Operator, tensor: Tensor) -> Tensor:
    """A constant operand as float32; a bias without a scale has that of the sums it is added to."""
    if tensor.dtype.kind == "f":
        return Tensor.constant(tensor.array().astype(np.float32), tensor.name)
    x, w, b = BIASED.get(operator.name, (-1, -1, -1))
    is_bias = b >= 0 and operator.input(b) is tensor
    if is_bias and not tensor.is_quantized:
        source, weights = operator.inputs[x], operator.inputs[w]
        assert source is not None and weights is not None and weights.quantization is not None
        if weights.quantization.scale is None:
            raise Refused("the filter has no scale", at=weights)
        values = tensor.array() * (source.scale * weights.quantization.scale.astype(np.float64))
        return Tensor.constant(values.astype(np.float32), tensor.name)
    if not tensor.is_quantized or tensor.dtype.itemsize > 2 and not is_bias:
        return tensor
    return Tensor.constant(tensor.real().astype(np.float32), tensor.name)


def dequantized(tensor: Tensor, array: Array) -> Array:
    """An input's integers as the real numbers that they stand for."""
    if tensor.dtype.kind not in "iu" or not tensor.is_quantized:
        return array
    return ((array.astype(np.float64) - tensor.zero_point) * tensor.scale).astype(np.float32)
