"""The scratch buffers that operators' kernels ask the arena for: TFLM's reference kernels and the fused operator.

Kernels optimized for a processor ask for more, or for less. They get theirs wherever the plan leaves room.
"""
from __future__ import annotations

from collections.abc import Callable

from tflite import TensorType

from .chain_codec import OPERATOR, Header
from .errors import Refused
from .ir import DTYPE, Operator, Tensor

POINTER = 8
QUANTIZED = (TensorType.INT8, TensorType.INT16)


def scratch_buffers(operator: Operator) -> tuple[int, ...]:
    """Bytes of each buffer in the order in which they are asked for; () for an operator that is not known.

    Refused where the operator has not the operands that its kernel would look at.
    """
    known = KERNELS.get(operator.name)
    try:
        return known(operator) if known is not None else ()
    except (IndexError, KeyError) as error:
        raise Refused(f"{operator.label} has not the operands that its kernel takes", at=operator) from error


def scratch_if_known(operator: Operator) -> tuple[int, ...]:
    """The same; () where the kernel would refuse the operator."""
    try:
        return scratch_buffers(operator)
    except Refused:
        return ()


def _fused(operator: Operator) -> tuple[int, ...]:
    options = operator.custom_options
    if options is None or len(options) < Header.SIZE:
        return ()
    return (Header.unpack(options.tobytes()).scratch_bytes,)


def _present(operator: Operator, position: int) -> Tensor:
    tensor = operator.input(position)
    if tensor is None:
        raise Refused(f"{operator.label} has no operand {position}", at=operator)
    return tensor


def _mean(operator: Operator) -> tuple[int, ...]:
    """reduce_common.cc: accumulators where the numbers are integers, an index for each dimension, the axes."""
    source = _present(operator, 0)
    sums = (4 * operator.outputs[0].size,) if source.type in QUANTIZED else ()
    return (*sums, *_reduce(operator))


def _reduce(operator: Operator) -> tuple[int, ...]:
    return 4 * len(_present(operator, 0).shape), 4 * _present(operator, 1).size


def _transpose_conv(operator: Operator) -> tuple[int, ...]:
    """transpose_conv.cc: a sum for each number of the output."""
    source, bias = _present(operator, 2), operator.input(3)
    size = {TensorType.INT8: 4, TensorType.INT16: 8}.get(source.type)
    wide = bias is not None and (source.type, bias.type) == (TensorType.INT16, TensorType.INT16)
    return () if size is None else (size * operator.outputs[0].size, *((8 * bias.size,) if wide and bias else ()))


def _svdf(operator: Operator) -> tuple[int, ...]:
    """svdf_common.cc: a sum for each filter, and for each unit where the numbers are integers."""
    source, filters = _present(operator, 0), _present(operator, 1).shape[0]
    batch = source.shape[0]
    units = filters // max(int(operator.option("rank", 1)), 1)
    return (4 * batch * filters, 4 * batch * units) if source.type == TensorType.INT8 else (4 * batch * filters,)


def _lstm(operator: Operator) -> tuple[int, ...]:
    """unidirectional_sequence_lstm.cc: four buffers of the cell state's size."""
    state = _present(operator, 19)
    return (state.size * DTYPE[state.type].itemsize,) * 4


def _mirror_pad(operator: Operator) -> tuple[int, ...]:
    return (4 * len(_present(operator, 0).shape),) * 2


def _add_n(operator: Operator) -> tuple[int, ...]:
    return (POINTER * len(operator.inputs),)


KERNELS: dict[str, Callable[[Operator], tuple[int, ...]]] = {
    f"CUSTOM:{OPERATOR}": _fused, "MEAN": _mean, "SUM": _mean, "REDUCE_MAX": _reduce, "REDUCE_MIN": _reduce,
    "REDUCE_ALL": _reduce, "TRANSPOSE_CONV": _transpose_conv, "SVDF": _svdf, "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "MIRROR_PAD": _mirror_pad, "ADD_N": _add_n}
