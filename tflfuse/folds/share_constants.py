"""Two buffers with the same bytes -> one buffer."""
from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator

from ..ir import Buffer, Model
from ..pattern import Rebuffer, sweep

START = 64
"""Bytes that tell most buffers of one length apart."""


@sweep
def share_constants(model: Model) -> Iterator[Rebuffer]:
    """Let constants that are equal byte for byte share one buffer."""
    tensors = [t for g in model.subgraphs for t in g.tensors]
    own = {t.buffer for t in tensors if t.is_variable}  # a variable's first value lies where the variable is written
    readers = [t for t in tensors if t.is_constant and t.buffer not in own]
    first = first_of_equals(dict.fromkeys(t.buffer for t in readers))
    yield from (Rebuffer(t, first[t.buffer]) for t in readers if first[t.buffer] is not t.buffer)


def first_of_equals(buffers: dict[Buffer, None]) -> dict[Buffer, Buffer]:
    """For each buffer the first one with its bytes. Only buffers that start alike are read whole, none is copied."""
    alike: dict[tuple[int, bytes], list[Buffer]] = defaultdict(list)
    for buffer in buffers:
        assert buffer.data is not None
        alike[len(buffer), buffer.data[:START].tobytes()].append(buffer)
    first: dict[Buffer, Buffer] = {}
    for group in alike.values():
        known: dict[bytes, Buffer] = {}
        for buffer in group:
            first[buffer] = known.setdefault(digest(buffer), buffer) if len(group) > 1 else buffer
    return first


def digest(buffer: Buffer) -> bytes:
    """A cryptographic hash of the bytes: equal only where they are."""
    assert buffer.data is not None
    return hashlib.sha256(buffer.data.data).digest()
