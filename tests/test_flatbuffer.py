"""Bytes that nobody vouches for end in a model that holds together or in one BadModel, never in anything else."""
from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite
from ai_edge_litert import schema_py_generated as schema

from tests.build import Build
from tests.object_api import objects, packed
from tflfuse import flatbuffer, invariants, schema_tables
from tflfuse.errors import BadModel
from tflfuse.ir import Metadata, Table


def small() -> bytes:
    """A model with every structural table."""
    b = Build()
    x = b.input((1, 4, 4, 2), scale=0.5, zero_point=-3)
    w = b.constant(np.arange(3 * 2, dtype=np.int8).reshape(3, 1, 1, 2), scale=[0.25, 0.5, 0.75])
    y = b.conv(x, w, b.constant(np.array([1, -2, 3], np.int32)), scale=0.25, zero_point=7)
    z = b.op("RESHAPE", [y, b.constant(np.array([1, 48], np.int32))], (1, 48), scale=0.25,
             new_shape=np.array([1, 48], np.int32))
    b.add("CUSTOM:Mine", [z], []).custom_options = np.arange(5, dtype=np.uint8)
    model = b.model(z, signature=True)
    model.metadata = [Metadata(b"min_runtime_version", b.constant(np.arange(16, dtype=np.uint8)).buffer)]
    return flatbuffer.write(flatbuffer.read(flatbuffer.write(model)))


def outcome(data: bytes) -> str:
    """What happens to some bytes: "refused", or "accepted" where they can be written and read again."""
    try:
        model = flatbuffer.read(data)
        invariants.check(model)
    except BadModel as error:
        assert str(error) and "\n" not in str(error)
        return "refused"
    invariants.check(flatbuffer.read(flatbuffer.write(model)))
    return "accepted"


def test_a_model_cut_short_anywhere_is_refused() -> None:
    data = small()
    needed = len(data.rstrip(b"\0"))
    assert [n for n in range(needed) if outcome(data[:n]) != "refused"] == []
    assert flatbuffer.write(flatbuffer.read(data[:needed])) == data  # only padding is missing


def test_any_byte_may_be_wrong() -> None:
    data, rng = small(), np.random.default_rng(1)
    outcomes = []
    for _ in range(4000):
        broken = bytearray(data)
        broken[rng.integers(len(data))] ^= 1 << rng.integers(8)
        outcomes.append(outcome(bytes(broken)))
    assert min(outcomes.count("refused"), outcomes.count("accepted")) > 500


def test_any_offset_may_be_wrong() -> None:
    data, rng = small(), np.random.default_rng(2)
    values = [0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, len(data), len(data) - 4]
    outcomes = []
    for at in range(0, len(data) - 3, 2):
        for value in (*values, int(rng.integers(len(data)))):
            outcomes.append(outcome(data[:at] + struct.pack("<I", value) + data[at + 4:]))
    assert min(outcomes.count("refused"), outcomes.count("accepted")) > 500


@pytest.mark.parametrize("data", [Path("model.tflite"), "model.tflite", 10 ** 12, [1, 2]])
def test_a_path_is_not_taken_for_a_models_bytes(data: Any) -> None:
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        flatbuffer.read(data)


@pytest.mark.parametrize("data", [b"", b"TFL3", b"\0" * 8, b"\x08\0\0\0TFL3", b"PK\x05\x06" + bytes(18),
                                  b"\0\0\0\0TFL3" + bytes(100), b"\xff\xff\xff\xffTFL3" + bytes(100)])
def test_what_is_no_model_at_all_is_refused(data: bytes) -> None:
    assert outcome(data) == "refused"


def edited(change: Callable[[Any], None]) -> bytes:
    model = objects(small())
    change(model)
    return packed(model)


def setter(path: str, value: Any) -> Callable[[Any], None]:
    """Set one field of a ModelT: "subgraphs.0.operators.1.opcodeIndex"."""
    def change(model: Any) -> None:
        *way, last = path.split(".")
        for step in way:
            model = model[int(step)] if step.isdigit() else getattr(model, step)
        assert hasattr(model, last)
        setattr(model, last, value)
    return change


@pytest.mark.parametrize("path, value, message", [
    ("subgraphs.0.operators.0.inputs", [0, 99], r"operator #0 inputs refers to tensor 99; the model has \d+"),
    ("subgraphs.0.operators.0.inputs", [-2], r"operator #0 inputs refers to tensor -2"),
    ("subgraphs.0.operators.1.outputs", [-1], r"operator #1 outputs refers to tensor -1"),
    ("subgraphs.0.operators.1.intermediates", [77], r"operator #1 intermediates refers to tensor 77"),
    ("subgraphs.0.operators.1.opcodeIndex", 3, r"operator #1 refers to operator code 3; the model has 3"),
    ("subgraphs.0.inputs", [42], r"subgraph 0 inputs refers to tensor 42"),
    ("subgraphs.0.outputs", [-1], r"subgraph 0 outputs refers to tensor -1"),
    ("subgraphs.0.tensors.2.buffer", 50, r"subgraph 0 tensor 2 refers to buffer 50"),
    ("metadata.0.buffer", 50, r"metadata b'min_runtime_version' refers to buffer 50"),
    ("metadataBuffer", [50], r"metadata_buffer refers to buffer 50"),
    ("signatureDefs.0.subgraphIndex", 1, r"signature b'serving_default' refers to subgraph 1; the model has 1"),
    ("signatureDefs.0.inputs.0.tensorIndex", 31, r"signature b'serving_default' b'x0' refers to tensor 31"),
    ("version", 2, r"schema version 2; only 3 is known"),
    ("buffers.1.offset", 4096, r"buffer 1 lies behind the flatbuffer \(Buffer.offset"),
    ("buffers.1.size", 1, r"buffer 1 lies behind the flatbuffer \(Buffer.offset"),
    ("subgraphs.0.operators.2.largeCustomOptionsOffset", 9, r"operator #2 .*large_custom_options_offset"),
    ("subgraphs.0.tensors.1.externalBuffer", 1, r"Tensor has slot 10, which the tflite package does not know"),
    ("subgraphs.0.tensors.1.quantization.detailsType", 1, r"tensor 1 has a quantization details_type but no details"),
])
def test_a_field_that_cannot_be_is_named(path: str, value: Any, message: str) -> None:
    with pytest.raises(BadModel, match=message):
        flatbuffer.read(edited(setter(path, value)))


def test_external_buffers_are_refused_by_table_and_slot() -> None:
    with pytest.raises(BadModel, match="Model has slot 9, which the tflite package does not know: a newer schema"):
        flatbuffer.read(edited(setter("externalBuffers", [schema.ExternalBufferT()])))


def test_options_of_a_newer_schema_are_refused() -> None:
    def change(model: Any) -> None:
        operator = model.subgraphs[0].operators[0]
        operator.builtinOptions2 = schema.StablehloCaseOptionsT()
        operator.builtinOptions2Type = schema.BuiltinOptions2.StablehloCaseOptions
    with pytest.raises(BadModel, match=r"Operator.builtin_options2 at byte \d+ has type 23, which the tflite package"):
        flatbuffer.read(edited(change))


def test_a_deprecated_slot_is_left_out_with_a_note() -> None:
    assert "slot 3 of SignatureDef, which the schema deprecated, is left out" in flatbuffer.read(
        with_method_name()).notes
    assert flatbuffer.read(small()).notes == []


def with_method_name() -> bytes:
    """A file with one empty subgraph and a signature whose deprecated slot holds a string."""
    b = flatbuffers.Builder()
    text = b.CreateString("serve")
    tflite.SignatureDefStart(b)
    b.PrependUOffsetTRelativeSlot(3, text, 0)
    return finished(b, signature_defs=[tflite.SignatureDefEnd(b)], subgraphs=[subgraph(b)])


def subgraph(b: Any, tensors: int = 0) -> int:
    tflite.SubGraphStart(b)
    if tensors:
        tflite.SubGraphAddTensors(b, tensors)
    return int(tflite.SubGraphEnd(b))


def vector(b: Any, offsets: list[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def finished(b: Any, subgraphs: list[int], signature_defs: list[int]) -> bytes:
    tflite.BufferStart(b)
    buffers = vector(b, [tflite.BufferEnd(b)])
    graphs, signatures = vector(b, subgraphs), vector(b, signature_defs)
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddBuffers(b, buffers)
    tflite.ModelAddSubgraphs(b, graphs)
    tflite.ModelAddSignatureDefs(b, signatures)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output())


def test_tables_that_multiply_by_sharing_are_refused() -> None:
    b = flatbuffers.Builder()
    tflite.TensorStart(b)
    tensors = vector(b, [tflite.TensorEnd(b)] * 3000)
    data = finished(b, subgraphs=[subgraph(b, tensors)] * 3000, signature_defs=[])
    assert len(data) < 30_000
    with pytest.raises(BadModel, match="refer to each other so often"):
        flatbuffer.read(data)


def test_names_need_not_be_text() -> None:
    data = edited(setter("subgraphs.0.tensors.0.name", b"\xff\xfe"))
    model = flatbuffer.read(data)
    assert model.subgraphs[0].tensors[0].name == b"\xff\xfe"
    assert objects(flatbuffer.write(model)).subgraphs[0].tensors[0].name == b"\xff\xfe"


def test_constants_are_views_of_the_input() -> None:
    data = small()
    constants = [b.data for b in flatbuffer.read(data).buffers if b.data is not None]
    whole = np.frombuffer(data, np.uint8)
    assert constants and all(np.shares_memory(c, whole) for c in constants)


TABLES = sorted({name for enumeration in ("BuiltinOptions", "BuiltinOptions2")
                 for name in schema_tables.names_in(enumeration).values()} - {"NONE"})


def example(field: schema_tables.Field) -> Any:
    """A value of a field that is not its default."""
    if field.kind == "scalar":
        assert field.dtype is not None
        return not field.default if field.dtype.kind == "b" else field.dtype.type(field.default + 3).item()
    if field.kind == "string":
        return b"text"
    assert field.kind == "vector" and field.dtype is not None
    return np.array([1, 0, 1], "u1" if field.dtype.kind == "b" else field.dtype)


@pytest.mark.parametrize("kind", TABLES)
def test_every_options_table_keeps_every_field(kind: str) -> None:
    spec = schema_tables.spec(kind)
    table = Table.of(kind, **{field.name: example(field) for field in spec.fields})
    b = Build()
    x = b.input((2,))
    operator = b.add("ADD", [x, x], [])
    first = kind in schema_tables.names_in("BuiltinOptions").values()
    operator.options, operator.options_2 = (table, None) if first else (None, table)
    data = b.bytes(x)
    read = flatbuffer.read(data).subgraphs[0].operators[0]
    out = read.options if first else read.options_2
    assert out is not None and out.kind == kind and out.values.keys() == table.values.keys()
    for name, value in table.values.items():
        assert np.array_equal(out[name], value), name
    other = objects(data).subgraphs[0].operators[0]
    options = other.builtinOptions if first else other.builtinOptions2
    assert type(options).__name__ == kind + "T"
    seen = {schema_tables.snake_case(name[0].upper() + name[1:]): value for name, value in vars(options).items()}
    for name, value in table.values.items():
        assert np.array_equal(np.asarray(seen[name]), np.asarray(value)), name


def test_defaults_come_from_the_schema() -> None:
    assert len(TABLES) > 140
    assert schema_tables.spec("Conv2DOptions").defaults["dilation_h_factor"] == 1
    assert schema_tables.spec("SubGraph").defaults["debug_metadata_index"] == -1
    assert schema_tables.spec("AddOptions").defaults["pot_scale_int16"] is True
