"""What the picture shows, against the memory plan that it is made from and the report's own words."""
from __future__ import annotations

from tests.build import Build
from tests.html_report.models import blocks, varied
from tests.html_report.page import parsed
from tflfuse import flatbuffer
from tflfuse.chart import charts
from tflfuse.html_report import render
from tflfuse.ir import Model
from tflfuse.pipeline import fuse
from tflfuse.timeline import INNER, INPUT, OUTPUT, SCRATCH, Timeline, timeline


def drawn(model: Model) -> Timeline:
    line = timeline(model)
    assert isinstance(line, Timeline), line
    return line


def three_in_a_row() -> Model:
    b = Build()
    x = b.input((1, 64))
    y = b.op("TANH", [x], x.shape)
    z = b.op("LOGISTIC", [y], y.shape)
    return b.model(b.op("NEG", [z], z.shape))


def test_a_buffer_lives_from_the_column_that_makes_it_to_the_last_that_reads_it() -> None:
    line = drawn(three_in_a_row())
    assert [o.name for o in line.columns if o is not None] == ["TANH", "LOGISTIC", "NEG"]
    assert [(b.kind, b.size, b.first, b.last) for b in line.bands] == [
        (INPUT, 256, 0, 0), (INNER, 256, 0, 1), (INNER, 256, 1, 2), (OUTPUT, 256, 2, 2)]


def test_the_peak_is_the_one_that_the_report_names() -> None:
    result = fuse(varied())
    line = drawn(flatbuffer.read(result.model))
    memory = result.report.memory
    assert memory is not None and line.peak is not None
    said = memory.in_the_way()["buffers"]
    assert [(b.size, b.offset) for b in line.at(line.peak)] == [(b["size"], b["offset"]) for b in said]


def test_what_a_file_needs_is_what_the_report_says() -> None:
    result = fuse(blocks(3))
    memory = result.report.memory
    assert memory is not None and memory.before is not None
    assert drawn(flatbuffer.read(result.original)).needs == memory.before
    assert drawn(flatbuffer.read(result.model)).needs == memory.after


def test_an_output_over_what_is_used_up_says_so() -> None:
    line = drawn(flatbuffer.read(fuse(blocks(3)).model))
    over = [b for b in line.bands if b.over]
    assert over
    for band in over:
        below = [b for b in line.bands if b.name in band.over]
        assert all(b.offset < band.end and band.offset < b.end and b.last >= band.first for b in below)
    assert all(b.kind in (INPUT, INNER, OUTPUT, SCRATCH) for b in line.bands)


def test_pictures_share_a_scale_unless_one_would_be_too_small() -> None:
    small, large = drawn(three_in_a_row()), drawn(flatbuffer.read(blocks(1, size=24)))
    assert [c.magnified for c in charts(large, large)] == [1, 1]
    before, after = charts(large, small)
    assert before.magnified == 1 and after.magnified > 3
    shown = parsed(render(fuse(blocks(1, size=24))))
    words = shown.one("figure", id="arena-after").one("figcaption").text
    assert ("as large as the other picture" in words) == (
        charts(large, drawn(flatbuffer.read(fuse(blocks(1, size=24)).model)))[1].magnified > 1)


def test_sizes_that_are_not_known_are_a_reason() -> None:
    b = Build()
    x = b.input((1, 4))
    x.shape = (-1, 4)
    assert timeline(b.model(b.op("TANH", [x], (1, 4)))) == "a dimension is left open"
