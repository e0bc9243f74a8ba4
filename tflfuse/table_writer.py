"""A tree of Tables -> bytes, with constant data behind the tables at multiples of 16."""
from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from flatbuffers import Builder

from .errors import BadModel
from .ir import Array, Table
from .schema_tables import Field, spec
from .table_reader import IDENTIFIER, WORTH_SHARING

ALIGNMENT = 16
"""Of Buffer.data and Operator.custom_options, as force_align in the schema says; kernels load them as vectors."""
FAR = frozenset({"Buffer.data", "Operator.custom_options"})
LARGEST = 2 ** 31 - 1
"""Offsets are 32 bits wide and readers treat them as signed."""


class TableWriter:
    """Writes one tree. A long array is written once, equal strings too: what was shared stays shared."""

    def __init__(self) -> None:
        self._builder = Builder(1 << 16)
        self._strings: dict[bytes, int] = {}
        self._vectors: dict[tuple[int, str], tuple[int, Array]] = {}
        self._far: list[tuple[int, Array]] = []

    def write(self, root: Table) -> bytes:
        """The whole flatbuffer; its length is a multiple of 16."""
        builder = self._builder
        builder.Finish(self._table(root), IDENTIFIER)
        tables = memoryview(builder.Bytes)[builder.Head():]
        parts: list[Any] = [tables, bytes(-len(tables) % ALIGNMENT)]
        end = len(tables) + len(parts[1])
        starts: dict[int, int] = {}
        for from_end, data in self._far:
            start = starts.get(id(data))
            if start is None:
                gap = (-end - 4) % ALIGNMENT
                start = starts[id(data)] = end + gap
                end = start + 4 + len(data)
                if end > LARGEST - ALIGNMENT:
                    raise BadModel("the model would be larger than 2 GB, more than a TFLite file can be")
                parts += (bytes(gap) + struct.pack("<I", len(data)), data)
            slot = len(tables) - from_end
            struct.pack_into("<I", tables, slot, start - slot)
        parts.append(bytes(-end % ALIGNMENT))
        return b"".join(parts)

    def _table(self, table: Table) -> int:
        kind, builder, values = spec(table.kind), self._builder, table.values
        if not values.keys() <= kind.defaults.keys():
            raise ValueError(f"{kind.kind} has no field {sorted(values.keys() - kind.defaults.keys())}")
        placed: list[tuple[int, int]] = []
        far: list[tuple[int, Array]] = []
        codes: dict[str, int] = {}
        for field in kind.references:
            value = values.get(field.name)
            if value is None:
                continue
            if field.label in FAR:
                far.append((field.slot, _as_bytes(value)))
                continue
            if field.kind == "union":
                codes[field.name + "_type"] = _code(field, value)
            placed.append((field.slot, self._reference(field, value)))
        builder.StartObject(kind.slots)
        for slot, offset in placed:
            builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
        for slot, data in far:
            builder.PrependUint32Slot(slot, 1, 0)  # patched when it is known where the data lie
            self._far.append((builder.Offset(), data))
        for field in kind.scalars:
            value = codes.get(field.name, values.get(field.name, field.default))
            if value != field.default or field.dtype == np.float32 and math.copysign(1, value) < 0:
                getattr(builder, field.prepend)(field.slot, value, None)
        return int(builder.EndObject())

    def _reference(self, field: Field, value: Any) -> int:
        if field.kind == "string":
            return self._string(value)
        if field.kind == "vector":
            return self._vector(field, value)
        if field.kind == "tables":
            return self._tables(value)
        return self._table(value)

    def _string(self, value: bytes) -> int:
        known = self._strings.get(value)
        if known is None:
            known = self._strings[value] = int(self._builder.CreateString(value))
        return known

    def _vector(self, field: Field, value: Any) -> int:
        assert field.dtype is not None
        if not isinstance(value, np.ndarray) or value.nbytes < WORTH_SHARING:
            return self._elements(np.asarray(value, field.dtype).tobytes(), field.dtype.itemsize)
        key = id(value), field.dtype.char
        if key not in self._vectors:
            offset = self._elements(np.asarray(value, field.dtype).tobytes(), field.dtype.itemsize)
            self._vectors[key] = offset, value  # holds the array so that its id stays its own
        return self._vectors[key][0]

    def _tables(self, tables: Iterable[Table]) -> int:
        offsets = np.array([self._table(t) for t in tables], np.int64)
        builder = self._builder
        builder.Prep(4, 4 * len(offsets))
        places = builder.Offset() + 4 * np.arange(len(offsets), 0, -1)
        return self._elements((places - offsets).astype("<u4").tobytes(), 4)

    def _elements(self, raw: bytes, width: int) -> int:
        """A vector, aligned to its elements."""
        builder = self._builder
        builder.StartVector(width, len(raw) // width, width)
        builder.head -= len(raw)
        builder.Bytes[builder.head:builder.head + len(raw)] = raw
        return int(builder.EndVector())


def _as_bytes(data: Array) -> Array:
    """The same array where it is plain bytes already, so that sharing is seen."""
    if data.dtype == np.uint8 and data.ndim == 1 and data.flags.c_contiguous:
        return data
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _code(field: Field, value: Table) -> int:
    assert field.members is not None
    for code, member in field.members.items():
        if member == value.kind:
            return code
    raise ValueError(f"{field.label} cannot hold a {value.kind}")
