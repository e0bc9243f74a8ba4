"""Numbers and bytes that break things."""
from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

import numpy as np

from tflfuse.ir import Array
from tflfuse.schema_tables import Field

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-45, 1e-38, 1e-30, 1e-9, 1e-3, 127.0, 255.0, 1e9, 1e30, 3.4e38, math.inf,
          -math.inf, math.nan, 2.0 ** -31, 2.0 ** 31, 1 / 3)
WHOLE = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 127, 128, 129, 255, 256, 1000, 32767, 32768, 65535,
         65536, 2 ** 20, 2 ** 24, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 33, 2 ** 63 - 1, 2 ** 63)
NAMES = (b"", b"x", b"\xff\xfe", b"a\nb", b"\x1b[31m", "\u202e\u00e9".encode(), b"same", b"n" * 300,
         b"OfflineMemoryAllocation", b"TFLFUSE_CHAIN_1", b"tflfuse", b"COMPRESSION_METADATA", b"min_runtime_version")
LONGEST = 64
"""Elements that a changed vector gets at most, where it was no longer."""


def whole(rng: Random, old: int, dtype: np.dtype[Any]) -> int:
    """A number of the type: near the old one, small, or one at which something ends."""
    bits = 8 * dtype.itemsize
    way = rng.randrange(5)
    if way == 0:
        value = old + rng.choice((-1, 1))
    elif way == 1:
        value = rng.randrange(-2, 8)
    elif way == 2:
        value = rng.choice(WHOLE) * rng.choice((1, 1, 1, -1))
    elif way == 3:
        value = old * rng.choice((2, 3, -1, 256)) if rng.random() < 0.5 else old // 2
    else:
        value = rng.getrandbits(min(bits, rng.choice((4, 8, 16, 64))))
    value %= 1 << bits
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def real(rng: Random, old: float) -> float:
    """A float32's value."""
    way = rng.randrange(4)
    if way == 0 and math.isfinite(old):
        value = old * (1 + rng.choice((-1, 1)) * 2.0 ** -rng.randrange(24))
    elif way == 1 and math.isfinite(old):
        value = old * 10 ** rng.uniform(-6, 6)
    elif way == 2:
        value = rng.choice(FLOATS)
    else:
        value = 10 ** rng.uniform(-4, 2)
    return float(np.clip(value, -3.4e38, 3.4e38)) if math.isfinite(value) else value


def scalar(rng: Random, field: Field, old: Any) -> Any:
    """Another value for a field of a table."""
    assert field.dtype is not None
    if field.dtype.kind == "b":
        return not old
    if field.dtype.kind == "f":
        return real(rng, float(old))
    return whole(rng, int(old), field.dtype)


def name(rng: Random, old: bytes | None) -> bytes | None:
    return rng.choice((None, *NAMES, *([old * 2, old[:-1]] if old else [])))


def elements(rng: Random, old: Array | None, dtype: np.dtype[Any]) -> Array | None:
    """A vector with something changed: an element, the order, the length; or none at all."""
    if old is None or len(old) == 0:
        count = rng.choice((0, 1, 1, 2, 4, 8))
        return np.array([element(rng, 0, dtype) for _ in range(count)], dtype)
    way = rng.randrange(8)
    if way <= 2:
        out = np.array(old, dtype)
        for _ in range(rng.choice((1, 1, 2, len(out)))):
            at = rng.randrange(len(out))
            out[at] = element(rng, out[at].item(), dtype)
        return out
    if way == 3:
        return np.array(np.roll(old, 1), dtype)
    if way == 4:
        at = rng.randrange(len(old))
        return np.array(np.delete(old, at), dtype)
    if way == 5:
        at = rng.randrange(len(old) + 1)
        return np.array(np.insert(old, at, element(rng, 0, dtype)), dtype)
    if way == 6:
        count = rng.choice((0, 1, 2, len(old) * 2)) if len(old) <= LONGEST else rng.choice((1, len(old) // 2))
        return np.array(np.resize(old, count), dtype)
    return None


def element(rng: Random, old: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return real(rng, float(old))
    return bool(rng.getrandbits(1)) if dtype.kind == "b" else whole(rng, int(old), dtype)


def data(rng: Random, old: Array, dtype: np.dtype[Any] | None) -> Array:
    """As many bytes as before, with some elements of the type changed, or all."""
    if dtype is None or len(old) % dtype.itemsize or not len(old) or dtype.kind == "c":
        dtype = np.dtype("u1")
    out = np.array(old).view(dtype).copy()
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(out))
        out[at] = element(rng, 0 if dtype.kind == "f" and not np.isfinite(out[at]) else out[at].item(), dtype)
    if rng.random() < 0.15:
        out[:] = out[rng.randrange(len(out))]
    return out.view(np.uint8)


def raw(rng: Random, old: bytes) -> bytes:
    """A file with offsets, lengths or single bytes changed behind the back of whoever wrote it."""
    out = bytearray(old)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if len(out) < 8:
            break
        at = rng.randrange(0, len(out) - 3) & ~3
        word, = struct.unpack_from("<I", out, at)
        way = rng.randrange(6)
        if way == 0:
            out[rng.randrange(len(out))] = rng.randrange(256)
        elif way == 1:
            struct.pack_into("<I", out, at, (word + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8))) % 2 ** 32)
        elif way == 2:
            struct.pack_into("<I", out, at, rng.choice((*WHOLE, len(out), len(out) - at, len(out) // 4)) % 2 ** 32)
        elif way == 3:
            struct.pack_into("<I", out, at, (rng.randrange(len(out)) - at) % 2 ** 32)  # anywhere, also backwards
        elif way == 4:
            other = rng.randrange(0, len(out) - 3) & ~3
            out[at:at + 4] = out[other:other + 4]
        else:
            struct.pack_into("<H", out, at + 2 * rng.randrange(2), rng.choice((0, 2, 4, 6, 8, 65535, len(out) % 65536)))
    if rng.random() < 0.05 and len(out) > 8:
        del out[rng.randrange(8, len(out)):]
    return bytes(out)
