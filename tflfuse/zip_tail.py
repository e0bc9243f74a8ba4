"""The ZIP archive of associated files (labels, metadata) that may stand behind the flatbuffer."""
from __future__ import annotations

import struct

from .errors import BadModel

_END = struct.Struct("<4s4H2LH")
_ENTRY_SIGNATURE = b"PK\x01\x02"
_ENTRY_HEADER = 46
_OFFSET_IN_ENTRY = 42
_OFFSET_IN_END = 16
_LONGEST_COMMENT = 0xFFFF


def start_of(data: bytes) -> int:
    """Where the archive starts: the length of the file where there is none.

    Raises BadModel where an archive ends the file but cannot be understood.
    """
    window = data[-(_END.size + _LONGEST_COMMENT):]
    at = window.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > len(window):
        return len(data)
    comment = _END.unpack_from(window, at)[7]
    if at + _END.size + comment != len(window):
        return len(data)  # constant data that happen to look like the record
    end = len(data) - len(window) + at
    base, directory, entries = _directory(data, end)
    starts = [offset + base for offset, _ in entries]
    start = min([*starts, directory])
    if start < 0 or any(data[s:s + 4] != b"PK\x03\x04" for s in starts):
        raise BadModel("the ZIP archive behind the model is broken: an entry does not lie where it should")
    return start


def moved(tail: bytes, length: int) -> tuple[bytes, bytes]:
    """The padding that goes in front of the archive and the archive itself, for a flatbuffer of some length.

    The offsets in an archive are counted from the start of the file (`zip -A`, zipfile's append mode) or from its
    own start; the former are shifted. The padding keeps stored entries as aligned as they were.
    """
    if not tail:
        return b"", tail
    end = tail.rindex(b"PK\x05\x06")
    base, _, entries = _directory(tail, end)
    if base == 0:
        return b"", tail
    padding = bytes((-base - length) % 16)
    return padding, _shifted(tail, end, entries, length + len(padding) + base)


def from_its_start(tail: bytes) -> bytes:
    """The archive with offsets that are counted from there, whatever the length of the model in front of it."""
    if not tail:
        return tail
    end = tail.rindex(b"PK\x05\x06")
    base, _, entries = _directory(tail, end)
    return _shifted(tail, end, entries, base)


def _shifted(tail: bytes, end: int, entries: list[tuple[int, int]], shift: int) -> bytes:
    """An archive whose directory ends at `end`, all its offsets increased."""
    out = bytearray(tail)
    for offset, entry in entries:
        struct.pack_into("<L", out, entry + _OFFSET_IN_ENTRY, offset + shift)
    struct.pack_into("<L", out, end + _OFFSET_IN_END, _END.unpack_from(tail, end)[6] + shift)
    return bytes(out)


def _directory(data: bytes, end: int) -> tuple[int, int, list[tuple[int, int]]]:
    """(what to add to the archive's offsets, where its directory starts, [(an entry's offset, where it is listed)])."""
    _, disk, first, here, total, size, offset, _ = _END.unpack_from(data, end)
    directory = end - size
    if disk or first or here != total or 0xFFFF in (here, total) or 0xFFFFFFFF in (size, offset) or directory < 0:
        raise BadModel("the ZIP archive behind the model is of a kind that is not supported (ZIP64 or several disks)")
    entries = []
    at = directory
    for _ in range(total):
        if data[at:at + 4] != _ENTRY_SIGNATURE or at + _ENTRY_HEADER > end:
            raise BadModel("the ZIP archive behind the model has a broken directory")
        name, extra, comment = struct.unpack_from("<3H", data, at + 28)
        entries.append((struct.unpack_from("<L", data, at + _OFFSET_IN_ENTRY)[0], at))
        at += _ENTRY_HEADER + name + extra + comment
    if at != end:
        raise BadModel("the ZIP archive behind the model has a broken directory")
    return directory - offset, directory, entries
