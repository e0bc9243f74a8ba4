"""Train a small MobileNetV2-like network, quantize and fuse it, and write what a firmware project needs.

    pip install '.[tflm,tf]'
    python examples/train_and_fuse.py build/stripes

It learns the direction of stripes in noise from images that it makes itself. The folder gets model.tflite, model.cc and
model.h, ops.h, and an Arduino sketch in stripes_sketch.
"""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

import tflfuse

SIZE, CLASSES = 32, 4


def stripes(count: int, seed: int) -> tuple[Any, Any]:
    """Images float32 [count, 32, 32, 1] from -1 to 1, and the class of each, int [count]."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count)
    angle = (labels * np.pi / CLASSES)[:, None, None]
    phase, period = random.uniform(0, 2 * np.pi, (count, 1, 1)), random.uniform(4, 9, (count, 1, 1))
    rows, columns = np.mgrid[:SIZE, :SIZE]
    wave = np.sin(2 * np.pi * (rows * np.sin(angle) + columns * np.cos(angle)) / period + phase)
    images = np.clip(0.3 * wave + random.normal(0, 0.7, wave.shape), -1, 1)
    return images[..., None].astype(np.float32), labels


def network() -> Any:
    """A stem, three inverted residual blocks, a mean and a dense layer."""
    x = image = keras.Input((SIZE, SIZE, 1), name="image")
    x = conv(x, 8, 3, strides=2)
    x = inverted_residual(x, 8, strides=1)
    x = inverted_residual(x, 16, strides=2)
    x = inverted_residual(x, 16, strides=1)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(CLASSES, activation="softmax", name="direction")(x))


def inverted_residual(x: Any, channels: int, strides: int) -> Any:
    y = conv(x, 4 * x.shape[-1], 1)
    y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
    y = layers.ReLU(6.0)(batch_norm()(y))
    y = batch_norm()(layers.Conv2D(channels, 1, use_bias=False)(y))
    return layers.Add()([x, y]) if x.shape == y.shape else y


def conv(x: Any, channels: int, size: int, strides: int = 1) -> Any:
    x = layers.Conv2D(channels, size, strides=strides, padding="same", use_bias=False)(x)
    return layers.ReLU(6.0)(batch_norm()(x))


def batch_norm() -> Any:
    """It learns the mean and variance in a few hundred steps, which is all there are here."""
    return layers.BatchNormalization(momentum=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train, quantize and fuse a small network.")
    parser.add_argument("folder", type=Path, help="where the results go")
    parser.add_argument("--images", type=int, default=3000, help="to train on (default 3000)")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)

    keras.utils.set_random_seed(1)
    x, y = stripes(arguments.images, seed=0)
    model = network()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=4, verbose=2)

    result = tflfuse.convert_keras(model, x[:200])
    print(result.report.text())
    unseen = stripes(300, seed=1)
    _, accuracy = model.evaluate(*unseen, verbose=0)
    print(f"accuracy before quantizing: {accuracy:.4f}")
    print(result.evaluate(*unseen))
    result.write(folder / "model.tflite", resolver=folder / "ops.h", c_array=folder / "model.cc",
                 sketch=folder / "stripes_sketch")


if __name__ == "__main__":
    main()
