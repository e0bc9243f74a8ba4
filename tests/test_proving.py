"""scripts/prove goes on where it was interrupted, and tells what was proved."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import proving
from tests.random_checks import Verdict

PROVE = Path(__file__).parent.parent / "scripts" / "prove"


def seeds_of(order: list[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for seed in order:
        proving.merge(ranges, seed)
    return ranges


def test_ranges_of_seeds_are_put_together() -> None:
    assert seeds_of([0, 1, 2]) == [[0, 3]]
    assert seeds_of([0, 2, 5, 1, 4]) == [[0, 3], [4, 6]]
    assert seeds_of([3, 1]) == [[1, 2], [3, 4]]


def test_what_is_saved_is_gone_on_with(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    proved = proving.load(state)
    proving.of_commit(proved, "old").add(0, "grown", Verdict(), 0.5)
    entry = proving.of_commit(proved, "new")
    entry.add(2, "chain", Verdict(failure="fused: it differs"), 0.25)
    entry.add(3, "chain", Verdict(refused="TFLM does not run it"), 0.25)
    proving.save(state, proved)
    again = proving.load(state)
    assert again == proved and proving.of_commit(again, "new") is again[1]
    assert list(proving.left(again, "new", 0, 6)) == [1, 4, 5]
    assert list(proving.left(again, "newest", 0, 6)) == [1, 2, 4, 5], "what failed is tried again with other sources"
    page = proving.page(again, "a command")
    assert "**3 models, 1 with a difference**; 1 that TFLM does not run" in page
    assert "| new | 2 to 3 | 2 | 1 | 250 ms |" in page and "* seed 2: fused: it differs" in page
    proving.of_commit(again, "newest").add(2, "chain", Verdict(), 0.25)
    page = proving.page(again, "a command")
    assert "**3 models, 0 with a difference**" in page and "* seed 2, holds since: fused: it differs" in page
    assert list(proving.left(again, "newest", 0, 6)) == [1, 4, 5]


def test_the_script_proves_records_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    state, page = tmp_path / "state.json", tmp_path / "page.md"
    for models in (2, 4):
        command = [sys.executable, str(PROVE), "--models", str(models), "--state", str(state), "--record", str(page)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"**{models} models, 0 with a difference**" in page.read_text()
    assert [p.seeds for p in proving.load(state)] == [[[0, 4]]]
