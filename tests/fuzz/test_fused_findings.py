"""What fuzzing found in fused operators that a file brings: refused in one line, each kind once."""
from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.build import Build
from tests.fuzz.attacks import attacked
from tests.fuzz.target import Reached
from tflfuse import flatbuffer
from tflfuse.chain_check import check_fused
from tflfuse.chain_codec import NO_VALUE, Header, Kind, StageRecord, ValueRecord
from tflfuse.errors import BadModel
from tflfuse.ir import Buffer, Model, Operator
from tflfuse.packing import STEP
from tflfuse.pipeline import fuse


def fused() -> Model:
    """A chain of three stages: a table, an ADD of two values, a convolution with padding."""
    b = Build()
    x, y = b.input((1, 4, 4, 2), scale=0.5), b.input((1, 4, 4, 2), scale=0.25)
    w = b.constant(np.ones((3, 3, 3, 2), np.int8), scale=[0.1] * 3)
    table = b.op("LOGISTIC", [x], x.shape, scale=1 / 256, zero_point=-128)
    total = b.op("ADD", [table, y], x.shape, scale=0.5)
    out = b.conv(total, w, b.constant(np.zeros(3, np.int32), scale=[0.05] * 3), scale=1.0)
    model = flatbuffer.read(fuse(b.bytes(out)).model)
    assert [o.name for o in model.operators] == ["CUSTOM:TFLFUSE_CHAIN_1"]
    return model


def edited(number: int, record: type[Any], **fields: int | float) -> Model:
    """The fused model with some fields of one record set. number: of the value or the stage."""
    model = fused()
    edit(model, number, record, **fields)
    return model


def edit(model: Model, number: int, record: type[Any], **fields: int | float) -> None:
    operator = model.subgraphs[0].operators[0]
    assert operator.custom_options is not None
    options = bytearray(operator.custom_options.tobytes())
    header = Header.unpack(bytes(options))
    at = {Header: 0, ValueRecord: Header.SIZE + number * ValueRecord.SIZE,
          StageRecord: Header.SIZE + (header.inputs + header.stages) * ValueRecord.SIZE + number * StageRecord.SIZE}
    made = vars(record.unpack(bytes(options), at[record])) | fields
    options[at[record]:at[record] + record.SIZE] = record(**made).pack()
    operator.custom_options = np.frombuffer(bytes(options), np.uint8)


def copies_only() -> Model:
    model = fused()
    options = model.subgraphs[0].operators[0].custom_options
    assert options is not None
    for number in range(Header.unpack(options.tobytes()).stages):
        edit(model, number, StageRecord, kind=Kind.COPY)
    return model


def stage_of(kind: Kind) -> int:
    """The number of the first stage of a kind in the fused model."""
    options = fused().subgraphs[0].operators[0].custom_options
    assert options is not None
    raw, header = options.tobytes(), Header.unpack(options.tobytes())
    at = Header.SIZE + (header.inputs + header.stages) * ValueRecord.SIZE
    kinds = [StageRecord.unpack(raw, at + k * StageRecord.SIZE).kind for k in range(header.stages)]
    return kinds.index(kind)


CHAINS: tuple[tuple[Callable[[], Model], str], ...] = (
    (lambda: edited(0, Header, inputs=0, stages=6), "cannot be read|no inputs"),
    (copies_only, "no stages"),
    (lambda: edited(0, ValueRecord, height=0), "a value has the plane"),
    (lambda: edited(0, ValueRecord, scale=float("nan")), "and the scale nan"),
    (lambda: edited(0, ValueRecord, scale=0.0), "and the scale 0.0"),
    (lambda: edited(0, ValueRecord, width=5), "a stage Table makes"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, stride_h=0), "a window's size, stride or dilation is 0"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, kernel_w=0), "a window's size, stride or dilation is 0"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, kernel_w=65535), "cannot be read"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, input=NO_VALUE), "cannot be read"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, input=143), "cannot be read"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, kind=99), "cannot be read"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, kind=Kind.MEAN), "a stage Mean makes"),
    (lambda: edited(stage_of(Kind.CONV), StageRecord, kind=Kind.TRANSPOSE), "a stage Transpose makes"),
    (lambda: edited(stage_of(Kind.TABLE), StageRecord, other=0), "a stage Table reads 2 values"),
    (lambda: edited(stage_of(Kind.TABLE), StageRecord, bias=2 ** 32 - 2), "cannot be read"),
    (lambda: edited(stage_of(Kind.ADD), StageRecord, input=0), "read by nobody"),
)


@pytest.mark.parametrize("number", range(len(CHAINS)))
def test_a_fused_operator_that_makes_no_sense_is_refused(number: int) -> None:
    model, message = CHAINS[number][0](), CHAINS[number][1]
    with pytest.raises(BadModel, match=message):
        check_fused(model)
    assert attacked(flatbuffer.write(model)) == Reached.FUSE


@pytest.mark.parametrize("change", [
    lambda o: o.inputs.clear(), lambda o: o.inputs.pop(0), lambda o: o.inputs.insert(0, None),
    lambda o: o.inputs.append(o.inputs[0]), lambda o: setattr(o, "custom_options", None), lambda o: o.outputs.clear(),
    lambda o: setattr(o, "custom_options", o.custom_options[:-1])])
def test_a_fused_operator_without_all_its_operands_is_refused(change: Callable[[Operator], Any]) -> None:
    model = fused()
    change(model.subgraphs[0].operators[0])
    if not model.subgraphs[0].operators[0].outputs:
        model.subgraphs[0].outputs = list(model.subgraphs[0].inputs)
    with pytest.raises(BadModel):
        check_fused(model)
    assert attacked(flatbuffer.write(model)) == Reached.FUSE


@pytest.mark.parametrize("field, value, message", [
    ("a", 5, "reads what a later one makes"), ("scale", 0.0, "has the scales"), ("scale", np.inf, "has the scales"),
    ("zero_point", 128, "not int8"), ("activation", 383, "activation 383"), ("alpha", np.nan, "the slope nan"),
    ("c_scale", np.nan, "has the scales"), ("c_scale", -1.0, "has the scales"), ("q", 383, "not int8"),
    ("c_zero_point", -129, "not int8")])
def test_a_table_whose_program_makes_no_sense_is_refused(field: str, value: float, message: str) -> None:
    model = fused()
    constants = model.subgraphs[0].operators[0].inputs[-1]
    assert constants is not None
    data = constants.array().tobytes()
    at = data.index(struct.pack("<ii", 1, 14)) + 4  # one step, LOGISTIC
    names = "builtin a b alpha scale zero_point activation c_scale q c_zero_point".split()
    step = dict(zip(names, STEP.unpack_from(data, at), strict=True))
    if field in ("q", "c_zero_point"):
        step["c_scale"] = 1.0
    data = data[:at] + STEP.pack(*(step | {field: value}).values()) + data[at + STEP.size:]
    constants.buffer = Buffer(np.frombuffer(data, np.uint8))
    model.buffers.append(constants.buffer)
    with pytest.raises(BadModel, match=message):
        check_fused(model)
    assert attacked(flatbuffer.write(model)) == Reached.FUSE
