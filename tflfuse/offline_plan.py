"""The metadata OfflineMemoryAllocation: where in the arena each tensor lies.

int32 little endian: [version, a count or index of subgraphs, number of tensors, offset of every tensor of every
subgraph in order]; -1 leaves a tensor to the interpreter (tflite-micro, micro_allocation_info.cc).
"""
from __future__ import annotations

import numpy as np

from .ir import Array, Model

NAME = b"OfflineMemoryAllocation"
_HEADER = 3


def take(model: Model) -> None:
    """Move the plan from the metadata into the tensors; one that does not fit stays as it is, with a note."""
    places = [i for i, m in enumerate(model.metadata or []) if m.name == NAME]
    if not places or model.metadata is None:
        return
    buffer = model.metadata[places[0]].buffer
    tensors = [t for graph in model.subgraphs for t in graph.tensors]
    words = np.zeros(0, np.int32)
    if buffer.data is not None and len(buffer) % 4 == 0:
        words = buffer.data.view("<i4")
    if len(places) > 1 or len(words) != _HEADER + len(tensors) or words[2] != len(tensors) or _is_shared(model):
        model.notes.append("the metadata OfflineMemoryAllocation do not fit the model and are kept as they are")
        return
    model.memory_plan_version, model.memory_plan_subgraphs = int(words[0]), int(words[1])
    model.memory_plan_at, model.memory_plan_buffer = places[0], buffer
    for tensor, offset in zip(tensors, words[_HEADER:].tolist()):
        tensor.arena_offset = offset
    del model.metadata[places[0]]


def _is_shared(model: Model) -> bool:
    """Something else reads the plan's buffer too."""
    buffer = next(m.buffer for m in model.metadata or [] if m.name == NAME)
    readers = [t.buffer for graph in model.subgraphs for t in graph.tensors]
    readers += [m.buffer for m in model.metadata or []] + (model.metadata_buffer or [])
    return sum(reader is buffer for reader in readers) > 1


def words_of(version: int, subgraphs: int, offsets: list[int]) -> Array:
    """The plan as the bytes of its buffer, uint8 [12 + 4 * tensors]."""
    return np.array([version, subgraphs, len(offsets), *offsets], "<i4").view(np.uint8)
