"""The meter counts to the instruction and byte, the same every time; a wrong output does not pass the harness."""
from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.pair import Pair
from tests.kernels.test_sanitized import vector
from tests.kernels.twin import Geometry, Twin

from . import emulator, meter
from .boards import BOARDS
from .conftest import Harness
from .image import image
from .meter import Counts, Span
from .stages import stages_of
from .test_vectors import program_of, strings_of

pytestmark = pytest.mark.usefixtures("host_kernels")


def block() -> Pair:
    """3x3 depthwise on 9x8x4, 1x1 to 6 channels, the mean over the plane."""
    twin = Twin(np.random.default_rng(5))
    x = twin.convolution(twin.input(9, 8, 4), Geometry(9, 8, 4, 4, (3, 3), pads=(1, 1, 1, 1)), "DEPTHWISE_CONV_2D")
    twin.mean(twin.convolution(x, Geometry(9, 8, 4, 6, (1, 1))))
    return twin.pair()


@pytest.fixture(scope="module")
def block_vector() -> bytes:
    return vector(block(), np.random.default_rng(1))


def more(few: Span, many: Span) -> Counts:
    return Counts(*(b - a for a, b in zip(astuple(few.counts), astuple(many.counts), strict=True)))


@pytest.mark.parametrize("cpu", BOARDS)
def test_it_counts_exactly(cpu: str, harness: Harness, plugin: Path, tmp_path: Path) -> None:
    """Of two spans the second has 1000 turns more; target/probe.cc says what a turn does."""
    (tmp_path / "image").write_bytes(image([]))
    probe = harness(cpu).with_name("probe")
    few, many, *vector = meter.measure(cpu, probe, tmp_path / "image", plugin, tmp_path / "out").spans
    assert more(few, many) == Counts(instructions=7000, loaded=5000, stored=10000, flash=4000)
    assert 14 <= many.share.code <= 40, "the turns once, and what leads back to them"
    assert bool(vector) == (cpu == "cortex-m55")
    if vector:
        assert more(*vector) == Counts(instructions=7000, loaded=26000, stored=16000)


def test_every_row_of_every_stage_is_counted_once(block_vector: bytes, harness: Harness, plugin: Path,
                                                  tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(image([program_of(block_vector)]))
    measured = meter.measure("cortex-m4", harness("cortex-m4"), tmp_path / "image", plugin, tmp_path / "out")
    (prepare,), (run,) = measured.prepare, measured.eval
    stages = stages_of(next(strings_of(block_vector)))
    assert [s.name for s in stages] == ["copy", "depthwise", "1x1 to more", "mean"]
    assert [s.macs for s in stages] == [0, 9 * 8 * 4 * 9, 9 * 8 * 4 * 6, 0]
    assert [run.stages[k][0] for k in range(4)] == [9, 9, 9, 9] and len(run.stages) == 4
    assert not prepare.stages
    counted = meter.total(share.counts for _, share in run.stages.values())
    assert 0 < run.counts.instructions - counted.instructions < 100  # behind the last row the function returns
    assert measured.functions["tflfuse_depthwise_row"] < run.stages[1][1].counts.instructions
    spans = run.counts.instructions + prepare.counts.instructions
    assert abs(measured.functions.total() - spans) < 100  # functions are counted by blocks, which the marks cut


def test_stack_and_code_are_those_of_each_stage(block_vector: bytes, harness: Harness, plugin: Path,
                                                tmp_path: Path) -> None:
    """The stack of the stage that takes most is the operator's; code is that of the kernels that a stage calls."""
    (tmp_path / "image").write_bytes(image([program_of(block_vector)]))
    measured = meter.measure("cortex-m4", harness("cortex-m4"), tmp_path / "image", plugin, tmp_path / "out")
    run, = measured.eval
    copy, depthwise, conv, mean = (share for _, share in run.stages.values())
    assert run.share.lowest == min(conv.lowest, depthwise.lowest) < mean.lowest < BOARDS["cortex-m4"].ram + 0x4000
    assert 500 < copy.code < mean.code + 1000 and mean.code < conv.code
    assert max(conv.code, depthwise.code) < run.share.code < sum(s.code for _, s in run.stages.values())


def test_counts_are_the_same_every_time(block_vector: bytes, harness: Harness, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(image([program_of(block_vector)] * 2))
    texts = []
    for number in range(2):
        out = tmp_path / f"out{number}"
        measured = meter.measure("cortex-m4", harness("cortex-m4"), tmp_path / "image", plugin, out)
        assert measured.spans[:2] == measured.spans[2:]
        texts.append(sorted(out.read_text().splitlines()))
    assert texts[0] == texts[1]


def test_a_wrong_output_is_told(block_vector: bytes, harness: Harness, tmp_path: Path) -> None:
    last = block_vector[-1] ^ 1
    (tmp_path / "image").write_bytes(image([program_of(block_vector[:-1] + bytes([last]))]))
    with pytest.raises(emulator.Failed, match=r"differs at byte 5 of 6: got \d+, expected \d+\nin step 1 of program 0"):
        emulator.run("cortex-m4", harness("cortex-m4"), tmp_path / "image")


def test_malformed_options_are_refused_on_the_board(block_vector: bytes, harness: Harness, tmp_path: Path) -> None:
    program = program_of(block_vector.replace(b"TFCH", b"TFCX"))
    (tmp_path / "image").write_bytes(image([program]))
    with pytest.raises(emulator.Failed, match="TFLFUSE_CHAIN_1 the options are not those of a chain"):
        emulator.run("cortex-m4", harness("cortex-m4"), tmp_path / "image")
