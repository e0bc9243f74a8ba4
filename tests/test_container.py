"""What no rule touched comes out as it went in, and lies where kernels can load it."""
from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite
from ai_edge_litert import schema_py_generated as schema

from tests.build import Build
from tests.object_api import difference, objects, packed
from tflfuse import flatbuffer, invariants, table_writer
from tflfuse.errors import BadModel
from tflfuse.ir import (NAME_OF_BUILTIN, Buffer, Metadata, Model, Operator, OperatorCode, Quantization, Signature,
                        Subgraph, Table, Tensor)

MODELS = os.environ.get("TFLFUSE_MODELS")
FILES = sorted(Path(MODELS).rglob("*.tflite")) if MODELS else []
WHOLE = [path for path in FILES if "BROKEN" not in path.name]
BROKEN = [path for path in FILES if "BROKEN" in path.name]
needs_models = pytest.mark.skipif(not MODELS, reason="TFLFUSE_MODELS names no folder of real models")


def rewritten(data: bytes) -> bytes:
    model = flatbuffer.read(data)
    invariants.check(model)
    return flatbuffer.write(model)


def vector_position(table: Any, slot: int) -> int | None:
    """Where the elements of a vector start in the file."""
    offset = table._tab.Offset(4 + 2 * slot)
    return None if offset == 0 else int(table._tab.Vector(offset))


def misaligned(data: bytes) -> list[str]:
    """Every constant and custom option not at a multiple of 16, and every int64 vector not at a multiple of 8."""
    model = tflite.Model.GetRootAs(data)
    found = [(f"buffer {i}", vector_position(model.Buffers(i), 0), 16) for i in range(model.BuffersLength())]
    for g in range(model.SubgraphsLength()):
        graph = model.Subgraphs(g)
        for i in range(graph.OperatorsLength()):
            found.append((f"operator {i}", vector_position(graph.Operators(i), 5), 16))
        for i in range(graph.TensorsLength()):
            if graph.Tensors(i).Quantization() is not None:
                found.append((f"zero points {i}", vector_position(graph.Tensors(i).Quantization(), 3), 8))
    return [f"{what} at {place}" for what, place, width in found if place is not None and place % width]


def small() -> tuple[Build, Tensor]:
    b = Build()
    x = b.input((1, 4, 4, 2), scale=2.635963e-7, zero_point=-3)
    w = b.constant(np.arange(3 * 2, dtype=np.int8).reshape(3, 1, 1, 2), scale=[1 / 256, 1 / 3, 2.635963e-7])
    bias = b.constant(np.array([1, -2, 3], np.int32), scale=[1e-9, 2e-9, 3e-9])
    return b, b.conv(x, w, bias, scale=0.25, zero_point=7, activation="RELU6")


@needs_models
@pytest.mark.parametrize("path", WHOLE, ids=lambda p: p.stem)
def test_a_real_model_comes_out_as_it_went_in(path: Path) -> None:
    data = path.read_bytes()
    out = rewritten(data)
    assert difference(objects(data), objects(out)) == ""
    assert misaligned(out) == []
    assert rewritten(out) == out


@needs_models
@pytest.mark.parametrize("path", BROKEN, ids=lambda p: p.stem)
def test_a_broken_file_is_refused(path: Path) -> None:
    with pytest.raises(BadModel, match="TFL3|no subgraphs"):
        rewritten(path.read_bytes())


def test_scales_keep_their_bits() -> None:
    b, y = small()
    out = objects(b.bytes(y))
    assert out.subgraphs[0].tensors[1].quantization.scale.tobytes() == struct.pack("<3f", 1 / 256, 1 / 3, 2.635963e-7)
    assert out.subgraphs[0].tensors[0].quantization.scale.tobytes() == struct.pack("<f", 2.635963e-7)


def test_a_model_of_every_kind_of_field_comes_out_as_it_went_in() -> None:
    """Fields that no real model at hand uses, made by the other library."""
    b, y = small()
    model = objects(b.bytes(y))
    graph = model.subgraphs[0]
    tensor, operator = graph.tensors[0], graph.operators[0]
    tensor.shapeSignature, tensor.hasRank = [-1, 4, 4, 2], True
    variant = schema.VariantSubTypeT()
    variant.shape, variant.type, variant.hasRank = [1, 2], 2, True
    tensor.variantTensors = [variant]
    tensor.quantization.min, tensor.quantization.max = [-1.5], [float("inf")]
    custom = schema.CustomQuantizationT()
    custom.custom = [1, 2, 3]
    graph.tensors[2].quantization.details = custom
    graph.tensors[2].quantization.detailsType = schema.QuantizationDetails.CustomQuantization
    operator.mutatingVariableInputs, operator.intermediates = [True, False, True], [0]
    operator.debugMetadataIndex, graph.debugMetadataIndex = 5, 6
    operator.customOptions, operator.customOptionsFormat = [9] * 5, 0
    options = schema.StablehloConvolutionOptionsT()
    options.windowStrides, options.windowReversal, options.featureGroupCount = [2, 3], [True, False], 2 ** 40
    operator.builtinOptions2 = options
    operator.builtinOptions2Type = schema.BuiltinOptions2.StablehloConvolutionOptions
    fake = schema.FakeQuantOptionsT()
    fake.min, fake.max, fake.numBits = -1.5, float("nan"), -7
    operator.builtinOptions, operator.builtinOptionsType = fake, schema.BuiltinOptions.FakeQuantOptions
    code = model.operatorCodes[operator.opcodeIndex]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.FAKE_QUANT
    model.description, model.metadataBuffer = b"\xff\xfe not UTF-8", [0, 1]
    graph.name = b""
    data = packed(model)
    out = rewritten(data)
    assert difference(objects(data), objects(out)) == ""
    assert misaligned(out) == []


def test_a_negative_zero_is_not_the_default() -> None:
    b, y = small()
    b.operators[0].options = Table.of("FakeQuantOptions", min=-0.0, max=0.0)
    b.operators[0].code = OperatorCode.of("FAKE_QUANT")
    read = flatbuffer.read(b.bytes(y)).subgraphs[0].operators[0]
    assert np.signbit(read.option("min")) and not np.signbit(read.option("max"))


@pytest.mark.parametrize("value", [None, []], ids=["absent", "empty"])
def test_absent_vectors_stay_absent_and_empty_ones_empty(value: Any) -> None:
    b, y = small()
    model = objects(b.bytes(y))
    model.metadata = model.metadataBuffer = model.signatureDefs = value
    model.subgraphs.append(schema.SubGraphT())
    model.subgraphs[1].inputs = model.subgraphs[1].outputs = value
    model.subgraphs[1].operators = model.subgraphs[1].tensors = value
    model.subgraphs[0].operators[0].intermediates = model.subgraphs[0].tensors[3].shape = value
    data = packed(model)
    assert difference(objects(data), objects(rewritten(data))) == ""


def test_options_of_which_only_the_type_is_in_the_file() -> None:
    b, y = small()
    model = objects(b.bytes(y))
    model.subgraphs[0].operators[0].builtinOptions = None
    data = packed(model)
    read = flatbuffer.read(data)
    conv = read.subgraphs[0].operators[0]
    assert conv.options is not None and conv.options["dilation_w_factor"] == 1
    assert difference(objects(data), objects(flatbuffer.write(read))) == ""
    conv.options = conv.options.with_(fused_activation_function=1)
    assert objects(flatbuffer.write(read)).subgraphs[0].operators[0].builtinOptions.fusedActivationFunction == 1


def test_data_of_odd_lengths_are_aligned() -> None:
    b, y = small()
    for length in (1, 3, 17, 33):
        b.constant(np.arange(length, dtype=np.uint8))
        b.constant(np.arange(length, dtype=np.float64))
    b.add("CUSTOM:odd", [y], []).custom_options = np.arange(5, dtype=np.uint8)
    b.add("CUSTOM:more", [y], []).custom_options = np.arange(21, dtype=np.uint8)
    data = b.bytes(y)
    assert misaligned(data) == []
    assert misaligned(packed(objects(data))) != []  # the other library's writer, to see that this test can fail
    out = objects(data)
    assert [list(o.customOptions) for o in out.subgraphs[0].operators[1:]] == [list(range(5)), list(range(21))]
    assert out.buffers[-1].data.view("<f8").tolist() == list(range(33))


def test_operator_codes_keep_their_spelling() -> None:
    b, y = small()
    b.op("RELU", [y], y.shape)
    model = b.model(y)
    spelled = [OperatorCode(0, 3, 2), OperatorCode(19, 0), OperatorCode(150, 127), OperatorCode(32, 32, 1, b"a"),
               OperatorCode(32, 32, 1, b"b"), OperatorCode(3, 3, 1)]
    model.operator_codes = spelled
    model.subgraphs[0].operators[0].code, model.subgraphs[0].operators[1].code = spelled[0], spelled[2]
    out = flatbuffer.read(flatbuffer.write(model))
    assert [vars(code) for code in out.operator_codes] == [vars(code) for code in spelled]
    assert [o.name for o in out.operators] == ["CONV_2D", NAME_OF_BUILTIN[150]]
    assert out.subgraphs[0].operators[1].code is out.operator_codes[2]


def test_two_signatures_follow_their_tensors() -> None:
    b, y = small()
    z = b.op("RELU", [y], y.shape, scale=0.25)
    model = b.model(z)
    x = b.inputs[0]
    model.signatures = [Signature(b"a", [(b"in", x)], [(b"out", z), (b"mid", y)]), Signature(None, [(None, x)], [])]
    model.subgraphs[0].tensors.remove(b.tensors[1])
    model.subgraphs[0].tensors.remove(b.tensors[1])
    model.subgraphs[0].operators[0].inputs[1:] = []
    model = flatbuffer.read(flatbuffer.write(model))
    assert model.signatures is not None
    first, second = model.signatures
    graph = model.subgraphs[0]
    assert first.outputs == [(b"out", graph.outputs[0]), (b"mid", graph.operators[0].outputs[0])]
    assert (first.key, second.key, second.inputs, second.outputs) == (b"a", None, [(None, graph.inputs[0])], [])


def with_plan(*words: int, shared: bool = False) -> bytes:
    """A file of four tensors whose second metadata entry is a memory plan, on buffer 1."""
    b, y = small()
    model = b.model(y)
    plan = Metadata(b"OfflineMemoryAllocation", Buffer(np.array(words, "<i4").view(np.uint8)))
    other = plan.buffer if shared else model.buffers[0]
    model.metadata = [Metadata(b"before", Buffer(np.ones(3, np.uint8))), plan, Metadata(b"opaque", other)]
    model.buffers[1:1] = [plan.buffer]
    return flatbuffer.write(model)


def test_a_memory_plan_follows_its_tensors() -> None:
    data = with_plan(1, 0, 4, 0, -1, -1, 32)
    model = flatbuffer.read(data)
    assert [t.arena_offset for t in model.subgraphs[0].tensors] == [0, -1, -1, 32]
    assert [m.name for m in model.metadata or []] == [b"before", b"opaque"] and model.notes == []
    assert flatbuffer.write(model) == data
    extra = Tensor((1,), tflite.TensorType.INT8, model.buffers[0], b"new", arena_offset=64)
    model.subgraphs[0].tensors.insert(0, extra)
    out = objects(flatbuffer.write(model))
    assert out.metadata[1].name == b"OfflineMemoryAllocation" and out.metadata[1].buffer == 1
    assert out.buffers[1].data.view("<i4").tolist() == [1, 0, 5, 64, 0, -1, -1, 32]


@pytest.mark.parametrize("words, shared", [
    ((1, 0, 3, 0, -1, -1), False), ((1, 0, 0), False), ((), False), ((1, 0, 3, 0, -1, -1, 32), False),
    ((1, 0, 4, 0, -1, -1), False), ((1, 0, 4, 0, -1, -1, 32), True)])
def test_a_memory_plan_that_does_not_fit_stays_as_it_is(words: tuple[int, ...], shared: bool) -> None:
    data = with_plan(*words, shared=shared)
    model = flatbuffer.read(data)
    assert model.memory_plan_version is None
    assert model.notes == ["the metadata OfflineMemoryAllocation do not fit the model and are kept as they are"]
    assert flatbuffer.write(model) == data


def test_buffers_keep_their_order_and_sharing() -> None:
    b, y = small()
    shared = b.constant(np.arange(4, dtype=np.int8))
    b.tensor((2, 2), np.int8).buffer = shared.buffer
    b.tensor((3,)).buffer = Buffer()
    model = b.model(y)
    lonely = Buffer(np.full(3, 7, np.uint8))
    model.buffers.insert(1, lonely)
    model = flatbuffer.read(flatbuffer.write(model))
    tensors = model.subgraphs[0].tensors
    assert tensors[-3].buffer is tensors[-2].buffer and tensors[0].buffer is model.buffers[0]
    assert len(model.buffers[0]) == 0
    assert model.buffers[1].data is not None and model.buffers[1].data.tolist() == [7] * 3
    assert tensors[-1].buffer is model.buffers[-1] and model.buffers[-1].data is None


def test_buffers_on_one_vector_still_share_it() -> None:
    b, y = small()
    data = np.arange(1000, dtype=np.uint8)
    b.constant(data).buffer = Buffer(data)
    once = len(b.bytes(y))
    b.tensor((1000,), np.uint8).buffer = Buffer(data)
    assert len(b.bytes(y)) < once + 500
    assert len(rewritten(b.bytes(y))) == len(b.bytes(y))


def test_what_is_new_is_numbered_behind_what_was_there() -> None:
    b, y = small()
    model = flatbuffer.read(b.bytes(y))
    graph = model.subgraphs[0]
    gamma = Tensor.constant(np.ones(3, np.float32), b"gamma")
    middle = Tensor((1, 4, 4, 3), tflite.TensorType.FLOAT32, Buffer(), b"middle")
    conv = graph.operators[0]
    new = [Operator(OperatorCode.of("MUL"), [conv.outputs[0], gamma], [middle]),
           Operator(OperatorCode.of("MUL"), [middle, gamma], [Tensor((1,), tflite.TensorType.FLOAT32, Buffer())]),
           Operator(OperatorCode.of("CONV_2D", 3), conv.inputs, [Tensor((1,), tflite.TensorType.INT8, Buffer())])]
    graph.operators += new
    before = len(graph.tensors), len(model.buffers), len(model.operator_codes)
    out = objects(flatbuffer.write(model))
    assert (len(graph.tensors), len(model.buffers), len(model.operator_codes)) == before  # writing changes nothing
    assert [t.name for t in out.subgraphs[0].tensors[4:]] == [b"gamma", b"middle", None, None]
    assert [t.buffer for t in out.subgraphs[0].tensors[4:]] == [3, 0, 0, 0]
    assert [o.opcodeIndex for o in out.subgraphs[0].operators] == [0, 1, 1, 0] and len(out.operatorCodes) == 2


def test_a_model_without_buffers_gets_an_empty_one() -> None:
    x = Tensor((2,), tflite.TensorType.FLOAT32, Buffer())
    c = Tensor.constant(np.ones(2, np.float32))
    y = Tensor((2,), tflite.TensorType.FLOAT32, Buffer())
    add = Operator(OperatorCode.of("ADD"), [x, c], [y], Table.of("AddOptions"))
    out = objects(flatbuffer.write(Model([Subgraph([x, c, y], [x], [y], [add])], [], [])))
    assert [t.buffer for t in out.subgraphs[0].tensors] == [0, 1, 0] and out.buffers[0].data is None
    assert out.subgraphs[0].operators[0].builtinOptions.potScaleInt16 is True  # the schema's default


def test_int64_vectors_of_options_are_aligned() -> None:
    b, y = small()
    for length in (1, 2, 3):
        slices = {name: np.arange(length, dtype=np.int64) for name in ("start_indices", "limit_indices", "strides")}
        b.add("CUSTOM:slice", [y], []).options_2 = Table.of("StablehloSliceOptions", **slices)
    data = b.bytes(y)
    graph = tflite.Model.GetRootAs(data).Subgraphs(0)
    for i in range(1, 4):
        union = graph.Operators(i).BuiltinOptions2()
        options = tflite.StablehloSliceOptions()
        options.Init(union.Bytes, union.Pos)
        assert [vector_position(options, slot) % 8 for slot in range(3)] == [0, 0, 0]  # type: ignore[operator]
        assert options.StridesAsNumpy().tolist() == list(range(i))


def test_an_option_that_the_schema_lacks_is_a_mistake() -> None:
    b, y = small()
    b.operators[0].options = Table.of("Conv2DOptions", stride=1)
    with pytest.raises(ValueError, match="Conv2DOptions has no field .*stride"):
        b.bytes(y)


def test_reading_and_writing_takes_less_than_three_times_the_file() -> None:
    b, y = small()
    for number in range(4):
        b.constant(np.full(4_000_000, number, np.int8))
    data = b.bytes(y)
    tracemalloc.start()
    out = flatbuffer.write(flatbuffer.read(data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out == data
    assert len(data) + peak < 2.2 * len(data)  # the file, its copy, and the tables


def test_a_model_larger_than_the_format_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    b, y = small()
    b.constant(np.zeros(5000, np.int8))
    monkeypatch.setattr(table_writer, "LARGEST", 5000)
    with pytest.raises(BadModel, match="larger than 2 GB"):
        b.bytes(y)


def test_sparsity_is_kept() -> None:
    dense = Table.of("DimensionMetadata", format=0, dense_size=4)
    segments = Table.of("Uint8Vector", values=np.array([0, 1, 2, 3, 3], np.uint8))
    indices = Table.of("Uint16Vector", values=np.array([3, 1, 0], np.uint16))
    sparse = Table.of("DimensionMetadata", format=1, array_segments=segments, array_indices=indices)
    b, y = small()
    table = Table.of("SparsityParameters", traversal_order=np.array([0, 1], np.int32), dim_metadata=(dense, sparse))
    b.constant(np.arange(3, dtype=np.int8), sparsity=table, shape=(4, 4))
    data = b.bytes(y)
    out = objects(data).subgraphs[0].tensors[-1].sparsity
    assert out.dimMetadata[1].arraySegments.values.tolist() == [0, 1, 2, 3, 3]
    assert out.dimMetadata[1].arrayIndices.values.tolist() == [3, 1, 0]
    assert rewritten(data) == data


def test_quantization_without_a_table_and_with_an_empty_one() -> None:
    b, y = small()
    b.tensor((1,), np.int8)
    b.tensors[-1].quantization = Quantization()
    b.tensor((1,), np.int8)
    tensors = objects(b.bytes(y)).subgraphs[0].tensors
    assert tensors[-2].quantization is not None and tensors[-2].quantization.scale is None
    assert tensors[-1].quantization is None
