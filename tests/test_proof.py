"""What the proof holds an output to: a step where integers are between, next to nothing where all is real."""
from __future__ import annotations

import numpy as np
import pytest

from tests.build import Build, names, random_int8
from tflfuse import flatbuffer
from tflfuse.proof import FLOAT_TOLERANCE, Differs, check, fuse_and_prove, real_throughout
from tflfuse.verify import Comparison, Difference


def test_a_real_output_behind_integers_may_be_a_step_off() -> None:
    b, rng = Build(), np.random.default_rng(1)
    x = b.input((1, 6, 6, 3), scale=1 / 32, zero_point=-3)
    w = b.constant(random_int8(rng, (4, 3, 3, 3)), np.full(4, 0.005), axis=0)
    y = b.op("QUANTIZE", [b.conv(x, w, scale=0.09, zero_point=5)], (1, 6, 6, 4), np.int8, 0.11, -9)
    data = b.bytes(b.op("DEQUANTIZE", [y], y.shape, np.float32))
    result = fuse_and_prove(data, custom_ops=False)
    assert names(flatbuffer.read(result.model)) == ["CONV_2D", "DEQUANTIZE"]
    proof = result.report.proof
    assert proof is not None and (proof.whole.outputs[0].relative or 0) > FLOAT_TOLERANCE


def test_only_what_no_integer_leads_to_is_real_throughout() -> None:
    b = Build()
    real, whole = b.input((1, 4)), b.input((1, 4), scale=0.1)
    doubled = b.op("ADD", [real, real], (1, 4))
    stepped = b.op("DEQUANTIZE", [b.op("QUANTIZE", [doubled], (1, 4), np.int8, 0.1)], (1, 4), np.float32)
    given = b.op("DEQUANTIZE", [whole], (1, 4), np.float32)
    both = b.op("ADD", [doubled, stepped], (1, 4))
    weights = b.op("DEQUANTIZE", [b.constant(np.ones((3, 4), np.int8), 0.1)], (3, 4), np.float32)
    dense = b.dense(doubled, weights)
    graph = b.model(doubled, stepped, given, both, dense).subgraphs[0]
    assert real_throughout(graph) == [True, False, False, False, True]


@pytest.mark.parametrize("dtype,relative,exact,real,bad", [
    ("float32", 0.9e-3, False, True, False), ("float32", 1.1e-3, False, True, True),
    ("float32", 0.9e-3, True, True, True), ("float32", 0.1, False, False, False),
    ("int8", None, False, False, False), ("int8", None, True, False, True)])
def test_a_difference_is_held_to_the_claim(dtype: str, relative: float | None, exact: bool, real: bool,
                                           bad: bool) -> None:
    found = Comparison("TFLM", runs=4, outputs=(Difference("y", dtype, False, 1.0, 0.1, relative),))
    if not bad:
        check(found, exact, [real])
        return
    with pytest.raises(Differs, match="y differs by up to"):
        check(found, exact, [real])
