"""One more way to break a file, for a fuzzer: any bytes in, other bytes out."""
from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.random_cases import case_of
from tflfuse.errors import TflfuseError
from tflfuse.pipeline import fuse
from tflfuse.schema_tables import Field

from . import chains, graphs, tree, values
from .tree import Node, fields, new

Change = Callable[[Random, Node], None]

RAW = 0.12
"""Share of the inputs whose bytes are changed after writing: offsets, lengths, vtables."""
ARCHIVE = 0.01
FRESH = 0.1
"""Share of the inputs that are not a change of another one but of a new random model, or of what it is fused to."""


def change_any(rng: Random, root: Node) -> None:
    """Any field of any table."""
    node = rng.choice([*root.nodes()])
    known = fields(node)
    if known:
        field = rng.choice(known)
        node.values[field.name] = changed(rng, root, node, field)


def changed(rng: Random, root: Node, node: Node, field: Field) -> Any:
    old = node.values.get(field.name, field.default)
    if field.kind == "scalar":
        return values.scalar(rng, field, field.default if old is None else old)
    if field.kind == "string":
        return values.name(rng, old)
    if field.kind == "vector":
        assert field.dtype is not None
        return values.elements(rng, old, np.dtype("u1") if field.dtype.kind == "b" else field.dtype)
    if field.kind == "union":
        assert field.members is not None
        kind = rng.choice([k for k in field.members.values() if k != "NONE"])
        return None if rng.random() < 0.3 else new(kind)
    alike = [n for n in root.nodes() if n.kind == field.table]
    if field.kind == "table":
        return rng.choice((None, new(field.table), *(n.copy() for n in rng.sample(alike, min(2, len(alike))))))
    return tables(rng, [] if old is None else list(old), alike, field.table)


def tables(rng: Random, out: list[Node], alike: list[Node], kind: str) -> list[Node] | None:
    """A vector of tables with one more, one less, two swapped, or none."""
    way = rng.randrange(6)
    if way == 0 or not out:
        out.insert(rng.randrange(len(out) + 1), rng.choice(alike).copy() if alike else new(kind))
    elif way == 1:
        del out[rng.randrange(len(out))]
    elif way in (2, 3):
        a, b = rng.randrange(len(out)), rng.randrange(len(out))
        out[a], out[b] = out[b], out[a]
    elif way == 4:
        out.append(out[rng.randrange(len(out))].copy())
    else:
        return None if rng.random() < 0.3 else out[:rng.randrange(len(out) + 1)]
    return out


CHANGES: tuple[tuple[Change, int], ...] = (*graphs.CHANGES, *chains.CHANGES, (change_any, 8))


def fresh(rng: Random) -> bytes:
    with np.errstate(all="ignore"):
        case = case_of(rng.randrange(1 << 31))
    return fuse(case.data, **case.options).model if rng.random() < 0.3 else case.data


def mutated(data: bytes, seed: int, largest: int, otherwise: Callable[[bytes], bytes]) -> bytes:
    """The tree changed in one place or a few, and now and then the bytes besides; or a new model instead.

    otherwise: for bytes that are no tree, and for a few that are. Equal arguments give equal bytes.
    """
    rng = Random(seed)
    if rng.random() < FRESH:
        data = fresh(rng)
    if rng.random() < 0.03:
        return otherwise(data)
    try:
        root = tree.read(data)
    except TflfuseError:
        return otherwise(data) if rng.random() < 0.5 else values.raw(rng, data)[:largest]
    changes = rng.choices([c for c, _ in CHANGES], [w for _, w in CHANGES], k=rng.choice((1, 1, 1, 2, 2, 3, 5)))
    try:
        with np.errstate(all="ignore"):
            for change in changes:
                change(rng, root)
        out = tree.write(root)
    except (TflfuseError, struct.error, OverflowError):
        return otherwise(data)
    if rng.random() < RAW:
        out = values.raw(rng, out)
    if rng.random() < ARCHIVE:
        out = chains.with_archive(rng, out)
    return out if len(out) <= largest else otherwise(data)
