"""A data set as a model's inputs want it."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import TflfuseError
from .ir import Array, Subgraph, Tensor


def data_set(graph: Subgraph, x: Array | Sequence[Array]) -> list[Array]:
    """An array [samples, ...] for each graph input, checked.

    x: such an array, or where the model has several inputs a list of them. Raises TflfuseError where they do not fit.
    """
    several = isinstance(x, (list, tuple)) and len(graph.inputs) > 1
    try:
        arrays = [np.asarray(a) for a in (x if several else [x])]
    except ValueError as error:
        raise TflfuseError(f"x is no array: {error}") from error
    if len(arrays) != len(graph.inputs):
        raise TflfuseError(f"the model has {len(graph.inputs)} inputs, {len(arrays)} arrays were given")
    for tensor, array in zip(graph.inputs, arrays, strict=True):
        if array.shape[1:] != sample_shape(tensor) or not len(array):
            raise TflfuseError(f"{tensor.label} takes samples of {list(sample_shape(tensor))}, "
                               f"an array of {list(array.shape)} was given")
        if array.dtype.kind not in "iufb" or array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TflfuseError(f"the array for {tensor.label} holds values that are no finite numbers")
    if len({len(array) for array in arrays}) > 1:
        raise TflfuseError(f"the inputs have different numbers of samples: {', '.join(str(len(a)) for a in arrays)}")
    return arrays


def sample_shape(tensor: Tensor) -> tuple[int, ...]:
    """Of one sample: what follows the batch of 1, the whole shape where there is none."""
    return tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape


def given(tensor: Tensor, sample: Array) -> Array:
    """One sample of the tensor's shape and type. Real numbers are quantized; those of the tensor's type are taken as
    they are."""
    sample = sample.reshape(tensor.shape)
    if sample.dtype == tensor.dtype or tensor.dtype.kind not in "iu" or not tensor.is_quantized:
        return sample.astype(tensor.dtype)
    limits = np.iinfo(tensor.dtype)
    steps = np.round(sample.astype(np.float64) / tensor.scale) + tensor.zero_point
    return np.asarray(np.clip(steps, limits.min, limits.max).astype(tensor.dtype))


def real(tensor: Tensor, values: Array) -> Array:
    """float64: what a model's output means."""
    if tensor.dtype.kind not in "iu" or not tensor.is_quantized:
        return values.astype(np.float64)
    return (values.astype(np.float64) - tensor.zero_point) * tensor.scale
