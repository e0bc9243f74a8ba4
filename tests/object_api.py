"""An independent reader: the object API of ai_edge_litert's newer schema, compared field by field and bit by bit."""
from __future__ import annotations

import struct
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema


def objects(data: bytes) -> Any:
    """The ModelT of a file."""
    return schema.ModelT.InitFromPackedBuf(data, 0)


def packed(model: Any) -> bytes:
    """The file of a ModelT."""
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def difference(a: Any, b: Any, path: str = "model") -> str:
    """Where two object trees differ first; empty where they are the same bits."""
    if type(a) is not type(b):
        return f"{path}: {a!r} and {b!r}"
    if isinstance(a, np.ndarray):
        return "" if (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) else f"{path}: {a} and {b}"
    if isinstance(a, float):
        return "" if struct.pack("<d", a) == struct.pack("<d", b) else f"{path}: {a!r} and {b!r}"
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} of them"
        pairs = [(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b))]
    elif hasattr(a, "__dict__"):
        pairs = [(vars(a)[name], vars(b)[name], f"{path}.{name}") for name in vars(a)]
    else:
        return "" if a == b else f"{path}: {a!r} and {b!r}"
    return next((found for x, y, where in pairs if (found := difference(x, y, where))), "")
