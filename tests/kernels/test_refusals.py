"""A file that is wrong is refused by the interpreter of the wheel with a sentence, not with a crash."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tflfuse.chain_codec import Header
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
