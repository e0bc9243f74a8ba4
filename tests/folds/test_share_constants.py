"""Constants with the same bytes share a buffer."""
from __future__ import annotations

import numpy as np

from tests.build import Build
from tflfuse import flatbuffer
from tflfuse.folds.share_constants import share_constants
from tflfuse.ir import Buffer, Metadata
from tflfuse.pattern import Rebuffer
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify

W = np.arange(4, dtype=np.float32).reshape(2, 2)


def test_equal_bytes_share_the_first_buffer() -> None:
    b = Build()
    x = b.input((1, 2))
    one, two = b.constant(W), b.constant(W.copy())
    other, bits = b.constant(-W), b.constant(W.reshape(4).view(np.int32))
    y = b.dense(b.dense(b.dense(x, one), two), other)
    z = b.op("ADD", [b.input((4,), np.int32), bits], (4,))
    model, before = b.model(y, z), b.bytes(y, z)
    first = one.buffer
    done = rewrite(model, [share_constants])
    assert [t.buffer is first for t in (one, two, other, bits)] == [True, True, False, True]
    assert len(model.buffers) == 3 and done.exact and len(done.steps) == 1
    after = flatbuffer.write(model)
    assert len(after) < len(before) and verify(before, after).equal
    assert not plan(model, [share_constants]).steps and not plan(flatbuffer.read(after), [share_constants]).steps


def test_large_constants_that_differ_in_their_last_byte_do_not_share() -> None:
    b = Build()
    large, last = np.zeros((2, 200), np.int8), np.zeros((2, 200), np.int8)
    last[-1, -1] = 1
    first, same, other = (b.constant(a) for a in (large, large, last))
    y = b.op("ADD", [b.op("ADD", [b.op("ADD", [b.input((2, 200)), first], (2, 200)), same], (2, 200)), other], (2, 200))
    rewrite(b.model(y), [share_constants])
    assert same.buffer is first.buffer and other.buffer is not first.buffer


def test_tensors_on_one_buffer_already_are_nothing_to_do() -> None:
    b = Build()
    w = b.constant(W)
    same = w.like(name=b"same")
    b.tensors.append(same)
    y = b.dense(b.dense(b.input((1, 2)), w), same)
    assert not plan(b.model(y), [share_constants]).steps


def test_all_tensors_of_a_buffer_move_also_in_another_subgraph() -> None:
    b, c = Build(), Build()
    first, twice = b.constant(W), b.constant(W)
    y = b.dense(b.dense(b.input((1, 2)), first), twice)
    again = c.constant(W).like(buffer=twice.buffer)
    c.tensors[-1] = again
    model, other = b.model(y), c.model(c.dense(c.input((1, 2)), again))
    model.subgraphs += other.subgraphs
    (step,) = plan(model, [share_constants]).steps
    assert [(e.tensor, e.buffer) for e in step.edits if isinstance(e, Rebuffer)] == [
        (twice, first.buffer), (again, first.buffer)]


def test_variables_metadata_and_tensors_without_data_keep_their_own() -> None:
    b = Build()
    w = b.constant(W)
    b.constant(W, is_variable=True)
    beside = b.constant(W, is_variable=True)
    b.tensors.append(beside.like(is_variable=False))
    y = b.dense(b.input((1, 2)), w)
    model = b.model(y)
    assert w.buffer.data is not None
    model.metadata = [Metadata(b"notes", Buffer(w.buffer.data.copy()))]
    assert not plan(model, [share_constants]).steps
