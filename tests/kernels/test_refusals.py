"""A file that is wrong is refused by the interpreter of the wheel with a sentence, not with a crash."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tflfuse.chain_codec import NO_OFFSET, Header, Kind, StageRecord, ValueRecord
from tflfuse.ir import Operator, Tensor
from tflfuse.packing import fused_operator

from ..build import Build
from .pair import load, model_of
from .twin import Geometry, Twin

pytestmark = pytest.mark.usefixtures("library")


def chain_operator() -> tuple[Build, Operator, Tensor]:
    twin = Twin(np.random.default_rng(0))
    twin.convolution(twin.input(5, 4, 3), Geometry(5, 4, 3, 2, (3, 3), pads=(1, 1, 1, 1)))
    chain = twin.pair().chain
    b = Build()
    x = b.input((1, 5, 4, 3), np.int8, scale=0.5)
    y = b.tensor((1, 5, 4, 2), np.int8, scale=0.5)
    return b, fused_operator(chain, [x], y), y


def with_options(operator: Operator, options: bytes) -> Operator:
    return operator.like(custom_options=np.frombuffer(options, np.uint8))


def options_of(operator: Operator) -> bytes:
    assert operator.custom_options is not None
    return bytes(operator.custom_options.tobytes())


def with_header(operator: Operator, **changes: Any) -> Operator:
    options = options_of(operator)
    return with_options(operator, replace(Header.unpack(options), **changes).pack() + options[Header.SIZE:])


def refused(b: Build, operator: Operator, y: Tensor, capfd: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(RuntimeError):
        load(model_of(b, operator, y))
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("TFLFUSE_CHAIN_1: ")]
    return said[0].split(": ", 1)[1]


@pytest.mark.parametrize("changes, message", [
    ({"magic": 7}, "the options are not those of a chain"),
    ({"version": 2}, "the options are of another version"),
    ({"batch": 2}, "the batch is not 1"),
    ({"inputs": 2}, "the options have the wrong length"),
    ({"inputs": 0}, "the number of inputs is out of range"),
    ({"stages": 0}, "the number of stages is out of range"),
    ({"rows_max": 2}, "there are fewer row pointers than kernel rows"),
    ({"scratch_bytes": 8}, "the scratch memory is too small or too large"),
    ({"constants_bytes": 4}, "the constants have the wrong size"),
])
def test_a_wrong_header_is_named(changes: dict[str, int], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    b, operator, y = chain_operator()
    assert refused(b, with_header(operator, **changes), y, capfd) == message


def with_record(operator: Operator, record: type[ValueRecord] | type[StageRecord], number: int,
                **changes: Any) -> Operator:
    options = options_of(operator)
    header = Header.unpack(options)
    begin = Header.SIZE + (0 if record is ValueRecord else (header.inputs + header.stages) * ValueRecord.SIZE)
    at = begin + number * record.SIZE
    changed = replace(record.unpack(options, at), **changes).pack()
    return with_options(operator, options[:at] + changed + options[at + record.SIZE:])


@pytest.mark.parametrize("number, changes, message", [
    (0, {"height": 4}, "a tensor has the wrong size"),
    (0, {"height": 0}, "a value is empty"),
    (1, {"ring_rows": 0}, "an inner value has no ring"),
    (1, {"ring_rows": 2}, "a ring is too small"),
    (1, {"ring_offset": 0}, "a ring lies outside the scratch memory"),
    (1, {"ring_offset": 1 << 31}, "a ring lies outside the scratch memory"),
    (1, {"pad_left": 65535, "width": 65535, "channels": 65535}, "the rows of a value are too long"),
    (1, {"pad_left": 0}, "windows reach beside the rows of their input"),
    (1, {"channels": 2}, "a copy changes the shape"),
    (2, {"ring_rows": 1}, "a tensor has a ring or padding"),
])
def test_a_wrong_value_is_named(number: int, changes: dict[str, int], message: str,
                                capfd: pytest.CaptureFixture[str]) -> None:
    """Value 0 is the input, 1 the ring that it is copied into, 2 the output."""
    b, operator, y = chain_operator()
    assert refused(b, with_record(operator, ValueRecord, number, **changes), y, capfd) == message


@pytest.mark.parametrize("last, message", [(2, "a tensor has the wrong size"), (3, "the chain has too many rows")])
def test_more_rows_than_a_check_should_go_through(last: int, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """131,072 rows together are not too many, one more is."""
    b, operator, y = chain_operator()
    for number, height in enumerate((65535, 65535, last)):
        operator = with_record(operator, ValueRecord, number, height=height)
    assert refused(b, operator, y, capfd) == message


@pytest.mark.parametrize("changes, message", [
    ({"kind": 13}, "a stage is of an unknown kind"),
    ({"input": 2}, "a stage reads what is not made before it"),
    ({"kind": Kind.ADD, "other": 2}, "a stage reads what is not made before it"),
    ({"clamp_min": 5, "clamp_max": 4}, "a clamp is empty"),
    ({"kernel_h": 0}, "a kernel, stride or dilation is 0"),
    ({"stride_w": 0}, "a kernel, stride or dilation is 0"),
    ({"dilation_w": 0}, "a kernel, stride or dilation is 0"),
    ({"kernel_w": 65535, "dilation_w": 65535}, "the windows reach too far"),
    ({"kernel_w": 65535}, "a window is too large"),
    ({"weights": NO_OFFSET}, "weights lie outside the constants"),
    ({"bias": 2}, "biases, multipliers or shifts lie outside the constants"),
    ({"multipliers": NO_OFFSET}, "biases, multipliers or shifts lie outside the constants"),
    ({"shifts": NO_OFFSET}, "biases, multipliers or shifts lie outside the constants"),
    ({"pad_left": 2}, "windows reach beside the rows of their input"),
    ({"stride_w": 2}, "windows reach beside the rows of their input"),
    ({"scratch": NO_OFFSET}, "padding rows are missing"),
    ({"scratch": 0}, "padding rows lie outside the scratch memory"),
    ({"kind": Kind.DEPTHWISE}, "the channels are no multiple of the input's"),
    ({"kind": Kind.MAX_POOL}, "a pooling changes the channels"),
    ({"kind": Kind.AVERAGE_POOL, "dilation_h": 2}, "a pooling is dilated"),
    ({"kind": Kind.ADD}, "the operands of an addition differ in shape"),
    ({"kind": Kind.MEAN}, "a mean has the wrong shape"),
    ({"kind": Kind.TABLE}, "a table changes the shape"),
    ({"kind": Kind.COPY}, "only an outside tensor can be copied"),
    ({"kind": Kind.COPY, "input": 0}, "a copy changes the shape"),
    ({"kind": Kind.MUL}, "a product changes the shape"),
    ({"kind": Kind.PAD}, "a padding is larger than its output"),
    ({"kind": Kind.SLICE, "pad_front": 2}, "a slice reaches beyond its input"),
    ({"kind": Kind.TRANSPOSE}, "only an outside tensor can be transposed"),
    ({"kind": Kind.TRANSPOSE, "input": 0}, "a transposition has the wrong shape"),
])
def test_a_wrong_stage_is_named(changes: dict[str, int], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    b, operator, y = chain_operator()
    assert refused(b, with_record(operator, StageRecord, 1, **changes), y, capfd) == message


@pytest.mark.parametrize("length", [0, 1, 17, 18, 100])
def test_options_that_end_early(length: int, capfd: pytest.CaptureFixture[str]) -> None:
    b, operator, y = chain_operator()
    expected = "the options are too short" if length < Header.SIZE else "the options have the wrong length"
    assert refused(b, with_options(operator, options_of(operator)[:length]), y, capfd) == expected


Inputs = Callable[[Build, Tensor | None, Tensor | None], list[Tensor | None]]
WRONG_INPUTS: list[tuple[Inputs, str]] = [
    (lambda b, x, constants: [constants], "it has the wrong number of inputs"),
    (lambda b, x, constants: [x, x, constants], "the number of inputs is not that of the options"),
    (lambda b, x, constants: [None, constants], "an input is no int8 tensor"),
    (lambda b, x, constants: [b.constant(np.zeros((1, 5, 4, 3), np.float32)), constants], "an input is no int8 tensor"),
    (lambda b, x, constants: [b.constant(np.zeros(9, np.int8)), constants], "a tensor has the wrong size")]


@pytest.mark.parametrize("inputs, message", WRONG_INPUTS, ids=range(len(WRONG_INPUTS)))
def test_operands_of_the_wrong_number_type_and_size(inputs: Inputs, message: str,
                                                    capfd: pytest.CaptureFixture[str]) -> None:
    b, operator, y = chain_operator()
    wrong = operator.like(inputs=inputs(b, operator.inputs[0], operator.inputs[1]))
    assert refused(b, wrong, y, capfd) == message


def test_constants_that_are_computed(capfd: pytest.CaptureFixture[str]) -> None:
    """Their content is known only when it is too late to check it."""
    b, operator, y = chain_operator()
    constants = operator.inputs[-1]
    assert constants is not None
    late = operator.like(inputs=[operator.inputs[0], b.input(constants.shape, np.int8, scale=1.0)])
    b.operators.append(late)
    b.codes[late.name, 1] = late.code
    with pytest.raises(RuntimeError):
        load(b.bytes(y))
    assert "TFLFUSE_CHAIN_1: the last operand is no constant" in capfd.readouterr().err
