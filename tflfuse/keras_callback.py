"""The callback that fuses a model when its training ends. Importing this imports TensorFlow: see tflfuse.keras."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from .files import check_places
from .keras import Representative, convert_keras, tensorflow
from .result import Result


class FuseOnTrainEnd(tensorflow().keras.callbacks.Callback):  # type: ignore[misc]
    """Writes the quantized and fused model to `path` when training ends, and prints what was done unless verbose=0.

    representative_dataset: as for tflfuse.convert_keras. result: None before the end. List it behind callbacks that
    change weights when training ends, such as EarlyStopping.
    """

    def __init__(self, path: Path | str, representative_dataset: Representative) -> None:
        super().__init__()
        self.path, self.representative_dataset = Path(path), representative_dataset
        self.result: Result | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Raises OSError where the file could not be written, before hours of training are spent on it."""
        check_places([self.path])

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self.result = convert_keras(self.model, self.representative_dataset)
        self.result.write(self.path)
        if self.params.get("verbose"):
            print(self.result.report.text())
