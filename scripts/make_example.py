"""Train and convert examples/residual_net.tflite, the model that scripts/demo fuses. Needs the extra `tf`.

A small residual network tells the direction of stripes in noise (32x32 RGB, four classes). Its batch norms stand
where the TFLite converter leaves them as MUL and ADD, and its batch is open, as Keras leaves it by default.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from tests.keras_models import convert  # noqa: E402

SIZE, CLASSES = 32, 4


def stripes(count: int, seed: int) -> tuple[Any, Any]:
    """Images float32 [count, 32, 32, 3] from 0 to 255, and the class of each, int [count]."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count)
    angle = (labels * np.pi / CLASSES)[:, None, None]
    phase, period = random.uniform(0, 2 * np.pi, (count, 1, 1)), random.uniform(4, 9, (count, 1, 1))
    rows, columns = np.mgrid[:SIZE, :SIZE]
    wave = np.sin(2 * np.pi * (rows * np.sin(angle) + columns * np.cos(angle)) / period + phase)
    color = random.uniform(20, 60, (count, 1, 1, 3))
    images = 128 + wave[..., None] * color + random.normal(0, 40, (count, SIZE, SIZE, 3))
    return np.clip(images, 0, 255).astype(np.float32), labels


def residual_net() -> Any:
    x = image = keras.Input((SIZE, SIZE, 3))
    x = layers.Normalization(mean=[128.0, 128.0, 128.0], variance=[3600.0, 3400.0, 3200.0])(x)

    x = layers.Conv2D(16, 3, activation="relu")(x)
    x = layers.BatchNormalization()(x)                      # goes into the depthwise convolution behind it
    x = layers.DepthwiseConv2D(3, strides=2)(x)
    x = conv_bn_relu(x, 16, 1)

    y = conv_bn_relu(x, 16, 3)
    y = layers.Conv2D(16, 3, padding="same")(y)
    x = layers.LeakyReLU(negative_slope=0.1)(layers.Add()([x, y]))
    x = layers.BatchNormalization()(x)                      # goes there too, as far as int8 weights can hold it
    x = layers.Conv2D(32, 1)(x)

    x = layers.MaxPooling2D(2)(x)
    y = layers.BatchNormalization()(x)                      # stays: its convolution pads with zeros
    y = layers.Conv2D(32, 3, padding="same")(y)
    x = layers.Add()([x, y])
    x = layers.ReLU()(layers.BatchNormalization()(x))       # stays: a sum has no weights to hold it

    x = layers.AveragePooling2D(2)(x)
    x = layers.Dense(32, activation="relu")(layers.Flatten()(x))
    return keras.Model(image, layers.Dense(CLASSES, activation="softmax")(x))


def conv_bn_relu(x: Any, channels: int, size: int) -> Any:
    """What the converter fuses itself."""
    x = layers.Conv2D(channels, size, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def calibration() -> Iterator[Any]:
    images, _ = stripes(200, seed=2)
    return (image[None] for image in images)


def main() -> None:
    keras.utils.set_random_seed(1)
    model = residual_net()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(*stripes(3000, seed=0), batch_size=32, epochs=4, verbose=2)
    _, accuracy = model.evaluate(*stripes(1000, seed=1), verbose=0)
    data = convert(model, calibration())
    path = PROJECT / "examples" / "residual_net.tflite"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    print(f"{path}: {len(data)} bytes, accuracy of the float model {accuracy:.3f}")


if __name__ == "__main__":
    main()
