"""What a firmware project compiles: the resolver, the model as an array, a sketch."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import c_array, flatbuffer, memory, resolver, sketch
from .arena import needs
from .errors import Refused, TflfuseError

CPP = (".cc", ".cpp", ".cxx")


@dataclass(frozen=True)
class Firmware:
    """contents: of each file, in the order asked for; a path may be there twice. folders: to be made where they are
    missing. notes: what a user should know.
    """

    contents: list[tuple[Path, bytes]]
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def places(ops: Path | None = None, array: Path | None = None, sketch_folder: Path | None = None) -> list[Path]:
    """The files that `firmware` would write, known before there is a model. Raises TflfuseError for a bad name."""
    found = [] if ops is None else [ops]
    if array is not None:
        found += array_places(array)
    if sketch_folder is not None:
        found += [*array_places(sketch_folder / "model.cpp"), sketch_folder / "ops.h"]
        main = sketch.main_file(sketch_folder)
        found += [] if main.exists() else [main]
    return found


def firmware(model: bytes, source: str, ops: Path | None = None, array: Path | None = None,
             sketch_folder: Path | None = None) -> Firmware:
    """The files that were asked for. Writes nothing.

    model: a .tflite file. source: its name, for the files' first lines. ops: where the resolver goes. array: where the
    array goes, beside it its header. sketch_folder: of an Arduino sketch; one that it has is kept.
    Raises TflfuseError where TFLM's resolver lacks an operator, or where the arena's size is asked for and not known.
    """
    source = "".join(c if c.isprintable() else "?" for c in source).rstrip("\\")
    contents: list[tuple[Path, str]] = []
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    if ops is not None:
        contents.append((ops, resolver.header(flatbuffer.read(model), ops.name, source)))
    if array is not None:
        contents += array_files(model, source, array)
    if sketch_folder is not None:
        main = sketch.main_file(sketch_folder)
        folders = (sketch_folder,)
        if main.exists():
            notes = (f"{main} was there and is kept; the files beside it are new",)
        else:
            contents.append((main, sketch.TEXT))
        contents += array_files(model, source, sketch_folder / "model.cpp")
        calls = resolver.header(flatbuffer.read(model), "ops.h", source, sketch.FUSED_OPS)
        contents.append((sketch_folder / "ops.h", calls))
    return Firmware([(path, text.encode()) for path, text in contents], folders, notes)


def array_places(path: Path) -> tuple[Path, Path]:
    """The array and its header."""
    if path.suffix not in CPP:
        raise TflfuseError(f"--c-array: {path.name} does not end in {', '.join(CPP[:-1])} or {CPP[-1]}")
    if not path.name.isprintable() or not {'"', "\\"}.isdisjoint(path.name):
        raise TflfuseError(f"--c-array: no #include could name the header of '{path.name}'")
    return path, path.with_suffix(".h")


def array_files(model: bytes, source: str, path: Path) -> list[tuple[Path, str]]:
    """What they hold."""
    path, header = array_places(path)
    return [(path, c_array.source(path.name, model, source)),
            (header, c_array.header(path.name, len(model), arena_size(model), source))]


def arena_size(model: bytes) -> int:
    """kTensorArenaSize for 32-bit targets, in bytes. Raises TflfuseError where the sizes of tensors are not known."""
    graph = flatbuffer.read(model)
    try:
        return needs(graph, memory.of_file(graph)).device
    except Refused as refused:
        raise TflfuseError(f"the arena's size is not known: {refused}") from refused
