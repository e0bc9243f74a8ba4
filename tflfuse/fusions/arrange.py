"""A better order of operators first, where it lowers the arena; then runs of them to fuse."""
from __future__ import annotations

from dataclasses import replace

from ..ir import Model
from ..order import least_order
from ..plan import Plan, Reorder, Step, View
from .chain_runs import chain_runs
from .stretch import Stretch

NAME = "order"
SUMMARY = "Run operators in an order in which fewer tensors are needed at once."


def arranged(model: Model, custom_ops: bool = True, planned: bool = True, budget: int | None = None) -> Plan:
    """What to do next to make the arena smaller: another order alone, or runs to fuse. Changes nothing.

    custom_ops: runs may be fused. planned: the file will carry a memory plan. budget: see chain_runs. A file that
    brought a memory plan keeps its order.
    """
    if model.memory_plan_version is None:
        count = len(model.subgraphs)
        found = [reordered(View.of(model, number), custom_ops, planned, budget, count) for number in range(count)]
        steps = [step for step in found if step is not None]
        if steps:
            return Plan(tuple(steps))
    return chain_runs(model, planned, budget) if custom_ops else Plan()


def reordered(view: View, custom_ops: bool, planned: bool, budget: int | None, graphs: int) -> Step | None:
    """The step to another order; None where the file's serves as well or fits the budget."""
    order = least_order(view, graphs)
    if order is None:
        return None
    other = replace(view, graph=replace(view.graph, operators=order))
    before, after = (Stretch(v, planned, custom_ops).cut().arena for v in (view, other))
    if after >= before or budget is not None and before <= budget:
        return None
    note = f"operators and tensors take {before:,} -> {after:,} bytes of the arena"
    return Step(NAME, SUMMARY, "", "the model", True, note, view.number,
                edits=(Reorder(view.number, tuple(order)),))
