"""What is under attack: reading, checking, fusing, lowering and writing whatever bytes come."""
from __future__ import annotations

import warnings
import zlib
from enum import IntEnum

import numpy as np

from tflfuse import flatbuffer, invariants
from tflfuse.chain_check import check_fused
from tflfuse.errors import BadModel, TflfuseError
from tflfuse.ir import Model
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse, lower


class Reached(IntEnum):
    """How far an input came."""

    NOTHING = 0
    READ = 1
    """All tables were there."""
    FUSE = 2
    """It was a valid model, was written and read again, and was handed to the rules."""
    REWRITTEN = 3
    """At least one step was taken and a new file written."""
    LOWERED = 4
    """It had fused operators then, which were lowered."""


def strict() -> None:
    """From now on numpy's and Python's warnings are errors."""
    np.seterr(divide="raise", over="raise", invalid="raise")  # what warns unless told otherwise
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ResourceWarning)


def attack(data: bytes) -> Reached:
    """Any bytes through everything; an exception or an AssertionError is a finding.

    Bits of a checksum say with which options, so that the same bytes always do the same.
    """
    try:
        model = flatbuffer.read(data)
    except TflfuseError as error:
        message_fits(error)
        return Reached.NOTHING
    try:
        invariants.check(model)
    except TflfuseError as error:
        message_fits(error)
        refused(data)
        return Reached.READ
    bits = zlib.crc32(data)
    if not bits >> 8 & 3:  # of one in four: writing takes as long as the rules do
        written = flatbuffer.write(model)
        assert flatbuffer.write(valid(written)) == written, "written, read and written again it is another file"
    return rewritten(data, model, bits)


def rewritten(data: bytes, model: Model, bits: int) -> Reached:
    """The rules on a valid model: nothing may go wrong any more but what is said here."""
    custom_ops, keep_dynamic, exact = bool(bits & 3), bool(bits & 4), not bits & 24
    had_fused = any(o.name == CUSTOM for o in model.operators)
    if had_fused and not holds(data):
        return Reached.FUSE
    if had_fused and not custom_ops:
        refused(data)
        return Reached.FUSE
    result = fuse(data, custom_ops=custom_ops, keep_dynamic=keep_dynamic, exact=exact)
    result.report.text()
    result.report.as_dict()
    if result.model == data:
        return Reached.FUSE
    fused = valid(result.model)
    if had_fused or not any(o.name == CUSTOM for o in fused.operators):
        return Reached.REWRITTEN
    lowered = valid(lower(result.model).model)
    assert not any(o.name == CUSTOM for o in lowered.operators), "a fused operator is left"
    return Reached.LOWERED


def refused(data: bytes) -> None:
    """What is no valid model, or no builtin one, is not rewritten either."""
    try:
        fuse(data, custom_ops=False)
    except BadModel as error:
        message_fits(error)
        return
    raise AssertionError("it was rewritten in spite of what is wrong with it")


def holds(data: bytes) -> bool:
    """The fused operators that a file brings can be read; some that can are not lowered, if nobody would write them."""
    try:
        check_fused(flatbuffer.read(data))
    except BadModel as error:
        message_fits(error)
        refused(data)
        return False
    try:
        valid(lower(data).model)
    except BadModel as error:
        message_fits(error)
    return True


def valid(data: bytes) -> Model:
    """A file that this package wrote, read again and checked."""
    try:
        model = flatbuffer.read(data)
        invariants.check(model)
    except TflfuseError as error:
        raise AssertionError(f"what was written is no valid model: {error}") from error
    return model


def message_fits(error: TflfuseError) -> None:
    """A refusal is one line that a terminal can show."""
    assert "\n" not in str(error) and 0 < len(str(error)) < 1000, f"a refusal is no line: {str(error)[:300]!r}"
