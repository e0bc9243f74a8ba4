"""Constant MUL, ADD, SUB and DIV that no rule matches, which a user would expect to go."""
from __future__ import annotations

from collections.abc import Iterator

from tflite import TensorType

from .affine import STEPS
from .folds.affine_after import affine_after
from .folds.affine_before import affine_before
from .ir import Model, Operator
from .pattern import Producers
from .plan import Refusal, View

FLOATS = frozenset({TensorType.FLOAT16, TensorType.FLOAT32, TensorType.FLOAT64})

REASON = "no operator with weights computes its input or reads its result"


def unmatched(model: Model) -> Iterator[Refusal]:
    """One refusal for each that neither rule of affine operators has anything to say about, in file order.

    Left out are those on integers without a scale, which compute sizes and indices, and those on constants.
    """
    for number, graph in enumerate(model.subgraphs):
        producers = View.of(model, number).producers
        matched = {o for root in graph.operators for o in matched_from(root, producers)}
        for operator in graph.operators:
            if operator not in matched and is_affine(operator, producers):
                yield Refusal(affine_after.name, operator.place, operator.label, REASON, operators=(operator,))


def matched_from(root: Operator, producers: Producers) -> Iterator[Operator]:
    """Every operator of every match that ends in this one."""
    for pattern in (*affine_after.patterns, *affine_before.patterns):
        for match in pattern.at(root, producers):
            yield from match.operators


def is_affine(operator: Operator, producers: Producers) -> bool:
    """Whether it adds a constant to real numbers that are none, or multiplies them by one."""
    values = (m.chain_value for step in STEPS for m in step.at(operator, producers))
    return any(not v.is_constant and (v.is_quantized or v.type in FLOATS) for v in values)
