"""A file as a tree of tables that can be changed at will, and written though it makes no sense any more."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflfuse import zip_tail
from tflfuse.ir import Table
from tflfuse.schema_tables import Field, spec
from tflfuse.table_reader import TableReader
from tflfuse.table_writer import TableWriter


@dataclass(eq=False)
class Node:
    """A table whose values may be set: scalars, bytes, numpy arrays, Nodes, lists of Nodes, None."""

    kind: str
    values: dict[str, Any]

    def nodes(self) -> Iterator[Node]:
        """This table and all below, each once for every place where it stands."""
        yield self
        for value in self.values.values():
            if isinstance(value, Node):
                yield from value.nodes()
            elif isinstance(value, list):
                for node in value:
                    yield from node.nodes()

    def list_of(self, name: str) -> list[Node]:
        """A vector of tables, which is made where it is missing."""
        if self.values.get(name) is None:
            self.values[name] = []
        found: list[Node] = self.values[name]
        return found

    def copy(self) -> Node:
        """Arrays and strings stay shared."""
        return Node(self.kind, {name: copied(value) for name, value in self.values.items()})


def copied(value: Any) -> Any:
    if isinstance(value, Node):
        return value.copy()
    return [node.copy() for node in value] if isinstance(value, list) else value


def read(data: bytes) -> Node:
    """Raises TflfuseError where the bytes hold no tree."""
    return _node(TableReader(data, zip_tail.start_of(data)).root())


def _node(table: Table) -> Node:
    values: dict[str, Any] = {}
    for field in spec(table.kind).fields:
        value = table.values[field.name]
        if isinstance(value, Table):
            value = _node(value)
        elif field.kind == "tables" and value is not None:
            value = [_node(t) for t in value]
        values[field.name] = value
    return Node(table.kind, values)


def write(root: Node) -> bytes:
    return TableWriter().write(_table(root))


def _table(node: Node) -> Table:
    values = {}
    for name, value in node.values.items():
        if isinstance(value, Node):
            value = _table(value)
        elif isinstance(value, list):
            value = [_table(n) for n in value]
        values[name] = value
    return Table(node.kind, values)


def new(kind: str, **values: Any) -> Node:
    """A table with the schema's defaults."""
    return Node(kind, {**spec(kind).defaults, **values})


def fields(node: Node) -> tuple[Field, ...]:
    return spec(node.kind).fields


def as_array(values: Any, dtype: Any) -> Any:
    """Numbers as a vector of a field's type; what does not fit wraps."""
    if np.dtype(dtype).kind == "f":
        return np.asarray(values, np.float64).astype(dtype)
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([int(v) % 2 ** bits for v in values], np.uint64).astype(dtype)
