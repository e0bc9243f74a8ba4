"""What a kernel must not have is seen in an object."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .pack import forbidden

pytestmark = pytest.mark.skipif(
    shutil.which("arm-none-eabi-g++") is None,
    reason="apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib")

BROKEN = {
    "malloc": "#include <stdlib.h>\nvoid* f() { return malloc(4); }",
    "_Znwj": "int* f() { return new int; }",
    "expf": "#include <math.h>\nfloat f(float x) { return expf(x); }",
    "__aeabi_dmul": "double f(double x, double y) { return x * y; }",
    "_ZTI1A": "struct A { virtual ~A() {} virtual int f(); };\nint A::f() { return 1; }",
    "__cxa_throw": "void f() { throw 1; }",
    ".init_array": "int g();\nextern int a;\nint a = g();",
    ".bss": "int f() { static int calls; return ++calls; }",
    ".data": "int f() { static int calls = 7; return ++calls; }",
}
"""A function that a kernel must not be, and what tells it."""


@pytest.mark.parametrize("sign", BROKEN)
def test_what_a_kernel_must_not_have_is_seen(sign: str, tmp_path: Path) -> None:
    (tmp_path / "f.cc").write_text(BROKEN[sign])
    subprocess.run(["arm-none-eabi-g++", "-mcpu=cortex-m4", "-Os", "-fno-threadsafe-statics", "-c", "f.cc"],
                   cwd=tmp_path, check=True)
    assert any(sign in sentence for sentence in forbidden([tmp_path / "f.o"]))
