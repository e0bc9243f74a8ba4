"""The arena's tail: what TFLM keeps for as long as the interpreter lives, computed from the sizes of its structures.

Structures are taken one after the other from the arena's end downwards, each at its alignment (micro_allocator.cc,
micro_interpreter.cc): the allocator itself, tensors and nodes of all subgraphs, the options of builtin operators, what
kernels keep, handles of scratch buffers, variables, and full tensors for the model's inputs and outputs.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .ir import DTYPE, Model, Operator, Tensor
from .kernel_scratch import scratch_if_known
from .lifetimes import ALIGNMENT, aligned
from .packing import CUSTOM


class Machine(NamedTuple):
    """pointer: bytes. fixed: bytes of the allocator and planner. compression: kernels keep numbers for that too."""

    pointer: int
    fixed: int
    compression: bool


HOST = Machine(8, 488, True)
"""The tflite-micro wheel on x86-64, whose allocator records what it does."""
DEVICE = Machine(4, 136, False)
"""A 32-bit microcontroller."""


class Kept(NamedTuple):
    """One structure: numbers of 4 bytes, pointers, doubles; more: numbers that a build with compression adds."""

    numbers: int = 0
    pointers: int = 0
    doubles: int = 0
    more: int = 0

    def size(self, machine: Machine) -> int:
        width = 8 if self.doubles else machine.pointer if self.pointers else 4
        numbers = self.numbers + (self.more if machine.compression else 0)
        bytes_ = 8 * self.doubles + machine.pointer * self.pointers + 4 * numbers
        return -(-bytes_ // width) * width


UNKNOWN = Kept(4), Kept(12)
"""Options and state of a kernel that is not listed."""
NOTHING = Kept()

KERNELS: dict[str, tuple[Kept, Kept]] = {
    CUSTOM: (NOTHING, Kept(1, 2, 0)),
    "ADD": (Kept(2), Kept(15)), "SUB": (Kept(2), Kept(13)), "MUL": (Kept(1), Kept(9, more=2)),
    "CONV_2D": (Kept(7), Kept(13, 2, more=2)), "DEPTHWISE_CONV_2D": (Kept(7), Kept(13, 2, more=2)),
    "TRANSPOSE_CONV": (Kept(5), Kept(22, more=2)), "FULLY_CONNECTED": (Kept(4), Kept(11, 2, more=2)),
    "AVERAGE_POOL_2D": (Kept(10), Kept(8)), "MAX_POOL_2D": (Kept(10), Kept(8)), "MEAN": (Kept(1), Kept(11)),
    "SUM": (Kept(1), Kept(11)), "REDUCE_MAX": (Kept(1), Kept(11)), "SOFTMAX": (Kept(1), Kept(7, 5, 1)),
    "RESHAPE": (Kept(9), NOTHING), "CONCATENATION": (Kept(2), Kept(5, 2, more=10)), "PAD": (NOTHING, Kept(14, more=1)),
    "PADV2": (NOTHING, Kept(14, more=1)), "QUANTIZE": (NOTHING, Kept(5, 0, 1)), "DEQUANTIZE": (NOTHING, Kept(5, 0, 1)),
    "LOGISTIC": (NOTHING, Kept(4)), "TANH": (NOTHING, Kept(4)), "LEAKY_RELU": (Kept(1), Kept(6)),
    "PRELU": (NOTHING, Kept(7)), "RELU": (NOTHING, Kept(7)), "RELU6": (NOTHING, Kept(2)),
    "HARD_SWISH": (NOTHING, Kept(5)), "STRIDED_SLICE": (Kept(6), Kept(21)), "TRANSPOSE": (NOTHING, NOTHING),
    "PACK": (Kept(2), NOTHING), "UNPACK": (Kept(2), NOTHING), "SPLIT": (Kept(1), NOTHING),
    "SPLIT_V": (Kept(1), NOTHING), "CAST": (Kept(2), NOTHING), "SHAPE": (Kept(1), NOTHING),
    "RESIZE_NEAREST_NEIGHBOR": (Kept(1), NOTHING), "RESIZE_BILINEAR": (Kept(1), NOTHING),
    "L2_NORMALIZATION": (Kept(1), Kept(1)), "EXPAND_DIMS": (NOTHING, NOTHING), "GATHER": (Kept(2), NOTHING),
    "SQUEEZE": (Kept(9), NOTHING), "SLICE": (NOTHING, NOTHING), "ABS": (NOTHING, Kept(7)), "ELU": (NOTHING, Kept(64)),
    "MAXIMUM": (NOTHING, NOTHING), "MINIMUM": (NOTHING, NOTHING)}

CHANNEL_AXIS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "TRANSPOSE_CONV": 0}
"""The axis of the filter for each of whose channels a multiplier and a shift are kept."""


@dataclass
class _Tail:
    machine: Machine
    used: int

    def take(self, size: int, alignment: int = ALIGNMENT) -> None:
        if size:
            self.used = -(-(self.used + size) // alignment) * alignment


def tail_bytes(model: Model, machine: Machine = HOST, planning: bool = False) -> int:
    """Bytes of the tail, or of what there is while TFLM plans the head. Kernels that are not listed count roughly."""
    pointer = machine.pointer
    tail = _Tail(machine, machine.fixed)
    tail.take(2 * pointer * (len(model.subgraphs) - 1), pointer)
    for graph in model.subgraphs:
        tail.take(3 * pointer * len(graph.tensors), pointer)
        tail.take(8 * pointer * len(graph.operators), pointer)
    for operator in model.operators:
        tail.take(KERNELS.get(operator.name, UNKNOWN)[0].size(machine), 4)
    for operator in model.operators:
        tail.take(KERNELS.get(operator.name, UNKNOWN)[1].size(machine))
    for operator in model.operators:
        for size in arrays_of(operator):
            tail.take(size)
    tail.take(pointer * sum(len(scratch_if_known(o)) for o in model.operators), pointer)
    for tensor in (t for g in model.subgraphs for t in g.tensors if t.is_variable and t.type in DTYPE):
        tail.take(tensor.nbytes if tensor.arena_offset == -1 else 0)
    for tensors in () if planning else (model.subgraphs[0].inputs, model.subgraphs[0].outputs):
        tail.take(pointer * len(tensors))
        for tensor in tensors:
            take_whole(tail, tensor)
    return -(-tail.used // ALIGNMENT) * ALIGNMENT


def take_whole(tail: _Tail, tensor: Tensor) -> None:
    """A TfLiteTensor with its quantization."""
    pointer = tail.machine.pointer
    tail.take(5 * pointer + 24, pointer)
    q = tensor.quantization
    if q is not None and q.scale is not None and q.zero_point is not None and len(q.scale) and len(q.zero_point):
        tail.take(3 * pointer, pointer)
        tail.take(4 + 4 * len(q.scale), 4)


def arrays_of(operator: Operator) -> tuple[int, ...]:
    """Bytes of the arrays that a builtin convolution makes for its channels when it is prepared."""
    weights = operator.input(1)
    if weights is None or operator.name not in (*CHANNEL_AXIS, "FULLY_CONNECTED"):
        return ()
    if operator.name == "FULLY_CONNECTED":
        scales = weights.quantization.scale if weights.quantization is not None else None
        channels = len(scales) if scales is not None and len(scales) > 1 else 0
    else:
        channels = weights.shape[CHANNEL_AXIS[operator.name]] if len(weights.shape) == 4 else 0
    return (4 * channels, 4 * channels) if channels else ()


def of_operator(operator: Operator, tensors: int) -> int:
    """Bytes of the host's tail that an operator adds, but for what alignment costs. tensors: those it comes with."""
    options, state = KERNELS.get(operator.name, UNKNOWN)
    kept = [state.size(HOST), *arrays_of(operator)]
    return (8 * HOST.pointer + 3 * HOST.pointer * tensors + options.size(HOST) + sum(map(aligned, kept))
            + HOST.pointer * len(scratch_if_known(operator)))


def of_fused_operator() -> int:
    """The same for a fused operator with its output, but for its constants."""
    return 8 * HOST.pointer + 3 * HOST.pointer + aligned(KERNELS[CUSTOM][1].size(HOST)) + HOST.pointer


def of_fused_constants() -> int:
    """The same for the constants of all fused operators: one tensor."""
    return 3 * HOST.pointer
