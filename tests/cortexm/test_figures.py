"""The figures in the README are those of the committed file, and these are what the kernels take now."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import figures, meter
from .figures import BASELINE, README
from .test_models import FILES

BENCH = Path(__file__).resolve().parents[2] / "scripts/bench_cortexm"
MEASURED = ("mlperftiny_kws_ref_model", "mltk_keyword_spotting_mobilenetv2")
"""Small ones, which have every kind of stage between them that weighs."""
SAYS = "scripts/bench_cortexm --write for each CPU writes them"


def test_the_readme_shows_the_figures() -> None:
    shown = figures.TABLE.search(README.read_text())
    assert shown is not None and shown[0] == figures.table(figures.read()[1]), SAYS


def test_every_model_is_measured_and_takes_less() -> None:
    for cpu, models in figures.read()[1].items():
        assert set(models) == set(BASELINE[cpu])
        for name, counts in models.items():
            assert counts.instructions < BASELINE[cpu][name].instructions, (cpu, name)
            assert counts.loaded + counts.stored < BASELINE[cpu][name].loaded + BASELINE[cpu][name].stored, (cpu, name)


@pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")
@pytest.mark.skipif(meter.missing() is not None, reason=str(meter.missing()))
@pytest.mark.parametrize("cpu", BASELINE)
def test_the_figures_are_those_of_now(cpu: str) -> None:
    """They are exact: another compiler, kernel or plan changes them, and then they are measured again."""
    version, committed = figures.read()
    if version != figures.compiler():
        pytest.skip(f"measured with gcc {version}, here is {figures.compiler()}")
    paths = [path for path in FILES if path.stem in MEASURED]
    done = subprocess.run([sys.executable, BENCH, "--cpu", cpu, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    number = r"([\d,]+).*\n"
    lines = rf"\n(\w+)\n.*\n  instructions +{number}  SRAM bytes loaded +{number}  SRAM bytes stored +{number}"
    found = re.findall(lines, done.stdout)
    now = {name: tuple(int(n.replace(",", "")) for n in numbers) for name, *numbers in found}
    assert now == {name: (c.instructions, c.loaded, c.stored) for name, c in committed[cpu].items()
                   if name in MEASURED}, SAYS
