"""From a Keras model to a fused one: the last step of a training script. TensorFlow is imported where it is used only.

    model.fit(x, y, callbacks=[tflfuse.keras.FuseOnTrainEnd("model.tflite", x[:200])])
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np

from . import flatbuffer
from .errors import TflfuseError
from .ir import Array
from .proof import fuse_and_prove
from .result import Result

Representative = Array | Sequence[Array] | Callable[[], Iterable[Any]]
"""What inputs look like: an array [samples, ...], several for as many inputs, in the order of model.inputs; or what
TensorFlow's converter takes, a function that makes lists of arrays."""


def convert_keras(model: Any, representative_dataset: Representative, custom_ops: bool = True, exact: bool = False,
                  arena: int | None = None) -> Result:
    """Quantize a Keras model to int8, inputs and outputs too, at a batch of 1; fuse it; prove the result.

    model: built, of static shapes but for the batch. representative_dataset: a hundred samples or more, as the model
    gets them in use; the ranges of all numbers are measured with it. custom_ops, exact, arena: as for tflfuse.fuse.
    result.original is the quantized model before fusing. Raises TflfuseError where TensorFlow is missing or cannot
    convert the model, and tflfuse.proof.Differs where the fused model's outputs are not what they must be.
    """
    return fuse_and_prove(quantized(model, representative_dataset), custom_ops=custom_ops, exact=exact, arena=arena)


def quantized(model: Any, representative_dataset: Representative) -> bytes:
    """An int8 .tflite file of a Keras model."""
    tf = tensorflow()
    fixed = at_batch_of_one(tf, model)
    converter = tf.lite.TFLiteConverter.from_keras_model(fixed)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: samples_of(fixed, representative_dataset)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    try:
        with redirect_stdout(StringIO()):  # it names folders that are gone when it is done
            converted = bytes(converter.convert())
    except TflfuseError:
        raise
    except Exception as error:  # the converter raises many kinds
        line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise TflfuseError(f"TensorFlow cannot convert the model: {line}") from error
    return in_order(converted, [tensor.name for tensor in fixed.inputs])


def in_order(data: bytes, names: Sequence[str]) -> bytes:
    """A converted file with its inputs and outputs in the order in which Keras has them; the converter's is any.

    names: of the inputs. Outputs are called output_0, output_1, or as in the model's dictionary, which Keras sorts.
    """
    model = flatbuffer.read(data)
    graph, signature = model.subgraphs[0], next(iter(model.signatures or ()), None)
    if signature is None or signature.subgraph_index != 0:
        return data
    given = {(name or b"").decode(): tensor for name, tensor in signature.inputs}
    made = sorted(((name or b"", tensor) for name, tensor in signature.outputs), key=lambda o: (len(o[0]), o[0]))
    if not all(name.startswith(b"output_") for name, _ in made):
        made.sort(key=lambda output: output[0])
    inputs, outputs = [given[name] for name in names if name in given], [tensor for _, tensor in made]
    if (inputs, outputs) == (graph.inputs, graph.outputs):
        return data
    if set(inputs) != set(graph.inputs) or set(outputs) != set(graph.outputs):
        raise TflfuseError("TensorFlow calls the model's inputs or outputs otherwise than Keras")
    graph.inputs, graph.outputs = inputs, outputs
    return flatbuffer.write(model)


def at_batch_of_one(tf: Any, model: Any) -> Any:
    """The same layers behind inputs whose batch is 1: with an open batch the converter computes shapes at run time.

    The inputs are in a list, in the order of model.inputs: the converter fails on dictionaries that are not sorted.
    """
    if not getattr(model, "inputs", None):
        raise TflfuseError("the model has no inputs yet: build it first, with an Input layer or model.build(shape)")
    for tensor in model.inputs:
        if None in tensor.shape[1:]:
            raise TflfuseError(f"the input '{tensor.name}' has open dimensions besides its batch: {list(tensor.shape)}")
    given = model.inputs[0] if isinstance(model, tf.keras.Sequential) else model.input  # it has no input until called
    inputs = tf.nest.map_structure(
        lambda t: tf.keras.Input(batch_shape=(1, *t.shape[1:]), dtype=t.dtype, name=t.name.split(":")[0]), given)
    return tf.keras.Model(tf.nest.flatten(inputs), model(inputs, training=False))


def samples_of(model: Any, data: Representative) -> Iterator[Any]:
    """One sample after the other, as the converter takes them. It would take none for a model to leave in float32, and
    crash on infinite ones."""
    number = 0
    for sample in data() if callable(data) else of_arrays(model, data):
        if not is_finite(sample):
            raise TflfuseError(f"sample {number} of representative_dataset holds values that are no finite numbers")
        yield sample
        number += 1
    if number == 0:
        raise TflfuseError("representative_dataset gives no samples")


def of_arrays(model: Any, data: Any) -> Iterator[dict[str, Array]]:
    several = isinstance(data, (list, tuple)) and len(model.inputs) > 1
    arrays = [np.asarray(a) for a in (data if several else [data])]
    shapes = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    if [a.shape[1:] for a in arrays] != shapes or min(map(len, arrays)) == 0:
        raise TflfuseError(f"representative_dataset has arrays of {[list(a.shape) for a in arrays]}, "
                           f"the model takes samples of {[list(shape) for shape in shapes]}")
    for sample in zip(*arrays):
        yield {tensor.name: value[None].astype(tensor.dtype)
               for tensor, value in zip(model.inputs, sample, strict=True)}


def is_finite(sample: Any) -> bool:
    """All numbers of an array, or of arrays in lists and dictionaries."""
    if isinstance(sample, (dict, list, tuple)):
        return all(map(is_finite, sample.values() if isinstance(sample, dict) else sample))
    values = np.asarray(sample)
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def tensorflow() -> Any:
    """The module. Raises TflfuseError that says what to install."""
    try:
        import tensorflow
    except ImportError as error:
        raise TflfuseError(f"converting Keras models needs TensorFlow ({error}): pip install tflfuse[tf]") from error
    return tensorflow


def __getattr__(name: str) -> Any:
    """FuseOnTrainEnd is a Keras class, so it cannot be there before TensorFlow is."""
    if name != "FuseOnTrainEnd":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    tensorflow()
    from .keras_callback import FuseOnTrainEnd
    return FuseOnTrainEnd
