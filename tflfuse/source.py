"""The bytes of a model that is read from a file, which may be anything."""
from __future__ import annotations

from pathlib import Path

from .errors import TflfuseError

MOST = (1 << 31) - 1
"""Bytes. No flatbuffer is longer."""


def model_bytes(path: Path, most: int = MOST) -> bytes:
    """All of it. Raises TflfuseError for a folder and for what goes on after `most` bytes, as a device; and OSError."""
    if path.is_dir():
        raise TflfuseError("a folder; IN/*.tflite -o OUT/ takes each file in it")
    with path.open("rb") as file:
        data = file.read(most)
        if file.read(1):
            raise TflfuseError(f"no .tflite file has more than {most:,} bytes")
    return data
