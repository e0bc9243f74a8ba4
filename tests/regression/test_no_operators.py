"""Graphs without operators: once a ValueError of the search for runs to fuse."""
from __future__ import annotations

import pytest

from tests.build import Build
from tflfuse import flatbuffer, fuse, verify
from tflfuse.ir import Subgraph


@pytest.mark.parametrize("custom_ops", [True, False])
def test_a_graph_whose_input_is_its_output_is_left_as_it_is(custom_ops: bool) -> None:
    b = Build()
    data = b.bytes(b.input((1, 4)), signature=True)
    assert fuse(data, custom_ops=custom_ops).model == data
    assert verify(data, data).equal


@pytest.mark.parametrize("custom_ops", [True, False])
def test_an_empty_second_subgraph_does_not_keep_the_first_from_folding(custom_ops: bool) -> None:
    b = Build()
    x = b.input((1, 4))
    model = b.model(b.op("RELU", [b.op("ADD", [x, x], x.shape)], x.shape))
    model.subgraphs.append(Subgraph([], [], [], [], b"empty"))
    result = fuse(flatbuffer.write(model), custom_ops=custom_ops)
    assert result.report.operators_after.total() == 1 and len(flatbuffer.read(result.model).subgraphs) == 2
