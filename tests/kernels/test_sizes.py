"""The pack's code size for each Cortex-M, as scripts/sizes prints it."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cortexm import emulator, pack

SIZES = Path(__file__).resolve().parents[2] / "scripts/sizes"


def sizes(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SIZES, *arguments], capture_output=True, text=True)


@pytest.mark.skipif(emulator.missing() is not None, reason=str(emulator.missing()))
def test_it_prints_the_whole_the_registered_and_each_file() -> None:
    done = sizes("--files", "cortex-m4")
    assert done.returncode == 0, done.stderr
    number = r"([\d,]+)"
    (whole, registered), = re.findall(rf"^cortex-m4 +-Os +whole +{number} +registered +{number}$", done.stdout, re.M)
    files = dict(re.findall(r"^ +([\d,]+)  (src/\S+\.cc)$", done.stdout, re.M))
    assert "src/kernels/arm_dsp/conv_row.cc" in files.values(), "what is compiled for this processor"
    assert "src/kernels/conv_row.cc" not in files.values() and "src/tflm/chain.cc" in files.values()
    assert 4_000 < int(registered.replace(",", "")) <= int(whole.replace(",", "")) < pack.LIMIT


@pytest.mark.skipif(emulator.missing() is not None, reason=str(emulator.missing()))
def test_an_unknown_processor_is_told() -> None:
    done = sizes("cortex-m99")
    assert done.returncode == 2 and done.stderr == "scripts/sizes: unknown: cortex-m99\n"
