"""The same input and version give the same bytes, whatever the machine, its settings and the order of addresses."""
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.digests import MODELS, ROOT, digests, pinned

SETTINGS: dict[str, dict[str, str]] = {
    "hash seed 1": {"PYTHONHASHSEED": "1"}, "hash seed 2": {"PYTHONHASHSEED": "2"},
    "C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "another day": {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "0"},
    "many threads": {"OMP_NUM_THREADS": "16", "OPENBLAS_NUM_THREADS": "16", "MKL_NUM_THREADS": "16"},
    "an older processor": {"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_ICL AVX2 FMA3"},
    "optimized": {"PYTHONOPTIMIZE": "2"},
    "other addresses": {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "90", "MALLOC_ARENA_MAX": "1"}}
"""Environment variables; numpy says with a warning that it lacks a feature that is to be left out."""

ONE = """
import hashlib, sys
from tflfuse.pipeline import fuse
for path in sys.argv[1:]:
    print(hashlib.sha256(fuse(open(path, "rb").read()).model).hexdigest())
"""


def test_the_bytes_are_those_that_were_written_down() -> None:
    """On a difference that is meant, run scripts/pin_digests."""
    assert digests() == pinned()


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_the_machine_do_not_count(setting: str, tmp_path: Path) -> None:
    environment = {**os.environ, **SETTINGS[setting], "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", ONE, *(str(ROOT / name) for name in MODELS)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [pinned()[name] for name in MODELS]


def test_the_command_writes_the_same_bytes_from_any_folder(tmp_path: Path) -> None:
    """Also with the proof, which may leave steps out: twice the same."""
    digest = set()
    for number, setting in enumerate(({"PYTHONHASHSEED": "3"}, {"PYTHONHASHSEED": "4", "LC_ALL": "C"})):
        folder = tmp_path / f"folder {number}"
        folder.mkdir()
        environment = {**os.environ, **setting, "PYTHONPATH": str(ROOT)}
        source = os.path.relpath(ROOT / MODELS[1], folder)
        subprocess.run([sys.executable, "-m", "tflfuse", source, "out.tflite", "-q"], env=environment, cwd=folder,
                       check=True)
        digest.add(hashlib.sha256((folder / "out.tflite").read_bytes()).hexdigest())
    assert len(digest) == 1
