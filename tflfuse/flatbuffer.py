"""bytes -> Model -> bytes. Numbers become objects here and objects become numbers; what nobody touched stays."""
from __future__ import annotations

from . import decode, encode, offline_plan, zip_tail
from .ir import Model
from .table_reader import TableReader
from .table_writer import TableWriter


def read(data: bytes) -> Model:
    """The model in the bytes of a .tflite file. Constants are views of `data`.

    Raises BadModel with one line that says what is wrong and where, TypeError for a path or whatever is no bytes.
    """
    data = data if isinstance(data, bytes) else bytes(memoryview(data))
    end = zip_tail.start_of(data)
    reader = TableReader(data, end)
    model = decode.model(reader.root())
    model.tail = data[end:]
    model.notes = reader.notes
    if data[reader.end:end].strip(b"\0"):
        model.notes.append(f"{end - reader.end} bytes behind the model, which no table refers to, are left out")
    offline_plan.take(model)
    return model


def write(model: Model) -> bytes:
    """The bytes of a .tflite file; the model is not changed. Tensors, buffers and codes it lacks are appended.

    Raises BadModel where the file would be larger than the format allows.
    """
    flatbuffer = TableWriter().write(encode.model(model))
    if not model.tail:
        return flatbuffer
    padding, tail = zip_tail.moved(model.tail, len(flatbuffer))
    return b"".join((flatbuffer, padding, tail))
