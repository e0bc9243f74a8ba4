"""What is told of two models that differ in one thing, and what does not count."""
from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from zipfile import ZipFile, ZipInfo

import numpy as np
import pytest

from tests.build import Build, random_int8
from tests.test_check import flip_a_bias, flip_a_weight, renumber
from tflfuse import flatbuffer
from tflfuse.certificate import fused_operators
from tflfuse.ir import Buffer, Metadata, Model, OperatorCode, Quantization, Tensor
from tflfuse.pipeline import fuse
from tflfuse.unlike import unlike


def model() -> Model:
    """A fused operator, a SPLIT and an ADD, with a signature and metadata."""
    b, rng = Build(), np.random.default_rng(0)
    x = b.input((1, 8, 8, 8), scale=0.1, zero_point=3)
    for _ in range(2):
        w = b.constant(random_int8(rng, (8, 3, 3, 8)), scale=0.01)
        x = b.conv(x, w, b.constant(rng.integers(-99, 99, 8).astype(np.int32)), 0.1, 3)
    parts = [b.tensor((1, 8, 8, 4), np.int8, 0.1, 3) for _ in range(2)]
    b.add("SPLIT", [b.constant(np.array(3, np.int32)), x], parts, num_splits=2)
    y = b.op("SUB", parts, parts[0].shape, scale=0.2)
    made = b.model(y, signature=True)
    made.metadata = [Metadata(b"min_runtime_version", Buffer(np.frombuffer(b"2.5.0", np.uint8)))]
    return flatbuffer.read(fuse(flatbuffer.write(made)).model)


def last(m: Model) -> Tensor:
    return m.subgraphs[0].outputs[0]


def set_type(m: Model) -> None:
    last(m).type = 3


def set_shape(m: Model) -> None:
    last(m).shape = (1, 8, 4, 8)


def set_signature_of_shape(m: Model) -> None:
    last(m).shape_signature = (-1, 8, 8, 4)


def set_zero_point(m: Model) -> None:
    last(m).quantization = Quantization.of(0.2, 1)


def set_place(m: Model) -> None:
    m.memory_plan_version, last(m).arena_offset = 0, 4096


def set_variable(m: Model) -> None:
    last(m).is_variable = True


def set_constant(m: Model) -> None:
    axis = m.subgraphs[0].operators[1].inputs[0]
    assert axis is not None
    axis.buffer = Buffer(np.array([0, 0, 0, 0], np.uint8))


def swap_operands(m: Model) -> None:
    m.subgraphs[0].operators[-1].inputs.reverse()


def leave_out_an_operand(m: Model) -> None:
    m.subgraphs[0].operators[-1].inputs[1] = None


def cut_operands(m: Model) -> None:
    m.subgraphs[0].operators[-1].inputs.pop()


def set_operator(m: Model) -> None:
    m.subgraphs[0].operators[-1].code = OperatorCode.of("DIV")


def drop_operator(m: Model) -> None:
    m.subgraphs[0].operators.pop()


def set_option(m: Model) -> None:
    operator = m.subgraphs[0].operators[1]
    assert operator.options is not None
    operator.options = operator.options.with_(num_splits=1)


def set_output(m: Model) -> None:
    m.subgraphs[0].outputs[0] = m.subgraphs[0].operators[1].outputs[0]


def set_signature(m: Model) -> None:
    assert m.signatures is not None
    m.signatures[0].inputs[0] = (b"another", m.signatures[0].inputs[0][1])


def drop_signature(m: Model) -> None:
    m.signatures = None


def set_metadata(m: Model) -> None:
    assert m.metadata is not None
    m.metadata[0].buffer = Buffer(np.frombuffer(b"1.5.0", np.uint8))


def add_metadata(m: Model) -> None:
    assert m.metadata is not None
    m.metadata.append(Metadata(b"more", Buffer()))


def add_subgraph(m: Model) -> None:
    m.subgraphs.append(m.subgraphs[0])


def add_metadata_of_the_same_name(m: Model) -> None:
    """In front, where readers that take the first one find it."""
    assert m.metadata is not None
    m.metadata.insert(0, Metadata(b"min_runtime_version", Buffer(np.frombuffer(b"9.9.9", np.uint8))))


def read_a_twin(m: Model) -> None:
    """A tensor that nothing writes, at the place of the one that is meant."""
    operator = m.subgraphs[0].operators[-1]
    assert operator.inputs[0] is not None
    operator.inputs[0] = operator.inputs[0].like()
    m.subgraphs[0].tensors.append(operator.inputs[0])


def add_a_variable(m: Model) -> None:
    m.subgraphs[0].tensors.append(last(m).like(is_variable=True))


def add_a_buffer(m: Model) -> None:
    m.buffers.append(Buffer(np.zeros(64, np.uint8)))


def add_an_intermediate(m: Model) -> None:
    m.subgraphs[0].operators[-1].intermediates = [last(m)]


def set_version(m: Model) -> None:
    m.subgraphs[0].operators[-1].code = OperatorCode.of("SUB", 7)


def add_an_archive(m: Model) -> None:
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("labels.txt", "dog\ncat\n")
    m.tail = file.getvalue()


def set_record(m: Model) -> None:
    """The last byte of the last stage's record."""
    options = fused_operators(m)[0].custom_options
    assert options is not None
    changed = options.copy()
    changed[-1] ^= 1
    fused_operators(m)[0].custom_options = changed


@pytest.mark.parametrize("change, told", [
    (set_type, "the type UINT8 of"), (set_shape, "the shape [1, 8, 4, 8] of"),
    (set_signature_of_shape, "the shape [1, 8, 8, 4] of"), (set_zero_point, "the quantization of"),
    (set_place, "the place in the arena of"), (set_variable, "the constant of"), (set_constant, "the constant of"),
    (swap_operands, "is read or written instead of another tensor"),
    (leave_out_an_operand, "a tensor is left out in one of them"),
    (cut_operands, "there are 1 tensors instead of 2"), (set_operator, "operator #2 is DIV instead of SUB"),
    (drop_operator, "operator #2 is nothing instead of SUB"), (set_option, "its options differ"),
    (set_output, "the outputs: "), (set_signature, "the signature 'serving_default' names other tensors"),
    (drop_signature, "its signatures differ"), (set_metadata, "the metadata 'min_runtime_version' differ"),
    (add_metadata, "the metadata 'more' differ"), (add_subgraph, "it has 2 subgraphs instead of 1"),
    (flip_a_weight, "stage 0, a Convolution, has other weights"),
    (flip_a_bias, "stage 0, a Convolution, has other bias"),
    (add_metadata_of_the_same_name, "the metadata 'min_runtime_version' differ"),
    (read_a_twin, "is read or written instead of another tensor"), (add_a_variable, "it has 8 tensors instead of 7"),
    (add_a_buffer, "it has 7 buffers instead of 6"), (add_an_intermediate, "there are 1 tensors instead of 0"),
    (set_version, "its options differ"), (add_an_archive, "the ZIP archive behind the model is another one"),
    (set_record, "CUSTOM:TFLFUSE_CHAIN_1 #0"),
])
def test_one_thing_is_told(change: Callable[[Model], None], told: str) -> None:
    changed = model()
    change(changed)
    difference = unlike(changed, model())
    assert difference is not None and told in difference


def test_an_archive_counts_where_it_was_moved_too() -> None:
    """Its offsets are counted from the file's start, and the file has another length."""
    shorter, longer = model(), model()
    longer.description = b"longer" * 20
    data = [flatbuffer.write(m) for m in (shorter, longer)]
    for number, start in enumerate(data):
        file = BytesIO(start)
        with ZipFile(file, "a") as archive:
            archive.writestr(ZipInfo("labels.txt"), "dog\ncat\n")
        data[number] = file.getvalue()
    first, second = map(flatbuffer.read, data)
    assert first.tail != second.tail and unlike(first, second) is None


def test_names_and_numbers_do_not_count() -> None:
    other = model()
    renumber(other)
    assert unlike(flatbuffer.read(flatbuffer.write(other)), model()) is None
