"""What nothing refers to goes, what something refers to stays."""
from __future__ import annotations

import numpy as np

from tests.build import Build
from tflfuse import flatbuffer
from tflfuse.folds.remove_unused import remove_unused
from tflfuse.ir import Buffer, Metadata, Model, OperatorCode, Signature, Tensor
from tflfuse.pattern import Prune
from tflfuse.plan import plan, rewrite
from tflfuse.verify import verify

W = np.arange(4, dtype=np.float32).reshape(2, 2)


def simple() -> tuple[Build, Tensor]:
    b = Build()
    return b, b.dense(b.input((1, 2)), b.constant(W))


def counts(model: Model) -> tuple[int, int, int]:
    return len(model.subgraphs[0].tensors), len(model.buffers), len(model.operator_codes)


def test_tensors_buffers_and_codes_without_a_use_go() -> None:
    b, y = simple()
    b.tensor((1, 2))
    b.constant(W)
    b.codes["NEG", 1] = OperatorCode.of("NEG")
    model = b.model(y)
    model.buffers += [Buffer(), Buffer(np.zeros(3, np.uint8))]
    before = flatbuffer.write(model)
    (step,) = plan(model, [remove_unused]).steps
    assert step.edits == (Prune(2, 3, 1),)
    assert rewrite(model, [remove_unused]).exact
    assert counts(model) == (3, 2, 1)
    after = flatbuffer.write(model)
    assert len(after) < len(before) and verify(before, after).equal
    assert not plan(model, [remove_unused]).steps


def test_a_model_where_all_is_used_is_left_alone() -> None:
    b, y = simple()
    assert not plan(b.model(y), [remove_unused]).steps


def test_buffer_0_stays_and_stays_empty() -> None:
    b, y = simple()
    model = b.model(y)
    for tensor in (*model.subgraphs[0].inputs, y):
        tensor.buffer = Buffer()
        model.buffers.append(tensor.buffer)
    b.tensor((1,))
    rewrite(model, [remove_unused])
    assert model.buffers[0] is b.empty and len(model.buffers[0]) == 0


def test_a_variable_that_is_neither_read_nor_written_goes() -> None:
    b, y = simple()
    b.tensor((1, 2), is_variable=True)
    read = b.tensor((1, 2), is_variable=True)
    z = b.op("ADD", [y, read], (1, 2))
    model = b.model(z)
    rewrite(model, [remove_unused])
    assert [t.is_variable for t in model.subgraphs[0].tensors] == [False, False, False, True, False]


def test_metadata_and_their_buffers_stay() -> None:
    b, y = simple()
    b.tensor((1, 2))
    model = b.model(y)
    model.metadata = [Metadata(b"min_runtime_version", Buffer(np.frombuffer(b"1.5.0" + bytes(11), np.uint8)))]
    model.metadata_buffer = [Buffer(np.ones(2, np.uint8))]
    model.buffers += [model.metadata[0].buffer, *model.metadata_buffer]
    rewrite(model, [remove_unused])
    assert counts(model) == (3, 4, 1)


def test_inputs_signatures_and_intermediates_are_uses() -> None:
    b, y = simple()
    b.input((3,))
    named, between = b.tensor((1, 2)), b.tensor((1, 2))
    b.operators[0].intermediates = [between]
    model = b.model(y)
    model.signatures = [Signature(b"other", [(b"x", named)], [(b"y", y)])]
    assert not plan(model, [remove_unused]).steps


def test_a_buffer_that_another_subgraph_reads_stays() -> None:
    b, y = simple()
    c, z = simple()
    unread = b.constant(W + 1)
    c.tensors[1].buffer = unread.buffer
    c.operators[0].code = b.operators[0].code
    model = b.model(y)
    model.subgraphs += c.model(z).subgraphs
    rewrite(model, [remove_unused])
    assert counts(model) == (3, 3, 1) and len(model.subgraphs[1].tensors) == 3
    assert unread.buffer in model.buffers
