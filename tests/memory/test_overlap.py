"""A fused operator's output over the rows of its inputs that nobody reads again."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.build import Build
from tests.kernels.chains import random_chain
from tests.kernels.pair import Pair, chain_model, inputs_for
from tflfuse import flatbuffer, memory
from tflfuse.chain import Add, Chain, Convolution, GlobalAverage, Link, Pad, Transpose, Value, Window
from tflfuse.errors import Refused
from tflfuse.ir import Array, Model
from tflfuse.layout import laid_out
from tflfuse.lifetimes import aligned, lifetimes
from tflfuse.numerics import AddParameters
from tflfuse.overlap import distances, distances_of
from tflfuse.packing import fused_operator
from tflfuse.replay import reads_what_it_wrote
from tflfuse.tflm import Interpreter

from .models import early_output, later_reader

CHAINS = 60


def value(height: int, width: int, channels: int, zero_point: int = 3) -> Value:
    return Value(height, width, channels, 0.5, zero_point)


def convolution(source: Value, out: Value, size: int = 1, stride: int = 1) -> Convolution:
    weights = np.ones((out.channels, size, size, source.channels), np.int8)
    window = Window(size, size, stride, stride, pad_top=size // 2, pad_left=size // 2)
    return Convolution(out, window, weights, np.zeros(out.channels, "<i4"), np.full(out.channels, 1 << 30, "<i4"),
                       np.zeros(out.channels, np.int8))


def distance(chain: Chain) -> list[int]:
    return distances(chain.inputs, laid_out(chain).links)


def test_the_row_that_is_read_must_not_be_written() -> None:
    """1x1, 8 rows of 32 bytes to as many: one row. To rows of 64 bytes: the output runs ahead until the last row."""
    x = value(8, 4, 8)
    assert distance(Chain((x,), (Link(convolution(x, value(8, 4, 8)), (0,)),))) == [32]
    assert distance(Chain((x,), (Link(convolution(x, value(8, 4, 16)), (0,)),))) == [8 * 64 - 7 * 32]


def test_rows_in_a_ring_are_dead_in_the_tensor() -> None:
    """A padded convolution copies its rows first: when row q is written, rows up to q + 1 are copied."""
    x = value(8, 4, 8)
    assert distance(Chain((x,), (Link(convolution(x, value(8, 4, 8), 3), (0,)),))) == [0]


def test_whoever_reads_to_the_end_keeps_the_output_off() -> None:
    """A transposition reads every row until it is done; a mean writes when it has read all but the last row."""
    x = value(8, 4, 16)
    assert distance(Chain((x,), (Link(Transpose(value(4, 16, 8)), (0,)),))) == [512]
    for height, expected in ((8, 0), (2, 0), (1, 16)):
        assert distance(Chain((value(height, 4, 16),), (Link(GlobalAverage(value(1, 1, 16)), (0,)),))) == [expected]
    assert distance(Chain((value(1, 1, 64),), (Link(convolution(value(1, 1, 64), value(1, 1, 32)), (0,)),))) == [32]


def test_rows_above_a_mean_are_written_before_it_reads() -> None:
    x = value(8, 4, 16)
    chain = Chain((x,), (Link(GlobalAverage(value(1, 1, 16)), (0,)), Link(Pad(value(3, 1, 16), top=1), (1,))))
    assert distance(chain) == [16]
    assert reads_what_it_wrote(chain.inputs, chain.links, [0]) is not None
    assert reads_what_it_wrote(chain.inputs, chain.links, [16]) is None


def chains(count: int) -> list[tuple[int, Pair]]:
    made = []
    for seed in range(count):
        try:
            made.append((seed, random_chain(np.random.default_rng(seed), 1 + seed % 7).pair()))
        except Refused:
            continue
    assert len(made) > count // 2
    return made


def over(pair: Pair, above: Sequence[int]) -> bytes:
    """The chain's model with its output at the beginning of the arena and each input so far above it.

    Inputs that would meet each other, or an input too far up to be met, lie one behind the other instead.
    """
    model = flatbuffer.read(chain_model(pair.chain, pair.builder.inputs, pair.y))
    graph = model.subgraphs[0]
    model.memory_plan_version, end = 0, aligned(graph.outputs[0].nbytes)
    for tensor in graph.tensors:
        tensor.arena_offset = -1
    graph.outputs[0].arena_offset = 0
    for number, (tensor, distance) in enumerate(zip(graph.inputs, above, strict=True)):
        tensor.arena_offset = distance if number == 0 else end
        end = max(end, tensor.arena_offset + aligned(tensor.nbytes))
    return flatbuffer.write(model)


def outputs(model: bytes, inputs: list[list[Array]]) -> list[Array]:
    interpreter = Interpreter(model)
    return [interpreter.run(arrays)[0] for arrays in inputs]


def test_random_chains_over_their_input_give_the_same_bits() -> None:
    """The output poisons the rows that it lies over. 16 bytes closer the replay finds a row read too late, and several
    chains give wrong outputs; others had read the very pixels before."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    spoiled = tight = 0
    for seed, pair in chains(CHAINS):
        least = distance(pair.chain)
        links = laid_out(pair.chain).links
        assert reads_what_it_wrote(pair.chain.inputs, links, least) is None
        inputs = inputs_for([t.shape for t in pair.builder.inputs], np.random.default_rng(seed))
        expected = outputs(pair.builtin, inputs)
        for array, wanted in zip(outputs(over(pair, least), inputs), expected, strict=True):
            np.testing.assert_array_equal(array, wanted, f"seed {seed}")
        if least[0] > 0:
            closer = [least[0] - 16, *(None for _ in least[1:])]
            assert reads_what_it_wrote(pair.chain.inputs, links, closer) is not None, f"seed {seed}"
            tight += 1
            got = outputs(over(pair, [least[0] - 16, *least[1:]]), inputs)
            spoiled += any(not np.array_equal(a, b) for a, b in zip(got, expected, strict=True))
    assert tight > 15 and spoiled > 5


def test_the_replay_knows_two_readers_of_an_input() -> None:
    """x -> conv -> add(x): the sum still reads x's row when the convolution is done with it."""
    x = value(6, 4, 4)
    add = Add(x, AddParameters(1 << 30, 0, 1 << 30, 0, 1 << 30, -18))
    chain = Chain((x,), (Link(convolution(x, x), (0,)), Link(add, (1, 0))))
    assert distance(chain) == [16]
    assert reads_what_it_wrote(chain.inputs, chain.links, [0]) is not None
    assert reads_what_it_wrote(chain.inputs, chain.links, [16]) is None


def test_of_a_tensor_that_is_read_twice_the_larger_distance_counts() -> None:
    """The sum reads x itself and what a convolution makes of it."""
    x = value(6, 4, 4)
    add = Add(x, AddParameters(1 << 30, 0, 1 << 30, 0, 1 << 30, -18))
    for reads in ((2, 1), (2, 0)):
        chain = Chain((x, x), (Link(convolution(x, x, 3), (1 - reads[1],)), Link(add, reads)))
        assert sorted(distance(chain)) == [0, 16]
        b = Build()
        tensor = b.input((1, 6, 4, 4), scale=0.5, zero_point=3)
        output = b.tensor(tensor.shape, scale=0.5, zero_point=3)
        assert distances_of(fused_operator(chain, [tensor, tensor], output)) == {tensor: 16}


def test_nothing_lies_over_what_is_still_read() -> None:
    """An output of the model that is read early or by the last operator, and an input with a later reader, keep their
    bytes."""
    for model in (early_output(), later_reader()):
        assert near(model) == []
    assert near(early_output(wanted=False)) == [0]
    assert near(shorter(wanted=True)) == [] and near(shorter(wanted=False)) == [0]


def shorter(wanted: bool) -> Model:
    """16 bits to 8 at the end; the 16 are an output too where they are wanted."""
    b = Build()
    y = b.op("TANH", [b.input((1, 64), np.int16, scale=0.1)], (1, 64), np.int16, scale=1 / 32768)
    z = b.op("QUANTIZE", [y], y.shape, np.int8, scale=1 / 128)
    return b.model(y, z) if wanted else b.model(z)


def near(model: Model) -> list[int]:
    """The distances of all pairs that may overlap."""
    return list(memory.problem_of(model, lifetimes(model))[0].near.values())


@pytest.mark.parametrize("name, one, to, overlaps", [
    ("QUANTIZE", np.float32, np.int8, True), ("QUANTIZE", np.int16, np.int8, True),
    ("QUANTIZE", np.int8, np.int16, False), ("QUANTIZE", np.int8, np.int8, False), ("CAST", np.int16, np.int8, False)])
def test_numbers_that_become_shorter_one_by_one(name: str, one: type, to: type, overlaps: bool) -> None:
    b = Build()
    x = b.input((1, 64), one, scale=None if one is np.float32 else 0.1)
    b.op(name, [x], x.shape, to, scale=0.2)
    assert distances_of(b.operators[0]) == ({x: 0} if overlaps else {})
