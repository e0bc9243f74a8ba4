"""The stages of a fused operator, as a figure about them needs them."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflfuse.chain_codec import Header, Kind, StageRecord, ValueRecord


@dataclass(frozen=True)
class Stage:
    """name: what it does, in the words of a table. macs: multiplications with weights. outputs: elements it makes."""

    name: str
    shape: str
    macs: int
    outputs: int


def stages_of(options: bytes) -> list[Stage]:
    header = Header.unpack(options)
    count = header.inputs + header.stages
    behind = Header.SIZE + count * ValueRecord.SIZE
    values = [ValueRecord.unpack(options, Header.SIZE + i * ValueRecord.SIZE) for i in range(count)]
    records = [StageRecord.unpack(options, behind + i * StageRecord.SIZE) for i in range(header.stages)]
    return [stage_of(record, values[record.input], values[header.inputs + k]) for k, record in enumerate(records)]


def stage_of(record: StageRecord, source: ValueRecord, out: ValueRecord) -> Stage:
    kind, outputs = Kind(record.kind), out.height * out.width * out.channels
    kernel, taps = (record.kernel_h, record.kernel_w), record.kernel_h * record.kernel_w
    planes = f"{source.height}x{source.width}x{source.channels} -> {out.height}x{out.width}x{out.channels}"
    shape = f"{kernel[0]}x{kernel[1]}/{record.stride_w} {planes}"
    if kind == Kind.CONV:
        name = convolution_name(kernel, plane_of(source), plane_of(out))
        return Stage(name, shape, outputs * taps * source.channels, outputs)
    if kind == Kind.DEPTHWISE:
        return Stage("depthwise", shape, outputs * taps, outputs)
    return Stage(kind.name.lower().replace("_", " "), planes, 0, outputs)


def plane_of(value: ValueRecord) -> tuple[int, int, int]:
    return value.height, value.width, value.channels


def convolution_name(kernel: Sequence[int], source: Sequence[int], out: Sequence[int]) -> str:
    """kernel: height, width; source and out: height, width, channels."""
    if tuple(kernel) == tuple(source[:2]) and tuple(out[:2]) == (1, 1):
        return "dense"
    if tuple(kernel) != (1, 1):
        return "convolution"
    return "1x1 to more" if out[2] > source[2] else "1x1 to fewer" if out[2] < source[2] else "1x1"
