"""The pack's code size for a Cortex-M4, as scripts/sizes prints it."""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SIZES = Path(__file__).resolve().parents[2] / "scripts/sizes"


@pytest.mark.skipif(shutil.which("arm-none-eabi-g++") is None, reason="arm-none-eabi-g++ is not installed")
def test_the_pack_stays_below_its_limit() -> None:
    done = subprocess.run([sys.executable, SIZES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    whole, registered = (int(n.replace(",", "")) for n in re.findall(r"([\d,]+)  (?:whole|with)", done.stdout))
    assert re.search(r"[1-9]\d*  src/kernels/arm_dsp/conv_row.cc", done.stdout), "what is compiled for this processor"
    assert 4_000 < registered <= whole < 24 * 1024
