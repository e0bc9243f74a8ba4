"""Tensors, buffers and operator codes that nothing refers to -> gone."""
from __future__ import annotations

from collections.abc import Iterator

from ..ir import Model
from ..pattern import Prune, sweep
from ..plan import prune_edits


@sweep
def remove_unused(model: Model) -> Iterator[Prune]:
    """Leave out tensors, buffers and operator codes that nothing refers to."""
    yield from prune_edits(model)
