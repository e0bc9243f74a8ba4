"""What is true of every model before and after every step."""
from __future__ import annotations

import math

from .errors import BadModel
from .ir import BUILTIN_OF_NAME, DTYPE, NAME_OF_TYPE, Model, Operator, Signature, Subgraph, Tensor, shown
from .options import check_options

MOST_ELEMENTS = 2 ** 31 - 1
"""Of one tensor: sizes are 32 bits wide on the device."""


MOST_DIMENSIONS = 32
"""More than any kernel takes, and what every version of numpy does."""
WITHOUT_OUTPUTS = frozenset({"ASSIGN_VARIABLE", "CALL", "CALL_ONCE", "DELEGATE", "HASHTABLE_IMPORT", "IF", "WHILE",
                             "STABLEHLO_COMPOSITE", "STABLEHLO_CUSTOM_CALL", "STABLEHLO_WHILE"})
"""Builtin operators that may have none; every other one computes something."""


def check(model: Model) -> None:
    """Raise BadModel with one sentence unless the model holds together.

    Order, references, constants' sizes and quantization are checked; what operators mean is not.
    """
    if not model.subgraphs:
        raise BadModel("the model has no subgraphs")
    for number, graph in enumerate(model.subgraphs):
        where = f" of subgraph {number}" if number else ""
        own = set(graph.tensors)
        for tensor in graph.tensors:
            _check_tensor(tensor, where)
        for tensor in (*graph.inputs, *graph.outputs):
            if tensor not in own:
                raise BadModel(f"{tensor.label}, an input or output{where}, is not among its tensors")
        for operator in graph.operators:
            _check_operands(operator, own, len(model.subgraphs))
        _check_order(graph)
    for signature in model.signatures or ():
        _check_signature(signature, model)


def _check_tensor(tensor: Tensor, where: str) -> None:
    if len(tensor.shape) > MOST_DIMENSIONS or len(tensor.shape_signature or ()) > MOST_DIMENSIONS:
        raise BadModel(f"a tensor '{shown(tensor.name)}'{where} has more than {MOST_DIMENSIONS} dimensions")
    if any(d < -1 for d in tensor.shape) or any(d < -1 for d in tensor.shape_signature or ()):
        raise BadModel(f"tensor {tensor.label}{where} has a negative dimension: {list(tensor.shape)}")
    elements = math.prod(tensor.shape)
    if elements > MOST_ELEMENTS:
        raise BadModel(f"tensor {tensor.label}{where} has {elements} elements, too many for a TFLite file")
    if len(tensor.buffer) and tensor.type in DTYPE and tensor.sparsity is None:
        expected = elements * DTYPE[tensor.type].itemsize
        if len(tensor.buffer) != expected:
            raise BadModel(f"tensor {tensor.label}{where} has {len(tensor.buffer)} bytes of data; "
                           f"{NAME_OF_TYPE[tensor.type]} {list(tensor.shape)} takes {expected}")
    _check_quantization(tensor, where)


def _check_quantization(tensor: Tensor, where: str) -> None:
    q = tensor.quantization
    if q is None or q.details is not None or q.scale is None:
        return
    count, rank = len(q.scale), len(tensor.shape)
    if count > 1:
        axis = q.quantized_dimension if rank != 1 else 0  # a rank-1 bias may claim its filter's axis
        if not 0 <= axis < rank:
            raise BadModel(f"tensor {tensor.label}{where} is quantized along dimension {axis}; it has {rank}")
        if tensor.shape[axis] not in (count, -1):
            raise BadModel(f"tensor {tensor.label}{where} has {count} scales for {tensor.shape[axis]} slices")
    if q.zero_point is not None and count and len(q.zero_point) not in (0, 1, count):
        raise BadModel(f"tensor {tensor.label}{where} has {count} scales but {len(q.zero_point)} zero points")


def _check_operands(operator: Operator, own: set[Tensor], subgraphs: int) -> None:
    for tensor in (*operator.inputs, *operator.outputs, *(operator.intermediates or ())):
        if tensor is not None and tensor not in own:
            raise BadModel(f"{operator.label} uses {tensor.label}, which is not among its subgraph's tensors")
    check_options(operator)
    for options in (operator.options, operator.options_2):
        for name, value in () if options is None else options.values.items():
            if name.endswith(("subgraph", "subgraph_index")) and not 0 <= value < subgraphs:
                raise BadModel(f"{operator.label} calls subgraph {value}; the model has {subgraphs}")


def _check_order(graph: Subgraph) -> None:
    """Everything is computed once, before it is read."""
    written = {tensor for operator in graph.operators for tensor in operator.outputs}
    ready = set(graph.inputs)
    for operator in graph.operators:
        for tensor in operator.inputs:
            if tensor is None or tensor in ready or tensor.is_variable or len(tensor.buffer) > 0:
                continue
            if tensor in written:
                raise BadModel(f"{operator.label} reads {tensor.label} before it is computed")
            if 0 in tensor.shape:  # a constant without elements, whose buffer is empty
                continue
            if not operator.name.startswith("CUSTOM:"):  # custom operators take scratch memory as an input
                raise BadModel(f"{operator.label} reads {tensor.label}, which nothing computes")
        if not operator.outputs and operator.name in BUILTIN_OF_NAME and operator.name not in WITHOUT_OUTPUTS:
            raise BadModel(f"{operator.label} computes nothing")
        for tensor in operator.outputs:
            if tensor in ready:
                raise BadModel(f"{operator.label} computes {tensor.label}, which is computed already")
            if tensor.is_constant:
                raise BadModel(f"{operator.label} computes {tensor.label}, which is a constant")
            ready.add(tensor)


def _check_signature(signature: Signature, model: Model) -> None:
    name = shown(signature.key)
    if not 0 <= signature.subgraph_index < len(model.subgraphs):
        raise BadModel(f"signature '{name}' belongs to subgraph {signature.subgraph_index}; "
                       f"the model has {len(model.subgraphs)}")
    own = set(model.subgraphs[signature.subgraph_index].tensors)
    for _, tensor in (*signature.inputs, *signature.outputs):
        if tensor not in own:
            raise BadModel(f"signature '{name}' names {tensor.label}, which is not in its subgraph")
