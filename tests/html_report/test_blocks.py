"""Operators and stages as the page shows them."""
from __future__ import annotations

from tests.html_report.models import blocks
from tflfuse import flatbuffer
from tflfuse.blocks import blocks_of
from tflfuse.pipeline import fuse


def test_a_block_of_stages_says_what_each_reads_and_makes() -> None:
    (block,) = blocks_of(flatbuffer.read(fuse(blocks(1, size=24)).model), ())
    expand, depthwise, project, add = block.stages
    assert [s.kind for s in block.stages] == ["CONV", "DEPTHWISE", "CONV", "ADD"]
    assert (expand.reads, depthwise.reads, add.reads) == (("'t0'",), ("stage 1",), ("stage 3", "'t0'"))
    assert (expand.detail, depthwise.detail) == ("1×1", "3×3")
    assert (expand.shape, expand.size, add.shape, add.ring) == ((24, 24, 8), 4608, (24, 24, 4), 0)
    assert depthwise.ring == 1 and expand.ring == 3 and expand.ring_bytes == 3 * (24 + 2) * 8
    assert depthwise.weights == 9 * 8 + 8 * (4 + 4 + 1)
    assert (block.inner, block.largest) == (2 * 4608 + 2304, 4608)
    assert 0 < sum(s.ring_bytes for s in block.stages) <= block.scratch < block.largest
