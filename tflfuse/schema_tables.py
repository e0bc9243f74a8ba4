"""What the generated `tflite` modules know about every table: slots, kinds and defaults, asked from the code itself.

The modules' own functions are called with a stand-in for the builder that records the calls, so no copy of the
schema is kept here. Only which enumeration names the members of a union is not in the generated code.
"""
from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flatbuffers import number_types

UNION_OF = {
    ("Operator", "BuiltinOptions"): "BuiltinOptions",
    ("Operator", "BuiltinOptions2"): "BuiltinOptions2",
    ("QuantizationParameters", "Details"): "QuantizationDetails",
    ("DimensionMetadata", "ArraySegments"): "SparseIndexVector",
    ("DimensionMetadata", "ArrayIndices"): "SparseIndexVector",
}
"""Which enumeration names the tables that a union field may hold."""


@dataclass(frozen=True)
class Field:
    """One field of a table.

    kind: "scalar", "string", "vector" (of scalars), "tables" (a vector of them), "table" or "union".
    width: bytes in the table itself. dtype: of a scalar or of a vector's elements. default: of a scalar.
    prepend: the builder's method for a scalar. table: the name of the table(s). members: a union's tables by code.
    """

    owner: str
    name: str
    slot: int
    kind: str
    width: int = 4
    dtype: np.dtype[Any] | None = None
    default: Any = None
    unpack_from: Callable[[Any, int], tuple[Any]] | None = None
    prepend: str = ""
    table: str = ""
    members: Mapping[int, str] | None = None

    @property
    def label(self) -> str:
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True)
class Spec:
    """A table. slots: how many the schema has, deprecated ones (which have no field) included."""

    kind: str
    slots: int
    fields: tuple[Field, ...]
    by_slot: Mapping[int, Field]
    defaults: Mapping[str, Any]
    scalars: tuple[Field, ...]
    references: tuple[Field, ...]


class _Recorder:
    """Stands in for the builder and keeps the last call."""

    def __init__(self) -> None:
        self.method = ""
        self.arguments: tuple[Any, ...] = ()

    def __getattr__(self, method: str) -> Callable[..., int]:
        def record(*arguments: Any) -> int:
            self.method, self.arguments = method, arguments
            return 0
        return record


def snake_case(name: str) -> str:
    """StrideW -> stride_w, DilationWFactor -> dilation_w_factor, BuiltinOptions2 -> builtin_options2."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@functools.cache
def names_in(enumeration: str) -> Mapping[int, str]:
    """The names of an enumeration of the schema by their values."""
    values = vars(getattr(importlib.import_module(f"tflite.{enumeration}"), enumeration))
    return {code: name for name, code in values.items() if not name.startswith("_")}


@functools.cache
def spec(kind: str) -> Spec:
    """The fields of the table with this name in the schema."""
    module = importlib.import_module(f"tflite.{kind}")
    recorder = _Recorder()
    getattr(module, f"{kind}Start")(recorder)
    slots = int(recorder.arguments[0])
    adders = [name[len(kind) + 3:] for name in vars(module) if name.startswith(f"{kind}Add")]
    fields = tuple(_field(module, kind, name) for name in adders)
    scalars = tuple(sorted((f for f in fields if f.kind == "scalar"), key=lambda f: (-f.width, f.slot)))
    return Spec(kind, slots, fields, {f.slot: f for f in fields}, {f.name: f.default for f in fields}, scalars,
                tuple(f for f in fields if f.kind != "scalar"))


def _field(module: Any, kind: str, name: str) -> Field:
    recorder = _Recorder()
    getattr(module, f"{kind}Add{name}")(recorder, 1)
    slot, _, default = recorder.arguments
    accessor = getattr(getattr(module, kind), name)
    if recorder.method != "PrependUOffsetTRelativeSlot":
        flags = getattr(number_types, recorder.method[len("Prepend"):-len("Slot")] + "Flags")
        if flags is number_types.BoolFlags:
            default = bool(default)
        return Field(kind, snake_case(name), slot, "scalar", flags.bytewidth, _dtype(flags), default,
                     flags.packer_type.unpack_from, recorder.method)
    called = accessor.__code__.co_names
    table = next((n[len("tflite."):] for n in called if n.startswith("tflite.")), "")
    if (kind, name) in UNION_OF:
        return Field(kind, snake_case(name), slot, "union", members=names_in(UNION_OF[kind, name]))
    if table:
        return Field(kind, snake_case(name), slot, "tables" if "Vector" in called else "table", table=table)
    if "String" in called and "Vector" not in called:
        return Field(kind, snake_case(name), slot, "string")
    element = next((n for n in called if n.endswith("Flags") and n != "UOffsetTFlags"), None)
    if "Vector" not in called or element is None:
        raise NotImplementedError(f"the kind of field {kind}.{name} of the tflite package is not known here")
    return Field(kind, snake_case(name), slot, "vector", dtype=_dtype(getattr(number_types, element)))


def _dtype(flags: Any) -> np.dtype[Any]:
    code: str = flags.packer_type.format
    return np.dtype(code.replace("<?", "?"))
