"""What stands around the operators in a file, after operators in it were folded."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tflfuse import cli, flatbuffer
from tflfuse.ir import Buffer, Metadata, Model, Operator, OperatorCode, Signature, Table

from ..build import ACTIVATION, Build, names
from ..folds.affine import GAINS, OFFSETS, f32, step
from ..folds.checks import same_bits
from ..kernels.conftest import library  # noqa: F401  the fixture
from ..object_api import difference, objects, packed
from ..test_container import misaligned
from .compare import conv, exactly, folded, image, like, rewritten

pytestmark = pytest.mark.usefixtures("library")
both_ways = pytest.mark.parametrize("custom_ops", [False, True])


def two_signatures() -> Model:
    """Two folds and outputs whose tensors stand behind those that are folded away."""
    b = Build()
    x = image(b)
    y = conv(b, x)
    first = like(b, "RELU", [y], y)
    z = conv(b, first)
    second = like(b, "RELU6", [z], z)
    model = b.model(first, second)
    model.signatures = [Signature(b"one", [(b"x", x)], [(b"first", first)]),
                        Signature(b"two", [(b"x", x)], [(b"second", second), (b"first", first)])]
    return model


@both_ways
def test_signatures_are_renumbered(custom_ops: bool) -> None:
    model = two_signatures()
    before = flatbuffer.write(model)
    after, _ = rewritten(before, custom_ops=custom_ops)
    same_bits(before, after)
    old, new = objects(before), objects(after)
    assert len(new.subgraphs[0].tensors) < len(old.subgraphs[0].tensors) or custom_ops
    for one, other in zip(old.signatureDefs, new.signatureDefs, strict=True):
        assert one.signatureKey == other.signatureKey
        for a, b in zip([*one.inputs, *one.outputs], [*other.inputs, *other.outputs], strict=True):
            assert a.name == b.name
            named = [m.subgraphs[0].tensors[t.tensorIndex].name for m, t in ((old, a), (new, b))]
            assert named[0] == named[1]


@both_ways
def test_metadata_are_kept_and_a_memory_plan_is_dropped_with_a_word(custom_ops: bool) -> None:
    model = two_signatures()
    kept = {b"min_runtime_version": b"2.5.0" + bytes(11), b"TFLITE_METADATA": b"\x1c\0\0\0M001" + bytes(range(50)),
            b"CONVERSION_METADATA": bytes(range(77))}
    model.metadata = [Metadata(name, Buffer(np.frombuffer(data, np.uint8))) for name, data in kept.items()]
    offsets = np.array([1, 0, len(model.subgraphs[0].tensors), *[-1] * len(model.subgraphs[0].tensors)], "<i4")
    model.metadata.insert(1, Metadata(b"OfflineMemoryAllocation", Buffer(offsets.view(np.uint8))))
    model.buffers += [m.buffer for m in model.metadata]
    before = flatbuffer.write(model)
    after, report = rewritten(before, custom_ops=custom_ops)
    same_bits(before, after)
    assert any("OfflineMemoryAllocation was dropped" in note for note in report.notes)
    read = objects(after)
    found = {m.name: bytes(read.buffers[m.buffer].data) for m in read.metadata}
    plan = found.pop(b"OfflineMemoryAllocation", None)
    assert (found.pop(b"tflfuse", None) is not None) == any("chain_runs" == s.rule for s in report.plan.steps)
    assert found == kept
    assert plan is None or np.frombuffer(plan, "<i4")[2] == len(read.subgraphs[0].tensors)


@both_ways
@pytest.mark.parametrize("name", [None, b"", b"same"])
def test_names_are_no_keys(name: bytes | None, custom_ops: bool) -> None:
    """Missing, empty, or the same for all."""
    model = two_signatures()
    for tensor in model.subgraphs[0].tensors:
        tensor.name = name
    data = flatbuffer.write(model)
    after, _ = rewritten(data, custom_ops=custom_ops)
    same_bits(data, after)
    assert len(names(flatbuffer.read(after))) < 4


@both_ways
def test_activations_on_buffers_of_their_own(custom_ops: bool) -> None:
    """Empty, one for each; others that nothing refers to. Buffer 0 stays empty."""
    model = two_signatures()
    for tensor in model.subgraphs[0].tensors:
        if len(tensor.buffer) == 0:
            tensor.buffer = Buffer()
            model.buffers.append(tensor.buffer)
    model.buffers[1:1] = [Buffer(), Buffer(np.arange(9, dtype=np.uint8))]
    data = flatbuffer.write(model)
    after, _ = rewritten(data, custom_ops=custom_ops)
    same_bits(data, after)
    read = objects(after)
    assert read.buffers[0].data is None and len(read.subgraphs[0].operators) < 4
    used = {t.buffer for t in read.subgraphs[0].tensors}
    assert all(n in used for n in range(1, len(read.buffers))) or read.metadata


def number(model: Any) -> None:
    model.subgraphs[0].tensors[1].buffer = 99


def behind(model: Any) -> None:
    model.buffers[1].offset, model.buffers[1].size = 4096, 16


def large_options(model: Any) -> None:
    model.subgraphs[0].operators[0].largeCustomOptionsOffset = 4096


@pytest.mark.parametrize("damage, said", [
    (number, "subgraph 0 tensor 1 refers to buffer 99"), (behind, "buffer 1 lies behind the flatbuffer"),
    (large_options, "large_custom_options_offset")])
def test_data_that_are_not_in_the_file_are_one_line_and_exit_2(damage: Any, said: str, tmp_path: Path,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    model = objects(flatbuffer.write(two_signatures()))
    damage(model)
    path, out = tmp_path / "in.tflite", tmp_path / "out.tflite"
    path.write_bytes(packed(model))
    assert cli.main([str(path), str(out)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not out.exists()


def test_a_sparse_constant_stays_sparse() -> None:
    """DENSIFY makes the weights at run time, a sparse filter is read as such: neither is folded into."""
    dense = Table.of("DimensionMetadata", format=0, dense_size=4)
    segments = Table.of("Uint8Vector", values=np.array([0, 1, 2, 3, 4], np.uint8))
    indices = Table.of("Uint8Vector", values=np.array([3, 1, 0, 2], np.uint8))
    sparse = Table.of("DimensionMetadata", format=1, array_segments=segments, array_indices=indices)
    sparsity = Table.of("SparsityParameters", traversal_order=np.array([0, 1], np.int32), dim_metadata=(dense, sparse))
    for densified in (True, False):
        b = Build()
        w = b.constant(f32([1, 2, 3, 4]), sparsity=sparsity, shape=(4, 4))
        x = b.input((2, 4))
        weights = b.op("DENSIFY", [w], (4, 4)) if densified else w
        y = step(b, "ADD", step(b, "MUL", b.dense(x, weights), GAINS[:4]), OFFSETS[:4])
        data = b.bytes(y)
        model, after = folded(data)
        assert names(model)[-3:] == ["FULLY_CONNECTED", "MUL", "ADD"]
        tensor = next(t for t in model.subgraphs[0].tensors if t.sparsity is not None)
        assert tensor.buffer.data is not None and tensor.buffer.data.tobytes() == f32([1, 2, 3, 4]).tobytes()
        old, new = (next(t.sparsity for t in objects(d).subgraphs[0].tensors if t.sparsity) for d in (data, after))
        assert difference(old, new) == ""


@pytest.mark.parametrize("left_out", [False, True])
def test_a_dense_layer_of_two_operands(left_out: bool) -> None:
    b = Build()
    w = b.constant(np.random.default_rng(1).integers(-127, 128, (4, 6)).astype(np.int8), 0.01)
    y = b.dense(b.input((2, 6), scale=0.05, zero_point=3), w, None, 0.1, 5)
    if not left_out:
        b.operators[-1].inputs.pop()
    assert names(exactly(b.bytes(like(b, "RELU6", [y], y)))) == ["FULLY_CONNECTED"]
    assert names(exactly(b.bytes(like(b, "RELU6", [y], y)), custom_ops=True)) != []


SPELLINGS = {"only the deprecated field": lambda c: OperatorCode(0, c.builtin, c.version),
             "only the new field": lambda c: OperatorCode(c.builtin, 0, c.version),
             "both": lambda c: OperatorCode(c.builtin, c.builtin, c.version),
             "the larger counts": lambda c: OperatorCode(c.builtin, 1, c.version)}


@both_ways
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_operator_codes_in_every_spelling(spelling: str, custom_ops: bool) -> None:
    """With codes that nothing uses, and one operator under two versions; what the tool writes reads the same."""
    model = two_signatures()
    operators = model.subgraphs[0].operators
    codes = {c: SPELLINGS[spelling](c) for c in model.operator_codes}
    model.operator_codes = [OperatorCode(0, 0, 7), *codes.values(), OperatorCode.of("CUSTOM:a"),
                            OperatorCode.of("CUSTOM:b")]
    for operator in operators:
        operator.code = codes[operator.code]
    other = SPELLINGS[spelling](OperatorCode.of("CONV_2D", 1))
    operators[2].code = other
    model.operator_codes.append(other)
    before = flatbuffer.write(model)
    after, _ = rewritten(before, custom_ops=custom_ops)
    same_bits(before, after)
    if custom_ops:
        return
    read = flatbuffer.read(after)
    assert names(read) == ["CONV_2D", "CONV_2D"] and [o.code.version for o in read.operators] == [3, 1]
    assert [o.activation for o in read.operators] == [ACTIVATION["RELU"], ACTIVATION["RELU6"]]
    used = {id(o.code) for o in read.operators}
    assert all(id(c) in used for c in read.operator_codes)


def test_two_custom_operators_and_a_late_builtin_keep_their_codes() -> None:
    """Builtin operators from 128 on have 127 in the old field."""
    b = Build()
    x = b.input((1, 4))
    y = like(b, "RELU", [like(b, "ADD", [x, x], x)], x)
    for name in (b"first", b"second"):
        out = b.tensor((1, 4))
        code = OperatorCode(32, 32, 1, name)
        b.codes[name.decode(), 1] = code
        b.operators.append(Operator(code, [y], [out]))
        y = out
    late = OperatorCode(150, 127)
    out = b.tensor((1, 4))
    b.codes["late", 1] = late
    b.operators.append(Operator(late, [y], [out]))
    model, after = folded(b.bytes(out))
    assert names(model)[:3] == ["ADD", "CUSTOM:first", "CUSTOM:second"] and len(names(model)) == 4
    codes = objects(after).operatorCodes
    assert [(c.builtinCode, c.deprecatedBuiltinCode, c.customCode) for c in codes][-3:] == [
        (32, 32, b"first"), (32, 32, b"second"), (150, 127, None)]


def test_an_odd_constant_beside_eight_byte_data_is_aligned_after_a_fold() -> None:
    b = Build()
    x = b.input((1, 5), np.int16, 1 / 8192)
    w = b.constant(np.arange(15, dtype=np.int8).reshape(3, 5), 0.01)
    bias = b.constant(np.array([2 ** 33, -5, 7], np.int64), 0.01 / 8192)
    y = b.dense(x, w, bias, 1 / 4096)
    data = b.bytes(like(b, "RELU", [y], y))
    model, after = folded(data)
    assert names(model) == ["FULLY_CONNECTED"] and misaligned(after) == []
    same_bits(data, after)
