"""What kernels keep of the arena's tail, as the interpreter counts it: those of which nothing else shows it."""
from __future__ import annotations

import numpy as np
import pytest

from tests.build import Build
from tflfuse import flatbuffer
from tflfuse.ir import Tensor
from tflfuse.tail import tail_bytes
from tflfuse.tflm import Interpreter


def operands(b: Build, name: str) -> list[Tensor]:
    if name == "SLICE":
        return [b.constant(np.array(numbers, np.int32)) for numbers in ((0, 0, 0, 0), (1, 5, 3, 2))]
    return [b.constant(np.zeros(1, np.int8), scale=0.1)] if name in ("MAXIMUM", "MINIMUM") else []


@pytest.mark.parametrize("name", ["SLICE", "ABS", "ELU", "MAXIMUM", "MINIMUM"])
def test_the_tail_is_the_interpreter_s(name: str) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    b = Build()
    x = b.input((1, 5, 3, 2), scale=0.1)
    data = b.bytes(b.op(name, [x, *operands(b, name)], x.shape, scale=0.1))
    assert tail_bytes(flatbuffer.read(data)) == Interpreter(data).arena.tail
