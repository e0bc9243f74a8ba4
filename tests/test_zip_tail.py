"""The archive of associated files behind a model is kept and still opens when the model changes its length."""
from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from tests.build import Build
from tests.object_api import difference, objects
from tflfuse import flatbuffer
from tflfuse.errors import BadModel
from tflfuse.ir import Tensor


def small() -> bytes:
    b = Build()
    x = b.input((2, 3))
    return b.bytes(b.op("MUL", [x, b.constant(np.arange(3, dtype=np.float32))], (2, 3)))


def archive(start: bytes = b"") -> bytes:
    file = io.BytesIO(start)
    with zipfile.ZipFile(file, "a") as z:
        z.writestr("labels.txt", "cat\ndog\n")
        z.writestr("more/notes.txt", "x" * 100, zipfile.ZIP_DEFLATED)
        z.comment = b"a comment"
    return file.getvalue()


@pytest.mark.parametrize("offsets", ["from the start of the file", "from the start of the archive"])
def test_a_zip_tail_is_kept_and_still_opens(offsets: str) -> None:
    plain = small()
    padded = plain + bytes(7)
    data = archive(padded) if offsets == "from the start of the file" else padded + archive()
    model = flatbuffer.read(data)
    assert model.tail[:4] == b"PK\x03\x04"
    assert difference(objects(plain), objects(flatbuffer.write(model))) == ""
    model.subgraphs[0].tensors[1].buffer.data = np.zeros(12, np.uint8)
    extra = Tensor.constant(np.zeros(1000, np.int8))
    model.subgraphs[0].tensors.append(extra)
    out = flatbuffer.write(model)
    assert len(out) > len(data)
    moved = out.index(b"PK\x03\x04")
    if offsets == "from the start of the file":  # zipfile would find its way without, other readers would not
        directory = struct.unpack_from("<L", out, out.rindex(b"PK\x05\x06") + 16)[0]
        assert out[directory:directory + 4] == b"PK\x01\x02"
        assert struct.unpack_from("<L", out, directory + 42)[0] == moved
        assert moved % 16 == len(padded) % 16  # stored files are as aligned as they were
    with zipfile.ZipFile(io.BytesIO(out)) as z:
        assert z.read("labels.txt") == b"cat\ndog\n" and z.read("more/notes.txt") == b"x" * 100
        assert z.testzip() is None and z.comment == b"a comment"
    assert flatbuffer.write(flatbuffer.read(out)) == out


def test_a_zip_tail_cut_short_is_told() -> None:
    data = archive(small())
    notes = flatbuffer.read(data[:-40]).notes
    assert len(notes) == 1 and notes[0].endswith("bytes behind the model, which no table refers to, are left out")


@pytest.mark.parametrize("signature", [b"PK\x01\x02", b"PK\x03\x04"])
def test_a_broken_zip_tail_is_refused(signature: bytes) -> None:
    data = bytearray(archive(small()))
    data[data.index(signature)] = 0
    with pytest.raises(BadModel, match="ZIP archive behind the model"):
        flatbuffer.read(bytes(data))
