"""A chain as the custom operator's options and constants, and back.

The records are those of schema/chain.json. Every array of the constants starts at a multiple of 4; equal ones are
stored once. A table's program, which only `lower` reads, is stored where its record's bias points: the number of
steps, then for each step ten int32 (`_words`).
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tflite import TensorType

from .chain import (AveragePool, Chain, Convolution, Depthwise, GlobalAverage, Link, MaxPool, Mean, Multiply, Pad, Pool,
                    Slice, Stage, Table, Transpose, Value, Window)
from .chain import Add as AddStage
from .chain_codec import BEHIND_WEIGHTS, NO_OFFSET, NO_VALUE, OPERATOR, Header, Kind, StageRecord, ValueRecord
from .errors import BadModel, Refused
from .ir import BUILTIN_OF_NAME, NAME_OF_BUILTIN, Array, Buffer, Operator, OperatorCode, Tensor
from .layout import Copy, laid_out
from .numerics import AddParameters
from .plain import as_quantized, is_plain, made_plain
from .tables import Elementwise, Scalar

CUSTOM = f"CUSTOM:{OPERATOR}"
"""The name of the operator in the IR."""

KIND_OF: dict[type[Stage], Kind] = {
    Copy: Kind.COPY, Convolution: Kind.CONV, Depthwise: Kind.DEPTHWISE, AddStage: Kind.ADD,
    AveragePool: Kind.AVERAGE_POOL, MaxPool: Kind.MAX_POOL, Mean: Kind.MEAN, Table: Kind.TABLE,
    Transpose: Kind.TRANSPOSE, GlobalAverage: Kind.GLOBAL_AVERAGE, Multiply: Kind.MUL, Pad: Kind.PAD,
    Slice: Kind.SLICE}

STEP = struct.Struct("<3i2f2i1f2i")
"""A table's step: builtin, its two operands (NO_OPERAND: none), alpha, scale, zero point, activation, then the
constant's scale, q and zero point (all 0 without one)."""
NO_OPERAND = -2


class Constants:
    """Arrays one behind the other, each once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.offsets: dict[bytes, int] = {}

    def add(self, array: Array | bytes) -> int:
        """The offset of an array's bytes, at a multiple of 4."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        if data not in self.offsets:
            self.data += bytes(-len(self.data) % 4)
            self.offsets[data] = len(self.data)
            self.data += data
        return self.offsets[data]


def pack(chain: Chain) -> tuple[bytes, Array]:
    """custom_options, and int8 [n] for the operator's last operand. Refused where the chain is too large for both."""
    (options,), data = pack_together([chain])
    return options, data


def pack_together(chains: Sequence[Chain]) -> tuple[list[bytes], Array]:
    """custom_options of each, and int8 [n] for the last operand of all: what several chains hold is stored once."""
    constants = Constants()
    packed = [_records(chain, constants) for chain in chains]
    if not constants.data:
        constants.add(bytes(4))  # the operand is there even where no stage has constants
    if any(type(link.stage) is Convolution for chain in chains for link in chain.links):
        constants.data += bytes(BEHIND_WEIGHTS)
    headers = (replace(header, constants_bytes=len(constants.data)).pack() for header, _ in packed)
    options = [header + records for header, (_, records) in zip(headers, packed, strict=True)]
    return options, np.frombuffer(bytes(constants.data), np.int8)


def _records(chain: Chain, constants: Constants) -> tuple[Header, bytes]:
    layout = laid_out(chain)
    values = b"".join(ValueRecord(
        height=p.value.height, width=p.value.width, channels=p.value.channels, ring_rows=p.rows, pad_left=p.left,
        pad_right=p.right, zero_point=p.value.zero_point, ring_offset=p.offset, scale=p.value.scale).pack()
        for p in layout.places)
    stages = b"".join(_record(link, NO_OFFSET if scratch is None else scratch, constants).pack()
                      for link, scratch in zip(layout.links, layout.stage_scratch, strict=True))
    header = Header(inputs=len(chain.inputs), stages=len(layout.links), rows_max=layout.rows_max,
                    scratch_bytes=layout.scratch_bytes, constants_bytes=0)
    return header, values + stages


def fused_operator(chain: Chain, inputs: Sequence[Tensor], output: Tensor) -> Operator:
    """The custom operator: the chain's outside tensors in order, then its constants; one output."""
    return fused_operators([(chain, inputs, output)])[0]


def fused_operators(runs: Sequence[tuple[Chain, Sequence[Tensor], Tensor]]) -> list[Operator]:
    """The custom operators of several chains, whose constants are one tensor that all of them read."""
    if not runs:
        return []
    options, data = pack_together([chain for chain, _, _ in runs])
    constants = Tensor((len(data),), TensorType.INT8, Buffer(np.frombuffer(data.tobytes(), np.uint8)))
    code = OperatorCode.of(CUSTOM)
    return [Operator(code, [*inputs, constants], [output], custom_options=np.frombuffer(records, np.uint8))
            for (_, inputs, output), records in zip(runs, options, strict=True)]


def _record(link: Link, scratch: int, constants: Constants) -> StageRecord:
    stage = link.stage
    kind, source = KIND_OF[type(stage)], link.reads[0]
    if isinstance(stage, Convolution):
        stage = made_plain(stage)
        return StageRecord(
            kind=kind, input=source, **vars(stage.window), clamp_min=stage.low, clamp_max=stage.high, scratch=scratch,
            plain=int(is_plain(stage)), weights=constants.add(stage.weights), bias=constants.add(stage.bias),
            multipliers=constants.add(stage.multipliers), shifts=constants.add(stage.shifts))
    if isinstance(stage, Pool):
        return StageRecord(kind=kind, input=source, **vars(stage.window), clamp_min=stage.low, clamp_max=stage.high)
    if isinstance(stage, AddStage):
        bias = NO_OFFSET if stage.constant is None else constants.add(stage.constant)
        other = link.reads[1] if stage.constant is None else NO_VALUE
        return StageRecord(kind=kind, input=source, other=other, clamp_min=stage.low, clamp_max=stage.high, bias=bias,
                           **vars(stage.parameters))
    if isinstance(stage, GlobalAverage):
        return StageRecord(kind=kind, input=source, clamp_min=stage.low, clamp_max=stage.high, scratch=scratch)
    if isinstance(stage, Mean):
        return StageRecord(kind=kind, input=source, multiplier=stage.multiplier, shift=stage.shift, scratch=scratch)
    if isinstance(stage, Multiply):
        return StageRecord(kind=kind, input=source, clamp_min=stage.low, clamp_max=stage.high, shift=stage.shift,
                           multiplier=stage.multiplier, bias=constants.add(stage.constant))
    if isinstance(stage, Pad | Slice):
        return StageRecord(kind=kind, input=source, pad_top=stage.top, pad_left=stage.left, pad_front=stage.front)
    if isinstance(stage, Table):
        program = constants.add(struct.pack("<i", len(stage.program)) + b"".join(map(_words, stage.program)))
        return StageRecord(kind=kind, input=source, weights=constants.add(stage.table), bias=program)
    return StageRecord(kind=kind, input=source)


def _words(step: Elementwise) -> bytes:
    a, b = (*step.operands, NO_OPERAND)[:2]
    c = step.constant or Scalar(0, 0.0, 0)
    return STEP.pack(BUILTIN_OF_NAME[step.name], a, b, step.alpha, step.scale, step.zero_point, step.activation,
                     c.scale, c.q, c.zero_point)


def chain_of(operator: Operator) -> Chain:
    """What a fused operator computes; BadModel where it is not as `fused_operator` makes it."""
    constants = operator.inputs[-1] if operator.inputs else None
    if constants is None or operator.custom_options is None:
        raise BadModel(f"{operator.label} has no constants or no options")
    try:
        chain = unpack(operator.custom_options.tobytes(), constants.array())
    except Refused as refused:
        raise BadModel(f"the constants of {operator.label} cannot be read: {refused}") from refused
    if None in operator.inputs or len(operator.inputs) != len(chain.inputs) + 1 or len(operator.outputs) != 1:
        raise BadModel(f"{operator.label} has {len(operator.inputs)} operands and {len(operator.outputs)} outputs, "
                       f"its options tell of {len(chain.inputs) + 1} and 1")
    return chain


def unpack(options: bytes, constants: Array) -> Chain:
    """The chain that was packed; BadModel where the records are none, or point outside of the constants."""
    try:
        return _unpacked(options, np.ascontiguousarray(constants).view(np.int8))
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise BadModel(f"the options of a {OPERATOR} cannot be read: {error}") from error


def _unpacked(options: bytes, constants: Array) -> Chain:
    header = Header.unpack(options)
    if (header.magic, header.version) != (Header.magic, Header.version) or not header.stages:
        raise ValueError("they do not begin like one")
    if header.constants_bytes != len(constants):
        raise ValueError(f"they want {header.constants_bytes} bytes of constants, there are {len(constants)}")
    count = header.inputs + header.stages
    stages_at = Header.SIZE + count * ValueRecord.SIZE
    if len(options) != stages_at + header.stages * StageRecord.SIZE:
        raise ValueError(f"they are {len(options)} bytes long")
    values = [_value(ValueRecord.unpack(options, Header.SIZE + k * ValueRecord.SIZE)) for k in range(count)]
    inputs = tuple(values[:header.inputs])
    links: list[Link] = []
    number = dict(zip(range(header.inputs), range(header.inputs), strict=True))  # without the copies
    for k in range(header.stages):
        record = StageRecord.unpack(options, stages_at + k * StageRecord.SIZE)
        made = header.inputs + k
        reads = tuple(number[v] for v in (record.input, *([record.other] if record.other != NO_VALUE else [])))
        if record.kind == Kind.COPY:
            number[made] = number[record.input]
            continue
        stage = _stage(record, values[record.input], values[made], constants)
        number[made] = header.inputs + len(links)
        links.append(Link(stage, reads))
    return Chain(inputs, tuple(links))


def _value(record: ValueRecord) -> Value:
    return Value(record.height, record.width, record.channels, record.scale, record.zero_point)


def _stage(record: StageRecord, source: Value, out: Value, constants: Array) -> Stage:
    kind, clamp = Kind(record.kind), (record.clamp_min, record.clamp_max)
    window = Window(**{name: getattr(record, name) for name in Window.__dataclass_fields__})
    if not (window.kernel_h and window.kernel_w and window.stride_h and window.stride_w and window.dilation_h
            and window.dilation_w):
        raise ValueError("a window's size, stride or dilation is 0")

    def array(offset: int, dtype: str, *shape: int) -> Array:
        size = int(np.prod(shape, dtype=np.int64))
        if offset + size * np.dtype(dtype).itemsize > len(constants):
            raise ValueError("an array ends beyond the constants")
        return np.frombuffer(constants, dtype, size, offset).reshape(shape)

    if kind in (Kind.CONV, Kind.DEPTHWISE):
        shape = ((out.channels, window.kernel_h, window.kernel_w, source.channels) if kind == Kind.CONV
                 else (window.kernel_h, window.kernel_w, out.channels))
        made = Convolution if kind == Kind.CONV else Depthwise
        multipliers = array(record.multipliers, "<i4", out.channels)
        shifts = as_quantized(multipliers, array(record.shifts, "i1", out.channels))
        return made(out, window, array(record.weights, "i1", *shape), array(record.bias, "<i4", out.channels),
                    multipliers, shifts, *clamp)
    if kind in (Kind.AVERAGE_POOL, Kind.MAX_POOL):
        return (AveragePool if kind == Kind.AVERAGE_POOL else MaxPool)(out, window, *clamp)
    if kind == Kind.ADD:
        parameters = AddParameters(**{name: getattr(record, name) for name in AddParameters.__dataclass_fields__})
        constant = array(record.bias, "<i4", out.channels) if record.other == NO_VALUE else None
        return AddStage(out, parameters, *clamp, constant)
    if kind == Kind.GLOBAL_AVERAGE:
        return GlobalAverage(out, *clamp)
    if kind == Kind.MEAN:
        return Mean(out, record.multiplier, record.shift)
    if kind == Kind.MUL:
        return Multiply(out, record.multiplier, record.shift, array(record.bias, "<i4", out.channels), *clamp)
    if kind in (Kind.PAD, Kind.SLICE):
        return (Pad if kind == Kind.PAD else Slice)(out, record.pad_top, record.pad_left, record.pad_front)
    if kind == Kind.TABLE:
        steps = int(array(record.bias, "<i4", 1)[0])
        words = array(record.bias + 4, "i1", max(steps, 0), STEP.size).tobytes()
        program = tuple(_step(words, k * STEP.size) for k in range(steps))
        return Table(out, array(record.weights, "i1", 256), program)
    return Transpose(out)


def _step(words: bytes, at: int) -> Elementwise:
    builtin, a, b, alpha, scale, zero_point, activation, c_scale, q, c_zero = STEP.unpack_from(words, at)
    operands = (a,) if b == NO_OPERAND else (a, b)
    constant = Scalar(q, c_scale, c_zero) if c_scale else None
    return Elementwise(NAME_OF_BUILTIN[builtin], operands, scale, zero_point, constant, activation, alpha)
