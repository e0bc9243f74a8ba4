"""Bytes that nobody vouches for -> a tree of Tables. Every access is checked against the file's size."""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from .errors import BadModel
from .ir import Array, Table
from .schema_tables import Field, Spec, spec

IDENTIFIER = b"TFL3"
STREAMED = frozenset({"Model", "SubGraph"})
"""The tables whose vectors of tables are iterators that read as they go, so that the tree never exists whole."""
WORTH_SHARING = 64
"""Bytes. A longer vector that several tables share becomes one array; short ones cost less than remembering them."""

_uint32 = struct.Struct("<I").unpack_from
_int32 = struct.Struct("<i").unpack_from
_two_uint16 = struct.Struct("<HH").unpack_from


@dataclass(frozen=True)
class _Layout:
    """A vtable, checked: where each field that is present lies in the table. size: bytes of the table."""

    size: int
    scalars: tuple[tuple[str, Callable[[Any, int], tuple[Any]], int], ...]
    references: tuple[tuple[Field, Callable[[int, Field], Any], int], ...]
    unions: tuple[tuple[Field, int], ...]


class TableReader:
    """Reads the flatbuffer in data[:size].

    Vectors of numbers are views of data (bool ones as uint8), strings are bytes, absent ones None. A string or a long
    vector that several tables share is one object. What was left out is told in `notes`. `end`: behind the last byte
    that belongs to what was read.
    """

    def __init__(self, data: bytes, size: int) -> None:
        self.data = data
        self.size = size
        self.notes: list[str] = []
        self.end = 0
        # Without sharing a table takes eight bytes or more with the offset that leads to it, and an int32 four: more
        # of them than fit means that shared tables multiply.
        self._budget = size
        self._bytes = np.frombuffer(data, np.uint8)
        self._layouts: dict[tuple[int, str], _Layout] = {}
        self._strings: dict[int, bytes] = {}
        self._vectors: dict[tuple[int, str], Array] = {}
        self._kinds = {"string": self._string, "vector": self._vector, "table": self._table, "tables": self._tables}

    def root(self) -> Table:
        """The Model table."""
        if self.size < 8 or self.data[4:8] != IDENTIFIER:
            raise BadModel("not a TFLite model: the file identifier TFL3 is missing")
        return self._read(self._target(0, "the file's root"), spec("Model"))

    def _read(self, at: int, kind: Spec) -> Table:
        self._spend(8)
        layout = self._layout(at, kind)
        if at + layout.size > self.size:
            raise BadModel(f"{kind.kind} at byte {at} reaches beyond the end of the file")
        self.end = max(self.end, at + layout.size)
        values = dict(kind.defaults)
        data = self.data
        for name, unpack_from, offset in layout.scalars:
            values[name] = unpack_from(data, at + offset)[0]
        for field, read, offset in layout.references:
            values[field.name] = read(at + offset, field)
        for field, offset in layout.unions:
            values[field.name] = self._union(at + offset, field, values[field.name + "_type"])
        return Table(kind.kind, MappingProxyType(values))

    def _layout(self, at: int, kind: Spec) -> _Layout:
        vtable = at - _int32(self.data, at)[0]
        known = self._layouts.get((vtable, kind.kind))
        if known is None:
            known = self._layouts[vtable, kind.kind] = self._read_vtable(vtable, at, kind)
        return known

    def _read_vtable(self, vtable: int, at: int, kind: Spec) -> _Layout:
        where = f"{kind.kind} at byte {at}"
        if not 0 <= vtable <= self.size - 4:
            raise BadModel(f"{where} has its vtable outside the file")
        length, size = _two_uint16(self.data, vtable)
        if length < 4 or length % 2 or vtable + length > self.size or size < 4:
            raise BadModel(f"{where} has a broken vtable")
        self.end = max(self.end, vtable + length)
        offsets = struct.unpack_from(f"<{length // 2 - 2}H", self.data, vtable + 4)
        scalars, references, unions = [], [], []
        for slot, offset in enumerate(offsets):
            if offset == 0:
                continue
            field = kind.by_slot.get(slot)
            if field is None:
                self._unknown(kind, slot)
                continue
            if offset < 4 or offset + field.width > size:
                raise BadModel(f"{where} has its field {field.name} outside the table")
            if field.unpack_from is not None:
                scalars.append((field.name, field.unpack_from, offset))
            elif field.kind == "union":
                unions.append((field, offset))
            else:
                references.append((field, self._kinds[field.kind], offset))
        return _Layout(size, tuple(scalars), tuple(references), tuple(unions))

    def _unknown(self, kind: Spec, slot: int) -> None:
        """A slot without a field: deprecated ones hold nothing that any reader uses, newer ones are refused."""
        if slot >= kind.slots:
            raise BadModel(f"{kind.kind} has slot {slot}, which the tflite package does not know: a newer schema")
        note = f"slot {slot} of {kind.kind}, which the schema deprecated, is left out"
        if note not in self.notes:
            self.notes.append(note)

    def _target(self, at: int, label: str) -> int:
        """Where the offset at a byte leads; at least four bytes lie there."""
        offset = int(_uint32(self.data, at)[0])
        if offset == 0 or at + offset + 4 > self.size:
            raise BadModel(f"{label} at byte {at} points outside the file")
        return at + offset

    def _extent(self, at: int, field: Field, width: int) -> tuple[int, int]:
        """Where a vector's elements start and how many there are."""
        start = self._target(at, field.label)
        count = int(_uint32(self.data, start)[0])
        if count * width > self.size - start - 4:
            raise BadModel(f"{field.label} at byte {start} claims {count} elements, more than the file holds")
        self.end = max(self.end, start + 4 + count * width)
        return start + 4, count

    def _string(self, at: int, field: Field) -> bytes:
        start, count = self._extent(at, field, 1)
        known = self._strings.get(start)
        if known is None:
            known = self._strings[start] = self.data[start:start + count]
        return known

    def _vector(self, at: int, field: Field) -> Array:
        assert field.dtype is not None
        width = field.dtype.itemsize
        start, count = self._extent(at, field, width)
        if field.dtype.char == "i":  # shapes and operands, which become Python objects
            self._spend(4 * count)
        if count * width < WORTH_SHARING:
            return self._view(start, count * width, field.dtype)
        key = start, field.dtype.char
        known = self._vectors.get(key)
        if known is None:
            known = self._vectors[key] = self._view(start, count * width, field.dtype)
        return known

    def _view(self, start: int, length: int, dtype: np.dtype[Any]) -> Array:
        data = self._bytes[start:start + length]
        return data if dtype.kind == "b" or dtype.char == "B" else data.view(dtype)

    def _table(self, at: int, field: Field) -> Table:
        return self._read(self._target(at, field.label), spec(field.table))

    def _tables(self, at: int, field: Field) -> Iterable[Table]:
        start, count = self._extent(at, field, 4)
        kind = spec(field.table)
        tables = (self._read(self._target(place, field.label), kind) for place in range(start, start + 4 * count, 4))
        return tables if field.owner in STREAMED else tuple(tables)

    def _union(self, at: int, field: Field, code: int) -> Table:
        assert field.members is not None
        member = field.members.get(code, "")
        if member in ("", "NONE"):
            raise BadModel(f"{field.label} at byte {at} has type {code}, which the tflite package does not know")
        return self._read(self._target(at, field.label), spec(member))

    def _spend(self, count: int) -> None:
        self._budget -= count
        if self._budget < 0:
            raise BadModel("the file's tables refer to each other so often that they would not fit in memory")
