"""Schedules, layouts and records of chains."""
from __future__ import annotations

import random
import struct
from dataclasses import replace

import numpy as np
import pytest

from tflfuse.chain import (Add, Chain, Convolution, Depthwise, GlobalAverage, Link, MaxPool, Mean, Multiply, Pad, Slice,
                           Stage, Table, Transpose, Value, Window)
from tflfuse.chain_codec import Header, Kind, StageRecord, ValueRecord
from tflfuse.errors import BadModel, Refused
from tflfuse.layout import laid_out, scratch_bytes
from tflfuse.numerics import AddParameters
from tflfuse.packing import fused_operator, fused_operators, pack, pack_together, unpack
from tflfuse.schedule import Rows, Stop, ring_rows, simulated
from tflfuse.tables import CONSTANT, Elementwise, Scalar
from tests.build import Build

SUM = AddParameters(1 << 30, 0, 1 << 30, 0, 1 << 30, -18)


def value(height: int = 8, width: int = 6, channels: int = 2, zero_point: int = 3) -> Value:
    return Value(height, width, channels, 0.5, zero_point)


def convolution(source: Value, window: Window, out: Value) -> Convolution:
    rng = np.random.default_rng(out.channels)
    weights = rng.integers(-9, 9, (out.channels, window.kernel_h, window.kernel_w, source.channels)).astype(np.int8)
    return Convolution(out, window, weights, np.arange(out.channels, dtype="<i4"),
                       np.full(out.channels, 1 << 30, "<i4"), np.zeros(out.channels, np.int8), -100, 100)


def same(source: Value, size: int = 3, channels: int = 2) -> Convolution:
    """A convolution of odd size that keeps the plane."""
    window = Window(size, size, pad_top=size // 2, pad_left=size // 2)
    return convolution(source, window, replace(source, channels=channels))


def table(out: Value) -> Table:
    step = Elementwise("RELU", (0,), out.scale, out.zero_point)
    return Table(out, np.arange(-128, 128).astype(np.int8), (step,))


def chain(*links: tuple[Stage, tuple[int, ...]], inputs: tuple[Value, ...] = (value(),)) -> Chain:
    return Chain(inputs, tuple(Link(stage, reads) for stage, reads in links))


def test_a_ring_holds_the_rows_of_a_window() -> None:
    """3 rows for a 3x3 window, 5 for one dilated by 2, one for a 1x1 at stride 2, all for a whole plane."""
    heights = {3: Rows(3, 1, 1), 5: Rows(5, 1, 2), 1: Rows(1, 2, 0), 8: Rows(8, 1, 0)}
    for expected, rows in heights.items():
        out = (8 + 2 * rows.pad_top - rows.span) // rows.stride + 1
        assert ring_rows([8], [Stop((0,), Rows(), 8), Stop((1,), rows, out)]) == [expected, 0]
    assert ring_rows([8], [Stop((0,), Rows(), 8), Stop((1,), Rows(accumulates=True), 1)]) == [1, 0]


def test_a_padding_and_a_slice_keep_one_row() -> None:
    """The slice leaves out two rows, which are made nevertheless, and one at the bottom, which is not."""
    x = value()
    padded, part = replace(x, height=11, width=9, channels=4), replace(x, height=8, width=5, channels=3)
    moved = chain((same(x), (0,)), (Pad(padded, 2, 1, 1), (1,)), (Slice(part, 2, 4, 0), (2,)))
    assert [p.rows for p in laid_out(moved).places] == [0, 3, 1, 1, 0]
    assert [stop.rows for stop in moved.stops[1:]] == [Rows(1, 1, 2), Rows(1, 1, -2)]
    assert Rows(1, 1, -2).end(7, 11) == 10 and Rows(1, 1, 2).end(10, 8) == 8


def test_a_residual_keeps_its_rows_until_they_are_added() -> None:
    """Of two 3x3 windows and a sum: for row r of the sum, row r + 2 of the value is made, and row r still wanted."""
    stops = [Stop((0,), Rows(), 8), Stop((1,), Rows(3, 1, 1), 8), Stop((2,), Rows(3, 1, 1), 8), Stop((1, 3), Rows(), 8)]
    assert ring_rows([8], stops) == [3, 3, 1, 0]
    further = [*stops[:3], Stop((3,), Rows(3, 1, 1), 8), Stop((1, 4), Rows(), 8)]
    assert ring_rows([8], further) == [4, 3, 3, 1, 0]


def random_stops(rng: random.Random) -> tuple[list[int], list[Stop]]:
    """Windows with padding or behind rows left out, sums, accumulations, values with several readers; each is read."""
    outside = [rng.randint(1, 12) for _ in range(rng.randint(1, 2))]
    heights, stops = list(outside), []
    for _ in range(rng.randint(1, 9)):
        v = rng.randrange(max(0, len(heights) - 3), len(heights))
        height, kind = heights[v], rng.random()
        others = [w for w, h in enumerate(heights) if h == height and w != v]
        if kind < 0.35 and others:
            stops.append(Stop((v, rng.choice(others)), Rows(), height))
        elif kind < 0.45:
            stops.append(Stop((v,), Rows(accumulates=True), 1))
        elif kind < 0.55:
            stops.append(Stop((v,), Rows(), height))
        else:
            span, stride, top = rng.randint(1, 5), rng.randint(1, 3), rng.randint(-2, 5)
            out = (height + top + rng.randint(0, 5) - span) // stride + 1
            if out >= 1:
                stops.append(Stop((v,), Rows(span, stride, top), out))
        heights = [*outside, *(s.height for s in stops)]
    return outside, without_unread(len(outside), stops)


def without_unread(count: int, stops: list[Stop]) -> list[Stop]:
    read = {v for s in stops for v in s.reads}
    unread = [k for k in range(len(stops) - 1) if count + k not in read]
    if not unread:
        return stops
    gone = unread[-1]
    rest = [s._replace(reads=tuple(v - (v > count + gone) for v in s.reads)) for k, s in enumerate(stops) if k != gone]
    return without_unread(count, rest)


def test_rows_that_are_counted_are_those_of_the_executor() -> None:
    """The short ways, for values with one reader and for parts of a chain, against the whole schedule step by step."""
    rng = random.Random(1)
    shared = 0
    for _ in range(3000):
        outside, stops = random_stops(rng)
        if not stops:
            continue
        assert ring_rows(outside, stops) == simulated(tuple(outside), tuple(stops), stops[-1].height), (outside, stops)
        shared += any(sum(v in s.reads for s in stops) > 1 for v in range(len(outside), len(outside) + len(stops)))
    assert shared > 300


def test_an_outside_tensor_is_copied_where_a_convolution_reads_beside_its_rows() -> None:
    x = value()
    alone = chain((convolution(x, Window(3, 1, pad_top=1), x), (0,)))
    assert [type(link.stage).__name__ for link in laid_out(alone).links] == ["Convolution"]
    both = chain((same(x), (0,)), (same(x, 5), (0,)), (Add(x, SUM), (1, 2)), (Add(x, SUM), (0, 3)))
    layout = laid_out(both)
    assert [link.reads for link in layout.links] == [(0,), (1,), (1,), (2, 3), (0, 4)]
    copied = layout.places[1]
    assert (copied.left, copied.right, copied.rows, copied.pitch) == (2, 2, 5, 20)
    assert [p.rows for p in layout.places] == [0, 5, 1, 1, 1, 0]


def test_columns_at_the_right_follow_from_the_outputs_width() -> None:
    x = value()
    out = replace(x, height=4, width=3)
    strided = convolution(x, Window(3, 3, 2, 2), out)  # 2x2 strides, windows end at column 6: one beside the plane
    assert laid_out(chain((table(x), (0,)), (strided, (1,)))).places[1].right == 1


def test_a_table_overwrites_what_only_it_reads() -> None:
    x = value()
    layout = laid_out(chain((same(x), (0,)), (table(x), (1,)), (table(x), (2,)), (same(x), (3,))))
    a, b, c = layout.places[2:5]
    assert a.offset == b.offset == c.offset and a.rows == b.rows == c.rows == 3 and (a.left, a.right) == (1, 1)
    again = laid_out(chain((same(x), (0,)), (table(x), (1,)), (Add(x, SUM), (1, 2))))
    assert again.places[2].offset != again.places[3].offset
    last = laid_out(chain((same(x), (0,)), (table(x), (1,))))
    assert (last.places[2].rows, last.places[3].rows) == (1, 0)


def test_rows_of_zero_points_are_shared_and_only_there_where_needed() -> None:
    x, y = value(zero_point=3), value(zero_point=4)
    inside = convolution(y, Window(3, 1), replace(y, height=6))
    wide = convolution(x, Window(5, 5, pad_top=2, pad_left=2), y)
    layout = laid_out(chain((same(x), (0,)), (wide, (1,)), (same(y), (2,)), (inside, (3,))))
    copy, first, second, third, fourth = layout.stage_scratch
    assert copy is None and fourth is None and first == second != third
    assert first is not None and third is not None and third - first == 5 * 2 + 2  # 5 columns, at a multiple of 4


def test_sums_have_memory_of_their_own() -> None:
    x = value()
    pixel = replace(x, height=1, width=1)
    layout = laid_out(chain((Mean(pixel, 1 << 30, 0), (0,)), (GlobalAverage(pixel), (0,)), (Add(pixel, SUM), (1, 2))))
    mean, average, _ = layout.stage_scratch
    assert mean is not None and average is not None and abs(average - mean) >= 8
    assert layout.scratch_bytes == scratch_bytes(chain(
        (Mean(pixel, 1 << 30, 0), (0,)), (GlobalAverage(pixel), (0,)), (Add(pixel, SUM), (1, 2))))


STAGES_AT = Header.SIZE + 15 * ValueRecord.SIZE
"""Where the stages of `every_kind` begin."""


def every_kind() -> Chain:
    """Every stage that does not accumulate, MEAN and a copy, in one chain."""
    nchw, x = Value(2, 8, 6, 0.25, -1), value()
    depthwise = Depthwise(x, Window(3, 3, pad_top=1, pad_left=1), np.ones((3, 3, 2), np.int8), np.zeros(2, "<i4"),
                          np.full(2, 1 << 30, "<i4"), np.full(2, -3, np.int8))
    steps = (Elementwise("LEAKY_RELU", (0,), 0.5, 3, alpha=0.25),
             Elementwise("MUL", (1, CONSTANT), 0.5, 3, Scalar(7, 0.125, -2), 1), Elementwise("ADD", (2, 0), 0.5, 3))
    pixel = replace(x, height=1, width=1)
    pool = MaxPool(x, Window(3, 3, pad_top=1, pad_left=1))
    return chain((Transpose(x), (0,)), (same(x), (1,)), (depthwise, (3,)), (Add(x, SUM, -5, 5), (3, 4)),
                 (Table(x, np.arange(-128, 128).astype(np.int8), steps), (5,)),
                 (Add(x, SUM, constant=np.array([5, -9], "<i4")), (6,)), (pool, (7,)),
                 (Add(x, SUM), (8, 2)), (Multiply(x, 1 << 30, -7, np.array([-255, 9], "<i4"), -9, 11), (9,)),
                 (Pad(replace(x, height=12, width=9, channels=5), 3, 2, 1), (10,)),
                 (Slice(replace(x, height=7, width=5, channels=3), 5, 4, 2), (11,)),
                 (Mean(replace(pixel, channels=3), 1 << 29, -4), (12,)), inputs=(nchw, x))


def test_records_say_what_the_chain_is() -> None:
    options, constants = pack(every_kind())
    header = Header.unpack(options)
    assert (header.inputs, header.stages, header.rows_max) == (2, 13, 3)
    records = [StageRecord.unpack(options, STAGES_AT + k * StageRecord.SIZE) for k in range(13)]
    assert [Kind(r.kind).name for r in records] == [
        "COPY", "TRANSPOSE", "CONV", "DEPTHWISE", "ADD", "TABLE", "ADD", "MAX_POOL", "ADD", "MUL",
        "PAD", "SLICE", "MEAN"]
    assert all(r.weights % 4 == 0 for r in records if r.kind == Kind.CONV)
    assert len(constants) == header.constants_bytes and constants.dtype == np.int8


def test_a_chain_comes_back_from_its_records() -> None:
    original = every_kind()
    options, constants = pack(original)
    again = unpack(options, constants)
    assert again.inputs == original.inputs and again.values == original.values
    assert [link.reads for link in again.links] == [link.reads for link in original.links]
    for a, b in zip(again.links, original.links, strict=True):
        assert type(a.stage) is type(b.stage)
        for name, expected in vars(b.stage).items():
            got = getattr(a.stage, name)
            assert np.array_equal(got, expected) if isinstance(expected, np.ndarray) else got == expected
    packed = pack(again)
    assert packed[0] == options and np.array_equal(packed[1], constants)


def test_equal_constants_are_stored_once() -> None:
    x = value()
    one, two = chain((same(x), (0,))), chain((same(x), (0,)), (same(x), (1,)))
    assert len(pack(one)[1]) == len(pack(two)[1])


def test_an_operator_without_constants_has_four_bytes_of_them() -> None:
    """The runtime takes no empty tensor."""
    assert pack(chain((MaxPool(value(), Window()), (0,))))[1].tolist() == [0, 0, 0, 0]


def test_options_that_are_cut_or_wrong_are_bad() -> None:
    options, constants = pack(every_kind())
    for length in range(len(options)):
        with pytest.raises(BadModel):
            unpack(options[:length], constants)
    for wrong in (options + b"\0", b"TFCX" + options[4:], options[:4] + b"\x09" + options[5:]):
        with pytest.raises(BadModel):
            unpack(wrong, constants)
    with pytest.raises(BadModel):
        unpack(options, constants[:-1])
    at = STAGES_AT + 2 * StageRecord.SIZE
    record = StageRecord.unpack(options, at)
    for changed in (replace(record, weights=len(constants) - 3), replace(record, kind=77), replace(record, input=200)):
        with pytest.raises(BadModel):
            unpack(options[:at] + changed.pack() + options[at + StageRecord.SIZE:], constants)


def test_damaged_options_are_read_or_bad_but_nothing_else() -> None:
    options, constants = pack(every_kind())
    rng = random.Random(3)
    for _ in range(1000):
        damaged = bytearray(options)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            unpack(bytes(damaged), constants)
        except BadModel:
            continue


@pytest.mark.parametrize("build, reason", [
    (lambda: chain((same(value()), (0,)), (same(value()), (0,))), "read by nobody"),
    (lambda: chain(*((table(value()), (k,)) for k in range(129))), "at most 16 inputs, 128 stages and 144 values"),
    (lambda: chain((table(value(width=70000)), (0,)), inputs=(value(width=70000),)), "at most 65535 rows"),
    (lambda: chain(*((table(value(50000)), (k,)) for k in range(2)), inputs=(value(50000),)), "at most 131072 rows"),
    (lambda: chain((Mean(value(1, 1), 1, 0), (0,)), inputs=(value(65535, 65535),)), "over at most 8388608 pixels"),
    (lambda: chain((MaxPool(value(), Window(400, 400, pad_top=9)), (0,))), "holds at most 131071 numbers"),
    (lambda: chain((MaxPool(value(), Window(stride_h=70000)), (0,))), "a window of a chain has at most 65535 rows"),
    (lambda: chain((table(value(65535, 65535, 9)), (0,)), (MaxPool(value(1, 65535, 9), Window(65535, 1)), (1,)),
                   inputs=(value(65535, 65535, 9),)), "do not fit 31 bits")])
def test_what_records_cannot_say_is_refused(build, reason: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refused, match=reason):
        laid_out(build())


def test_the_operator_takes_its_tensors_then_its_constants() -> None:
    b = Build()
    x, y = b.input((1, 8, 6, 2), scale=0.5, zero_point=3), b.tensor((1, 8, 6, 2), scale=0.5, zero_point=3)
    operator = fused_operator(chain((same(value()), (0,))), [x], y)
    options, constants = pack(chain((same(value()), (0,))))
    assert operator.name == "CUSTOM:TFLFUSE_CHAIN_1" and operator.outputs == [y] and operator.inputs[0] is x
    held = operator.inputs[1]
    assert held is not None and held.is_constant and np.array_equal(held.array(), constants)
    assert operator.custom_options is not None and operator.custom_options.tobytes() == options
    assert struct.unpack_from("<4s", options) == (b"TFCH",)


def test_chains_packed_together_share_what_they_hold() -> None:
    options, data = pack_together([every_kind(), every_kind()])
    alone, held = pack(every_kind())
    assert options == [alone, alone] and np.array_equal(data, held)
    other = chain((replace(same(value()), weights=np.full((2, 3, 3, 2), 77, np.int8)), (0,)))
    options, data = pack_together([every_kind(), other])
    assert len(held) < len(data) < len(held) + len(pack(other)[1]), "the biases are equal"
    for packed, original in zip(options, (every_kind(), other), strict=True):
        again, (expected, constants) = pack(unpack(packed, data)), pack(original)
        assert again[0] == expected and np.array_equal(again[1], constants)


def test_operators_made_together_read_one_tensor_of_constants() -> None:
    b = Build()
    x, y, z = (b.tensor((1, 8, 6, 2), scale=0.5, zero_point=3) for _ in range(3))
    one = chain((same(value()), (0,)))
    first, second = fused_operators([(one, [x], y), (one, [y], z)])
    assert first.inputs[1] is second.inputs[1] and first.code is second.code
    assert (first.inputs[0], second.inputs[0], second.outputs) == (x, y, [z])
    assert fused_operators([]) == []
