"""The packed format, version 1: its bytes, of one small chain of the stages that have constants."""
from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

import numpy as np

from tflfuse.chain import Add, Chain, Convolution, Depthwise, Link, Mean, Table, Value, Window
from tflfuse.chain_codec import BEHIND_WEIGHTS, NO_OFFSET, Header, StageRecord, ValueRecord
from tflfuse.ir import Array
from tflfuse.numerics import AddParameters
from tflfuse.packing import pack, unpack

RECORDS = "abc1eaa9"
CONSTANTS = "c431fcb3"
"""Beginnings of SHA-256."""


def weights(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) * 37 % 255 - 127).astype(np.int8).reshape(shape)


def numbers(first: int, step: int, count: int) -> Array:
    return np.arange(first, first + step * count, step).astype("<i4")


def small_chain() -> Chain:
    """5x4x3 through 3x3 kernels of 4 channels and of one, a sum, a mean, a dense layer and a table."""
    image, plane = Value(5, 4, 3, 0.5, -3), Value(5, 4, 4, 0.25, 7)
    row, one = Value(1, 1, 4, 0.125, -1), Value(1, 1, 9, 0.0625, 2)
    window = Window(kernel_h=3, kernel_w=3, pad_top=1, pad_left=1)
    shifts = np.array([-9, -8, -7, -10], np.int8)
    parameters = AddParameters(1 << 30, 0, 1342177280, -1, 1610612736, -18)
    dense = Convolution(one, Window(), weights(9, 1, 1, 4), numbers(-40, 9, 9), numbers(1 << 30, 1234567, 9),
                        np.full(9, -6, np.int8), -100, 127)
    return Chain((image,), (
        Link(Convolution(plane, window, weights(4, 3, 3, 3), numbers(-900, 321, 4), numbers(1 << 30, 98765432, 4),
                         shifts), (0,)),
        Link(Depthwise(plane, window, weights(3, 3, 4), numbers(55, -77, 4), numbers(1 << 30, 11111111, 4), shifts),
             (1,)),
        Link(Add(plane, parameters, -128, 120), (1, 2)),
        Link(Mean(row, 1717986918, -5), (3,)),
        Link(dense, (4,)),
        Link(Table(one, weights(256), ()), (5,))))


def records_of(options: bytes) -> tuple[Header, list[ValueRecord], list[StageRecord]]:
    header = Header.unpack(options)
    values = header.inputs + header.stages
    stages_at = Header.SIZE + values * ValueRecord.SIZE
    assert len(options) == stages_at + header.stages * StageRecord.SIZE
    return (header, [ValueRecord.unpack(options, Header.SIZE + k * ValueRecord.SIZE) for k in range(values)],
            [StageRecord.unpack(options, stages_at + k * StageRecord.SIZE) for k in range(header.stages)])


def test_version_1_has_these_bytes() -> None:
    """Files that were written stay in firmware and on disks: kernels and lower() of every later version must read
    them. A change of these bytes is another format, with another operator name, or it is a mistake.

    Where rings and sums lie in scratch memory is not looked at: a better layout is no other format.
    """
    options, constants = pack(small_chain())
    header, values, stages = records_of(options)
    fixed: list[Header | ValueRecord | StageRecord] = [
        replace(header, scratch_bytes=0), *(replace(v, ring_offset=0) for v in values),
        *(replace(s, scratch=NO_OFFSET) for s in stages)]
    digests = [hashlib.sha256(data).hexdigest()[:8]
               for data in (b"".join(r.pack() for r in fixed), constants.tobytes())]
    assert digests == [RECORDS, CONSTANTS]


def test_arrays_lie_as_the_format_says() -> None:
    """Weights in the order of TFLM's own, and bytes behind them that may be read."""
    options, constants = pack(small_chain())
    data = constants.tobytes()
    _, _, stages = records_of(options)
    first = next(s for s in stages if s.kernel_h == 3)
    assert data[first.weights:first.weights + 108] == weights(4, 3, 3, 3).tobytes()
    assert struct.unpack_from("<4i", data, first.bias) == (-900, -579, -258, 63)
    assert struct.unpack_from("<4b", data, first.shifts) == (-9, -8, -7, -10)
    assert data[-BEHIND_WEIGHTS:] == bytes(BEHIND_WEIGHTS)


def test_what_was_packed_comes_back() -> None:
    chain = small_chain()
    again = unpack(*pack(chain))
    assert again.values == chain.values
    assert [link.reads for link in again.links] == [link.reads for link in chain.links]
    assert pack(again)[0] == pack(chain)[0]
