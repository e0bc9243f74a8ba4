"""The generated codecs are what the generator makes of the schema, and records survive packing."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tflfuse.chain_codec import MAGIC, Header, Kind, StageRecord, ValueRecord

PROJECT = Path(__file__).resolve().parents[2]
GENERATED = ["tflfuse/chain_codec.py", "tflm_kernels/src/kernels/chain_options.h"]


def test_committed_codecs_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PROJECT / "scripts/generate_codecs", tmp_path], check=True)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")) == sorted(GENERATED)
    for name in GENERATED:
        assert (tmp_path / name).read_text() == (PROJECT / name).read_text(), f"run scripts/generate_codecs: {name}"


def test_the_magic_reads_tfch() -> None:
    assert Header(inputs=1, stages=1, rows_max=1, scratch_bytes=0, constants_bytes=0).pack()[:4] == b"TFCH"
    assert MAGIC.to_bytes(4, "little") == b"TFCH"


RECORDS: tuple[Header | ValueRecord | StageRecord, ...] = (
    Header(inputs=2, stages=3, rows_max=7, scratch_bytes=1 << 20, constants_bytes=5),
    ValueRecord(height=96, width=95, channels=3, ring_rows=2, pad_left=1, pad_right=4, zero_point=-128,
                ring_offset=1 << 31, scale=0.25),
    StageRecord(kind=Kind.ADD, input=1, other=0, clamp_min=-3, multiplier=-(1 << 31), shift=-31, bias=64))


@pytest.mark.parametrize("at", range(4))
def test_records_come_back_from_any_offset(at: int) -> None:
    for record in RECORDS:
        packed = record.pack()
        assert len(packed) == record.SIZE
        assert type(record).unpack(bytes(at) + packed, at) == record
