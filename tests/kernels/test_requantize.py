"""The rounding of requantize.h against TFLM's formulas, in both modes that TFLM can be built with."""
from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tflfuse.ir import Array
from tflfuse.numerics import multiply_by_quantized_multiplier

from .conftest import PACK, build

EDGES = np.array([0, 1, 2, 3, (1 << 30) - 1, 1 << 30, (1 << 31) - 2, (1 << 31) - 1], np.int64)


def cases(shifts: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Every edge with every edge and shift, and random numbers of every size; multipliers are not negative."""
    rng = np.random.default_rng(1)
    signed = np.concatenate([EDGES, -EDGES, [-(1 << 31)]])
    grid = np.meshgrid(signed, EDGES, np.arange(shifts[0], shifts[1] + 1), indexing="ij")
    n = 300_000
    bits = rng.integers(1, 32, n)
    numbers = [rng.integers(-(1 << 31), 1 << 31, n) >> (32 - bits),
               rng.integers(0, 1 << 31, n) >> rng.integers(0, 31, n), rng.integers(shifts[0], shifts[1] + 1, n)]
    x, m, s = (np.concatenate([g.ravel(), r]).astype(np.int32) for g, r in zip(grid, numbers, strict=True))
    return x, m, s


def computed(tmp_path: Path, x: Array, multiplier: Array, shift: Array, *flags: str) -> Array:
    source = Path(__file__).parent / "requantize_probe.cc"
    probe = build(tmp_path / "probe.so", [source], f"-I{PACK}/src/kernels", "-fPIC", "-shared", *flags)
    library = ctypes.CDLL(str(probe))
    y = np.empty_like(x)
    library.requantize(*(a.ctypes.data_as(ctypes.c_void_p) for a in (x, multiplier, shift)), len(x),
                       y.ctypes.data_as(ctypes.c_void_p))
    return y


@pytest.mark.parametrize("sanitizer", ["-O3", "-fsanitize-undefined-trap-on-error"])
def test_double_rounding(tmp_path: Path, sanitizer: str) -> None:
    x, m, s = cases((-31, 30))
    flags = [sanitizer, "-fsanitize=undefined"] if sanitizer.startswith("-f") else [sanitizer]
    assert np.array_equal(computed(tmp_path, x, m, s, *flags), multiply_by_quantized_multiplier(x, m, s))


def test_single_rounding(tmp_path: Path) -> None:
    """x * m / 2 ** (31 - shift), halves upwards, where the result fits 32 bits."""
    x, m, s = cases((-31, 7))
    exact = [(int(a) * int(b) + (1 << (30 - int(c)))) >> (31 - int(c)) for a, b, c in zip(x, m, s, strict=True)]
    fits = np.array([-(1 << 31) <= v < 1 << 31 for v in exact])
    assert fits.mean() > 0.8
    got = computed(tmp_path, x, m, s, "-DTFLITE_SINGLE_ROUNDING=1")
    assert np.array_equal(got[fits], np.array(exact, dtype=object)[fits].astype(np.int32))
    assert not np.array_equal(got, multiply_by_quantized_multiplier(x, m, s))
