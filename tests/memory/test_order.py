"""The order of operators where the graph has branches."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.build import Build, names
from tests.memory.graphs import random_graph
from tflfuse import flatbuffer
from tflfuse.fusions import arrange
from tflfuse.fusions.arrange import arranged
from tflfuse.fusions.stretch import Stretch
from tflfuse.ir import Model, Operator, Tensor
from tflfuse.order import _Graph, fullest, least_order
from tflfuse.pipeline import fuse
from tflfuse.plan import View
from tflfuse.tflm import Interpreter


def orders(view: View, done: list[Operator]) -> Iterator[list[Operator]]:
    """All orders in which every operator comes after those whose outputs it reads."""
    left = [o for o in view.graph.operators if o not in done]
    if not left:
        yield done
    for operator in left:
        if all(view.producers[t] in done for t in operator.inputs if t in view.producers):
            yield from orders(view, [*done, operator])


def peak(view: View, order: list[Operator]) -> int:
    number = {o: k for k, o in enumerate(view.graph.operators)}
    return fullest(_Graph(view), [number[o] for o in order])


@pytest.mark.parametrize("seed", range(60))
def test_no_order_needs_less(seed: int) -> None:
    model = random_graph(seed)
    model.subgraphs[0].operators = model.subgraphs[0].operators[:7]
    view = View.of(model, 0)
    found = least_order(view) or view.graph.operators
    assert sorted(map(id, found)) == sorted(map(id, view.graph.operators))
    assert peak(view, found) == min(peak(view, order) for order in orders(view, []))


def two_branches() -> Model:
    """Two wide tensors made first and pooled later: one after the other, only one is needed at a time."""
    b = Build()
    x = b.input((1, 8, 8, 4), scale=0.1)
    w = b.constant(np.ones((16, 1, 1, 4), np.int8), scale=0.01)
    wide = [b.conv(x, w, scale=0.1) for _ in range(2)]
    slim = [axes(b, t) for t in wide]
    return b.model(b.op("MUL", slim, slim[0].shape, scale=0.1))


def axes(b: Build, x: Tensor) -> Tensor:
    return b.op("MEAN", [x, b.constant(np.array([1, 2], np.int32))], (1, 16), scale=0.1)


def test_branches_run_one_after_the_other() -> None:
    data = flatbuffer.write(two_branches())
    result = fuse(data, custom_ops=False)
    assert names(flatbuffer.read(data)) == ["CONV_2D", "CONV_2D", "MEAN", "MEAN", "MUL"]
    assert names(flatbuffer.read(result.model)) == ["CONV_2D", "MEAN", "CONV_2D", "MEAN", "MUL"]
    assert [s.rule for s in result.report.plan.steps if s.rule == "order"] == ["order"]
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    before, after = Interpreter(data), Interpreter(result.model)
    assert after.arena.head < before.arena.head
    x = np.random.default_rng(3).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)
    np.testing.assert_array_equal(after.run([x])[0], before.run([x])[0])
    assert fuse(result.model, custom_ops=False).model == result.model


def test_a_file_with_a_plan_keeps_its_order() -> None:
    model = two_branches()
    model.memory_plan_version = 1
    assert arranged(model, custom_ops=False).steps == ()


def test_what_has_effects_keeps_its_order() -> None:
    model = two_branches()
    assert least_order(View.of(model, 0)) is not None
    model.subgraphs[0].tensors[-1].is_variable = True
    assert least_order(View.of(model, 0)) is None


def test_an_order_that_fits_the_budget_is_kept() -> None:
    (step,) = arranged(two_branches(), custom_ops=False, budget=1).steps
    assert step.rule == "order" and step.exact
    assert arranged(two_branches(), custom_ops=False, budget=1 << 20).steps == ()
    needed = Stretch(View.of(two_branches(), 0), planned=True, fuses=False).cut().arena
    assert arranged(two_branches(), custom_ops=False, budget=needed).steps == ()
    assert arranged(two_branches(), custom_ops=False, budget=needed - 1).steps


def test_another_order_that_gains_nothing_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    model = two_branches()
    first, second, *rest = model.subgraphs[0].operators
    monkeypatch.setattr(arrange, "least_order", lambda view, graphs: [second, first, *rest])
    assert arranged(model, custom_ops=False).steps == ()
