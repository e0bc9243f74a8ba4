"""shape [1, 8], shape_signature [-1, 8] -> shape [1, 8]: TFLM has no dynamic shapes."""
from __future__ import annotations

from collections.abc import Iterator

from ..ir import Model, Tensor
from ..pattern import Bake, sweep

KEEPS_SIZE = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE"})


@sweep
def static_shapes(model: Model) -> Iterator[Bake]:
    """Make an open batch size the 1 that the shape says.

    Only where each open dimension of every subgraph input is the first one with size 1, and where the sizes behind
    it hold for that: a converter also writes 1 for a size that it did not know.
    """
    inputs = (t for g in model.subgraphs for t in g.inputs)
    if all(only_batch_is_open(t) for t in inputs) and sizes_hold(model):
        yield from (Bake(t) for g in model.subgraphs for t in g.tensors if is_open(t) and min(t.shape, default=0) >= 0)


def is_open(tensor: Tensor) -> bool:
    return any(d < 0 for d in tensor.shape_signature or ())


def only_batch_is_open(tensor: Tensor) -> bool:
    """True for a static tensor as well."""
    signature = tensor.shape_signature or ()
    if not any(d < 0 for d in signature):
        return min(tensor.shape, default=0) >= 0
    return tensor.shape[:1] == (1,) and not any(d < 0 for d in (*signature[1:], *tensor.shape))


def sizes_hold(model: Model) -> bool:
    """Operators that only arrange elements anew have as many elements before as after."""
    pairs = ((o.input(0), o.outputs[0]) for o in model.operators if o.name in KEEPS_SIZE and o.outputs)
    return all(x is None or min((*x.shape, *out.shape), default=0) < 0 or x.size == out.size for x, out in pairs)
