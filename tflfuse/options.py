"""Whose options an operator's are: the table that its kernel reads, where the rules read it too."""
from __future__ import annotations

from .errors import BadModel
from .ir import Operator

KIND_OF = {
    "ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions",
    "CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "TRANSPOSE_CONV": "TransposeConvOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions", "RESHAPE": "ReshapeOptions", "SQUEEZE": "SqueezeOptions",
    "CONCATENATION": "ConcatenationOptions", "GATHER": "GatherOptions", "STRIDED_SLICE": "StridedSliceOptions",
    "PACK": "PackOptions", "UNPACK": "UnpackOptions", "SPLIT": "SplitOptions", "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions", "REDUCE_MAX": "ReducerOptions", "REDUCE_MIN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions", "LEAKY_RELU": "LeakyReluOptions", "SVDF": "SVDFOptions", "IF": "IfOptions",
    "WHILE": "WhileOptions", "CALL_ONCE": "CallOnceOptions"}
"""By operator; the interpreter finds no options in a table of another kind, and rules would take them for its own."""


def check_options(operator: Operator) -> None:
    """BadModel where an operator that has one kind of options comes with another."""
    options, kind = operator.options, KIND_OF.get(operator.name)
    if options is not None and kind is not None and options.kind != kind:
        raise BadModel(f"{operator.label} has {options.kind} instead of {kind}")
