"""Convert the Keras models of tests/keras_models.py into tests/data/*.tflite. Needs the extra `tf`."""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import keras_models  # noqa: E402
from tests.converted import DATA, FILES  # noqa: E402


def main() -> None:
    DATA.mkdir(exist_ok=True)
    for name, file in FILES.items():
        model = keras_models.build(file.model, file.shape, file.batch)
        data = keras_models.convert(model, keras_models.normal_samples(file.shape), file.numbers, file.per_channel)
        (DATA / f"{name}.tflite").write_bytes(data)
        print(f"{name}.tflite: {len(data)} bytes")


if __name__ == "__main__":
    main()
