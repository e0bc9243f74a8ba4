"""Constant multiplications and additions around operators that hide a trap, through all folds."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tflfuse import cli, flatbuffer
from tflfuse.ir import Operator, OperatorCode, Table

from ..build import Build, names, random_int8
from ..folds.affine import GAINS, OFFSETS, f32, i32, operand, root, scales, step
from ..fused import check
from ..kernels.conftest import library  # noqa: F401  the fixture
from .compare import SCALE, ZERO, conv, exactly, folded, image, like, roughly


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_int8_weights_whose_axes_are_all_of_one_size(kind: str) -> None:
    """3x3x3x3, 3x3 on 3 channels and a square matrix: the gain can only be told apart by its axis."""
    b = Build()
    x = b.input((1, 7, 7, 3) if kind != "FULLY_CONNECTED" else (9, 3), scale=SCALE, zero_point=ZERO)
    if kind == "FULLY_CONNECTED":
        w = np.array([[100, -30, 20], [-60, 110, 40], [17, -80, 90]], np.int8)
        y = b.dense(x, b.constant(w, 0.008), b.constant(i32([900, -700, 100]), SCALE * 0.008), 0.07, 2)
        gains = f32([1.3, -0.9, 1.1])
    else:
        y = conv(b, x, 3, kind=kind)
        gains = f32([1.5, -0.75, 0.5])
    old = scales(operand_of(b, 1))
    model = roughly(b.bytes(step(b, "ADD", step(b, "MUL", y, gains, 1 / 20), OFFSETS[:3], 1 / 16)))
    assert names(model) == [kind]
    if kind != "FULLY_CONNECTED":
        np.testing.assert_allclose(scales(operand(model, 1)), old * np.abs(gains), rtol=0.01)
        q = operand(model, 1).quantization
        assert q is not None and q.quantized_dimension == (3 if kind == "DEPTHWISE_CONV_2D" else 0)


def operand_of(b: Build, position: int) -> Any:
    return b.operators[-1].inputs[position]


@pytest.mark.parametrize("int8", [False, True])
def test_an_activation_of_its_own_before_batch_norm_stays_before_it(int8: bool) -> None:
    b = Build()
    y = conv(b, image(b, int8=int8))
    y = like(b, "RELU", [y], y)
    y = step(b, "ADD", step(b, "MUL", y, GAINS[:4]), OFFSETS[:4])
    assert names(exactly(b.bytes(y))) == ["CONV_2D", "MUL", "ADD"]


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("shape", [(1, 36, 4), (1, 144), (1, 6, 3, 8)])
def test_a_reshape_that_moves_the_channels_lies_between(shape: tuple[int, ...], int8: bool) -> None:
    b = Build()
    y = conv(b, image(b, int8=int8))
    flat = b.op("RESHAPE", [y, b.constant(i32(shape))], shape, scale=SCALE if int8 else None,
                zero_point=ZERO if int8 else 0)
    z = step(b, "MUL", flat, np.linspace(0.5, 2, shape[-1]))
    assert names(exactly(b.bytes(z))) == ["CONV_2D", "RESHAPE", "MUL"]


@pytest.mark.parametrize("option", [0, 1, 2, 3])
def test_an_int8_depth_multiplier_follows_from_the_shapes(option: int) -> None:
    """Three outputs for each of two inputs, in the order input by input."""
    b = Build()
    x = image(b, (1, 6, 6, 2))
    y = conv(b, x, 6, kind="DEPTHWISE_CONV_2D", depth_multiplier=option)
    old = scales(operand_of(b, 1))
    gains = f32([1.5, 1.2, -0.9, 0.8, -1.1, 0.6])
    data = b.bytes(step(b, "ADD", step(b, "MUL", y, gains, 1 / 14), OFFSETS[:6], 1 / 14))
    model = roughly(data) if option == 3 else folded(data)[0]
    assert names(model) == ["DEPTHWISE_CONV_2D"] and root(model).option("depth_multiplier") == 3
    np.testing.assert_allclose(scales(operand(model, 1)), old * np.abs(gains), rtol=0.01)


def test_a_convolution_over_three_dimensions_passes_through(tmp_path: Path) -> None:
    b = Build()
    x = b.input((1, 3, 4, 4, 2))
    w = b.constant(np.random.default_rng(1).normal(size=(2, 2, 2, 2, 3)).astype(np.float32))
    y = b.tensor((1, 2, 3, 3, 3))
    b.codes["CONV_3D", 1] = OperatorCode.of("CONV_3D")
    options = Table.of("Conv3DOptions", padding=1, stride_d=1, stride_h=1, stride_w=1)
    b.operators.append(Operator(b.codes["CONV_3D", 1], [x, w], [y], options))
    data = b.bytes(step(b, "ADD", step(b, "MUL", y, GAINS[:3]), OFFSETS[:3]))
    path, out = tmp_path / "in.tflite", tmp_path / "out.tflite"
    path.write_bytes(data)
    assert cli.main([str(path), str(out), "-q"]) == 0
    assert names(flatbuffer.read(out.read_bytes())) == ["CONV_3D", "MUL", "ADD"]


def test_batch_norm_of_an_input_before_a_pool_is_untouched(tmp_path: Path) -> None:
    b = Build()
    x = step(b, "ADD", step(b, "MUL", b.input((1, 6, 6, 4)), GAINS[:4]), OFFSETS[:4])
    path, out = tmp_path / "in.tflite", tmp_path / "out.tflite"
    path.write_bytes(b.bytes(b.pool("MAX_POOL_2D", x)))
    assert cli.main([str(path), str(out), "-q", "--no-memory-plan"]) == 0
    assert out.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("int8", [False, True])
def test_nothing_goes_across_a_dilation_made_of_batches(int8: bool) -> None:
    """SPACE_TO_BATCH_ND -> CONV_2D -> BATCH_TO_SPACE_ND -> MUL -> ADD: blocks that are cut off are not the border's."""
    b = Build()
    x = image(b, int8=int8)
    two, around = b.constant(i32([2, 2])), b.constant(i32([[2, 2], [2, 2]]))
    none = b.constant(i32([[0, 0], [0, 0]]))
    q: dict[str, Any] = {"scale": SCALE, "zero_point": ZERO} if int8 else {}
    batches = b.op("SPACE_TO_BATCH_ND", [x, two, around], (4, 5, 5, 4), **q)
    y = b.op("BATCH_TO_SPACE_ND", [conv(b, batches, padding="VALID"), two, none], (1, 6, 6, 4), **q)
    y = step(b, "ADD", step(b, "MUL", y, GAINS[:4]), OFFSETS[:4])
    assert names(exactly(b.bytes(y))) == ["SPACE_TO_BATCH_ND", "CONV_2D", "BATCH_TO_SPACE_ND", "MUL", "ADD"]


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("stride, dilation", [((2, 2), (3, 3)), ((1, 2), (1, 1)), ((1, 1), (2, 2)), ((1, 3), (2, 1))])
def test_the_geometry_survives_a_fold(stride: tuple[int, int], dilation: tuple[int, int], int8: bool,
                                      kind: str) -> None:
    b = Build()
    y = conv(b, image(b, (1, 12, 11, 4), int8), kind=kind, stride=stride, dilation=dilation)
    assert names(roughly(b.bytes(step(b, "MUL", y, GAINS[:4])))) == [kind]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("stride, dilation", [((2, 2), (3, 3)), ((1, 2), (1, 1)), ((1, 1), (2, 2)), ((1, 3), (2, 1))])
def test_the_geometry_survives_a_fused_operator(stride: tuple[int, int], dilation: tuple[int, int], kind: str) -> None:
    b = Build()
    y = conv(b, image(b, (1, 12, 11, 4)), kind=kind, stride=stride, dilation=dilation)
    check(b, conv(b, y, size=1), np.random.default_rng(2))


@pytest.mark.usefixtures("library")
def test_a_grouped_convolution_is_not_part_of_a_fused_operator() -> None:
    b = Build()
    w = b.constant(random_int8(np.random.default_rng(3), (4, 3, 3, 2)), [0.005, 0.006, 0.007, 0.008])
    y = b.conv(image(b), w, scale=0.1)
    model = exactly(b.bytes(conv(b, y)), custom_ops=True)
    assert names(model)[0] == "CONV_2D"
