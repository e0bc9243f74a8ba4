"""Keras models whose files the TFLite converter leaves with operators that a fold can remove, or must not.

Each function builds one model from a seed; `convert` makes the bytes of a .tflite file of it. Only
`scripts/make_test_models.py` and the test that repeats the conversion need TensorFlow: the converted files are
committed in tests/data, and tests/converted.py tells which operators each of them has.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

Layer = Any  # Keras has no types


def bn_after_add(x: Layer) -> Layer:
    """A residual sum, batch norm, a 1x1 convolution: the batch norm can go into the convolution behind it."""
    y = layers.Conv2D(8, 3, padding="same")(x)
    y = layers.Add()([y, layers.Conv2D(8, 1)(x)])
    return layers.Conv2D(4, 1)(layers.BatchNormalization()(y))


def bn_after_add_relu(x: Layer) -> Layer:
    """A residual sum, batch norm, ReLU: no operator beside the batch norm can hold it."""
    y = layers.Conv2D(8, 3, padding="same")(x)
    y = layers.Add()([y, layers.Conv2D(8, 1)(x)])
    return layers.Conv2D(4, 1)(layers.ReLU()(layers.BatchNormalization()(y)))


def preactivation(x: Layer) -> Layer:
    """Two residual blocks with batch norm and ReLU in front: the values before them have two readers."""
    x = layers.Conv2D(8, 3, padding="same")(x)
    for _ in range(2):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Add()([x, layers.Conv2D(8, 3, padding="same")(y)])
    return layers.Dense(4)(layers.GlobalAveragePooling2D()(x))


def bn_after_leaky_relu(x: Layer) -> Layer:
    y = layers.LeakyReLU(negative_slope=0.1)(layers.Conv2D(8, 3, padding="same")(x))
    return layers.Conv2D(4, 1)(layers.BatchNormalization()(y))


def bn_after_max_pool(x: Layer) -> Layer:
    y = layers.MaxPooling2D(2)(layers.Conv2D(8, 3, padding="same")(x))
    return layers.Conv2D(4, 3)(layers.BatchNormalization()(y))


def bn_after_average_pool(x: Layer) -> Layer:
    y = layers.AveragePooling2D(2)(layers.Conv2D(8, 3, padding="same")(x))
    return layers.Conv2D(4, 3)(layers.BatchNormalization()(y))


def bn_after_mean(x: Layer) -> Layer:
    """The dense layer has no bias: into one with a bias the converter folds the batch norm itself."""
    y = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3)(x))
    return layers.Dense(4, use_bias=False)(layers.BatchNormalization()(y))


def bn_after_dense_relu(x: Layer) -> Layer:
    y = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    return layers.Dense(4, use_bias=False)(layers.BatchNormalization()(y))


def bn_after_flatten(x: Layer) -> Layer:
    """A batch norm over positions and channels at once: its constants are one for each input of the dense layer."""
    y = layers.Flatten()(layers.Conv2D(8, 3, activation="relu")(x))
    return layers.Dense(4, use_bias=False)(layers.BatchNormalization()(y))


def bn_before_same_conv(x: Layer) -> Layer:
    """The border of the convolution is zero after the batch norm, so it must not be folded forward."""
    return layers.Conv2D(8, 3, padding="same")(layers.BatchNormalization()(x))


def bn_before_valid_conv(x: Layer) -> Layer:
    return layers.Conv2D(8, 3)(layers.BatchNormalization()(x))


def bn_before_depthwise(x: Layer) -> Layer:
    y = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(4, 1)(x))
    return layers.DepthwiseConv2D(3)(layers.BatchNormalization()(y))


def bn_after_concat(x: Layer) -> Layer:
    y = layers.Concatenate()([layers.Conv2D(8, 3, padding="same")(x), layers.MaxPooling2D(3, 1, padding="same")(x)])
    return layers.Conv2D(4, 1)(layers.BatchNormalization()(y))


def normalization(x: Layer) -> Layer:
    """Keras' input normalization: a SUB and a MUL by constants of shape [1, 1, 1, C]."""
    y = layers.Normalization(mean=[0.1, 0.2, 0.3, 0.4], variance=[1.0, 2.0, 3.0, 4.0])(x)
    return layers.Conv2D(8, 3)(y)


def conv_bn_relu6(x: Layer) -> Layer:
    """What the converter does itself: nothing is left to do."""
    y = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    return layers.ReLU(6.0)(layers.BatchNormalization()(y))


def dilated(x: Layer) -> Layer:
    """With an open batch a dilated convolution stands between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""
    y = layers.Conv2D(8, 3, dilation_rate=2, padding="same")(x)
    return layers.ReLU()(layers.BatchNormalization()(y))


def relu_then_relu6(x: Layer) -> Layer:
    y = layers.ReLU(6.0)(layers.ReLU()(layers.Conv2D(8, 3)(x)))
    return layers.Conv2D(4, 1)(y)


def relu_to_one(x: Layer) -> Layer:
    """Keras' ReLU(max_value=1): a RELU, a MINIMUM with a constant and one more RELU."""
    return layers.Conv2D(4, 1)(layers.ReLU(1.0)(layers.Conv2D(8, 3)(x)))


def relu_beside_add(x: Layer) -> Layer:
    """The convolution's output is read by the RELU6 and by the sum."""
    y = layers.Conv2D(8, 3, padding="same")(x)
    return layers.Conv2D(4, 1)(layers.ReLU(6.0)(layers.Add()([y, layers.ReLU(6.0)(y)])))


def relu_after_concat(x: Layer) -> Layer:
    y = layers.Concatenate()([layers.Conv2D(8, 3)(x), layers.Conv2D(4, 3)(x)])
    return layers.Conv2D(4, 1)(layers.ReLU()(y))


def relu_after_mean(x: Layer) -> Layer:
    return layers.Dense(4)(layers.ReLU()(layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3)(x))))


def padding_layer(x: Layer) -> Layer:
    """A symmetric padding of 1 before a 3x3 convolution at stride 2 is not what SAME means on an even input."""
    y = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(4, 1)(x))
    return layers.Conv2D(8, 3, strides=2)(layers.ZeroPadding2D(1)(y))


def flatten_relu(x: Layer) -> Layer:
    """With an open batch the convolution's output is read by the RELU and by the shape arithmetic."""
    return layers.Dense(4)(layers.ReLU()(layers.Flatten()(layers.Conv2D(8, 3)(x))))


def conv1d_stack(x: Layer) -> Layer:
    """EXPAND_DIMS, RESHAPE and an activation between every two convolutions."""
    for _ in range(2):
        x = layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization()(layers.Conv1D(8, 3)(x)))
    return layers.Dense(4)(layers.Flatten()(x))


def transposed_conv(x: Layer) -> Layer:
    y = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(x)
    return layers.ReLU()(layers.BatchNormalization()(y))


def squeeze_excite(x: Layer) -> Layer:
    """A MUL of two computed values, the smaller one broadcast: no batch norm."""
    y = layers.Conv2D(8, 3, activation="relu")(x)
    s = layers.Reshape((1, 1, 8))(layers.GlobalAveragePooling2D()(y))
    s = layers.Conv2D(8, 1, activation="sigmoid")(layers.Conv2D(2, 1, activation="relu")(s))
    return layers.Conv2D(4, 1)(layers.Multiply()([y, s]))


def dense_on_planes(x: Layer) -> Layer:
    """With an open batch the converter writes [1, 1] where [64, 4] is meant, and TFLM cannot run the file."""
    return layers.Dense(4)(layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization()(layers.Dense(8)(x))))


def build(name: str, shape: tuple[int, ...], batch: int | None) -> Any:
    """One of the models above, with biases and batch norms as training would leave them; the same at every call.

    shape: of the input, without the batch. batch: None leaves it open, as Keras does by default.
    """
    keras.utils.set_random_seed(7)
    x = keras.Input(shape, batch_size=batch)
    model = keras.Model(x, globals()[name](x))
    random = np.random.default_rng(3)
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            channels = layer.gamma.shape[0]
            layer.set_weights([random.uniform(0.5, 1.5, channels), random.normal(0, 0.3, channels),
                               random.normal(0, 0.3, channels), random.uniform(0.5, 1.5, channels)])
        elif getattr(layer, "bias", None) is not None:
            layer.bias.assign(random.normal(0, 0.2, layer.bias.shape))
    return model


def normal_samples(shape: tuple[int, ...]) -> Iterator[Any]:
    """64 float32 inputs for calibration, the same at every call."""
    random = np.random.default_rng(1)
    for _ in range(64):
        yield random.normal(0, 1, (1, *shape)).astype(np.float32)


def convert(model: Any, samples: Iterator[Any], numbers: str = "int8", per_channel: bool = True) -> bytes:
    """A .tflite file of a Keras model of one input.

    samples: float32 [1, ...], for calibration. numbers: "int8" and "int16x8" quantize everything, inputs and outputs
    too; "float32" nothing.
    """
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if numbers != "float32":
        operators, io = {
            "int8": (tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.int8),
            "int16x8": (tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8, tf.int16),
        }[numbers]
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([sample] for sample in samples)
        converter.target_spec.supported_ops = [operators]
        converter.inference_input_type = converter.inference_output_type = io
        converter._experimental_disable_per_channel = not per_channel
    return bytes(converter.convert())
