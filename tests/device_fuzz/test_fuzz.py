"""A short run of the fuzzer. scripts/fuzz_device runs it for as long as is asked for."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from . import build, figures, seeds

RUNS = 20_000


@pytest.mark.skipif(not build.is_there(), reason=build.NEEDED)
def test_nothing_crashes_and_much_of_it_runs(tmp_path: Path) -> None:
    """Memory is touched only inside, failures are told, outputs depend on nothing but the inputs; seeded, so the same
    inputs each time."""
    models = sorted((Path(__file__).parents[1] / "data").glob("*.tflite"))
    corpus = tmp_path / "corpus"
    assert seeds.write(corpus, models) > 150
    program = build.build(tmp_path)
    done = subprocess.run(build.command(program, corpus, f"-runs={RUNS}", "-seed=1"), cwd=tmp_path, text=True,
                          capture_output=True, errors="replace")
    assert done.returncode == 0, done.stderr[-5000:]
    found = figures.of_log(done.stderr)
    assert found.executions >= RUNS
    assert found.share > 0.3, found.text()
    assert found.sentences > 30, found.text()
    print(found.text())


def test_figures_are_read_from_the_log_and_kept(tmp_path: Path) -> None:
    log = """INFO: Loaded 1 modules   (1246 inline 8-bit counters): 1246 [0x1, 0x2),
#300	DONE   cov: 680 ft: 3568 corp: 712/629Kb lim: 24576 exec/s: 2086 rss: 452Mb
Done 300 runs in 61 second(s)
tflfuse: cases 300, unreadable 3, refused 90, too large to run 9, evaluated 150, refused in Eval 48
tflfuse: message 47 the batch is not 1
tflfuse: message 3\x20
tflfuse: message 40 a clamp is empty
"""
    found = figures.of_log(log)
    assert found == figures.Figures(300, 150, 138, 2, 680, 1246, 61, figures.digest()) and found.share == 0.5
    file = tmp_path / "figures.json"
    assert figures.add(found, file) == [found] and figures.add(found, file) == [found] * 2 == figures.read(file)
    with pytest.raises(ValueError, match="did not end"):
        figures.of_log(log.replace("DONE", "NEW"))
