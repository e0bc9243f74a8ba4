"""The files of tests/data: what each was converted from, which operators it has and which are left when it is fused."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"
PLANE = (8, 8, 4)
SEQUENCE = (32, 4)


@dataclass(frozen=True)
class Converted:
    """How a file was made.

    model: the function of tests/keras_models.py. operators, fused: names as in the schema, in file order, before and
    after; fused is None where nothing can go, and keeps a MUL whose factors int8 weights could not hold as well.
    shape: of the input, without the batch. batch: None leaves it open. numbers, per_channel: see keras_models.convert.
    true_shapes: False where the converter wrote 1 for inner dimensions that are larger, because the open batch goes
    into them: TFLM then fails or computes nonsense.
    """

    model: str
    operators: str
    fused: str | None = None
    shape: tuple[int, ...] = PLANE
    batch: int | None = 1
    numbers: str = "int8"
    per_channel: bool = True
    true_shapes: bool = True


FILES: dict[str, Converted] = {
    "bn_after_add": Converted("bn_after_add", "CONV_2D CONV_2D ADD MUL ADD CONV_2D", "CONV_2D CONV_2D ADD CONV_2D"),
    "bn_after_add_relu": Converted("bn_after_add_relu", "CONV_2D CONV_2D ADD MUL ADD CONV_2D"),
    "preactivation": Converted("preactivation", "CONV_2D MUL ADD CONV_2D ADD MUL ADD CONV_2D ADD MEAN FULLY_CONNECTED"),
    "bn_after_leaky_relu": Converted(
        "bn_after_leaky_relu",
        "CONV_2D LEAKY_RELU MUL ADD CONV_2D",
        "CONV_2D LEAKY_RELU CONV_2D"),
    "bn_after_max_pool": Converted(
        "bn_after_max_pool",
        "CONV_2D MAX_POOL_2D MUL ADD CONV_2D",
        "CONV_2D MAX_POOL_2D MUL CONV_2D"),
    "bn_after_average_pool": Converted(
        "bn_after_average_pool",
        "CONV_2D AVERAGE_POOL_2D MUL ADD CONV_2D",
        "CONV_2D AVERAGE_POOL_2D MUL CONV_2D"),
    "bn_after_mean": Converted("bn_after_mean", "CONV_2D MEAN MUL ADD FULLY_CONNECTED", "CONV_2D MEAN FULLY_CONNECTED"),
    "bn_after_dense_relu": Converted(
        "bn_after_dense_relu",
        "RESHAPE FULLY_CONNECTED MUL ADD FULLY_CONNECTED",
        "RESHAPE FULLY_CONNECTED MUL FULLY_CONNECTED"),
    "bn_after_flatten": Converted(
        "bn_after_flatten",
        "CONV_2D RESHAPE MUL ADD FULLY_CONNECTED",
        "CONV_2D RESHAPE FULLY_CONNECTED"),
    "bn_before_same_conv": Converted("bn_before_same_conv", "MUL ADD CONV_2D"),
    "bn_before_valid_conv": Converted("bn_before_valid_conv", "MUL ADD CONV_2D", "CONV_2D"),
    "bn_before_depthwise": Converted(
        "bn_before_depthwise",
        "CONV_2D LEAKY_RELU MUL ADD DEPTHWISE_CONV_2D",
        "CONV_2D LEAKY_RELU DEPTHWISE_CONV_2D"),
    "bn_after_concat": Converted(
        "bn_after_concat",
        "CONV_2D MAX_POOL_2D CONCATENATION MUL ADD CONV_2D",
        "CONV_2D MAX_POOL_2D CONCATENATION CONV_2D"),
    "normalization": Converted("normalization", "SUB MUL CONV_2D", "CONV_2D"),
    "conv_bn_relu6": Converted("conv_bn_relu6", "CONV_2D DEPTHWISE_CONV_2D"),
    "relu_then_relu6": Converted("relu_then_relu6", "CONV_2D RELU6 CONV_2D", "CONV_2D CONV_2D"),
    "relu_to_one": Converted("relu_to_one", "CONV_2D MINIMUM RELU CONV_2D", "CONV_2D CONV_2D"),
    "relu_beside_add": Converted("relu_beside_add", "CONV_2D RELU6 ADD CONV_2D"),
    "relu_after_concat": Converted("relu_after_concat", "CONV_2D CONV_2D CONCATENATION RELU CONV_2D"),
    "relu_after_mean": Converted("relu_after_mean", "CONV_2D MEAN RELU FULLY_CONNECTED"),
    "padding_layer": Converted("padding_layer", "CONV_2D LEAKY_RELU PAD CONV_2D"),
    "bn_after_mean_open_batch": Converted(
        "bn_after_mean",
        "CONV_2D MEAN MUL ADD FULLY_CONNECTED",
        "CONV_2D MEAN FULLY_CONNECTED",
        batch=None),
    "dilated_open_batch": Converted(
        "dilated",
        "SPACE_TO_BATCH_ND CONV_2D BATCH_TO_SPACE_ND ADD MUL ADD",
        batch=None, true_shapes=False),
    "flatten_relu_open_batch": Converted(
        "flatten_relu",
        "CONV_2D SHAPE STRIDED_SLICE PACK RELU RESHAPE FULLY_CONNECTED",
        "CONV_2D RESHAPE FULLY_CONNECTED",
        batch=None),
    "transposed_conv_open_batch": Converted(
        "transposed_conv",
        "SHAPE STRIDED_SLICE PACK TRANSPOSE_CONV",
        "TRANSPOSE_CONV",
        batch=None),
    "squeeze_excite_open_batch": Converted(
        "squeeze_excite",
        "CONV_2D MEAN SHAPE STRIDED_SLICE PACK RESHAPE CONV_2D CONV_2D LOGISTIC MUL CONV_2D",
        "CONV_2D MEAN RESHAPE CONV_2D CONV_2D LOGISTIC MUL CONV_2D",
        batch=None),
    "dense_on_planes_open_batch": Converted(
        "dense_on_planes",
        "SHAPE GATHER REDUCE_PROD CONCATENATION GATHER REDUCE_PROD PACK RESHAPE FULLY_CONNECTED RESHAPE ADD MUL "
        "ADD LEAKY_RELU SHAPE GATHER REDUCE_PROD CONCATENATION GATHER REDUCE_PROD PACK RESHAPE FULLY_CONNECTED "
        "RESHAPE ADD",
        "SHAPE GATHER REDUCE_PROD GATHER REDUCE_PROD PACK RESHAPE FULLY_CONNECTED RESHAPE ADD MUL ADD LEAKY_RELU "
        "SHAPE GATHER REDUCE_PROD GATHER REDUCE_PROD PACK RESHAPE FULLY_CONNECTED RESHAPE ADD",
        batch=None, true_shapes=False),
    "conv1d_stack_open_batch": Converted(
        "conv1d_stack",
        "EXPAND_DIMS CONV_2D RESHAPE LEAKY_RELU EXPAND_DIMS CONV_2D RESHAPE LEAKY_RELU SHAPE STRIDED_SLICE PACK "
        "RESHAPE FULLY_CONNECTED",
        "EXPAND_DIMS CONV_2D RESHAPE LEAKY_RELU EXPAND_DIMS CONV_2D RESHAPE LEAKY_RELU RESHAPE FULLY_CONNECTED",
        shape=SEQUENCE, batch=None),
    "bn_after_leaky_relu_per_tensor": Converted(
        "bn_after_leaky_relu",
        "CONV_2D LEAKY_RELU MUL ADD CONV_2D",
        "CONV_2D LEAKY_RELU CONV_2D",
        per_channel=False),
    "bn_before_valid_conv_per_tensor": Converted(
        "bn_before_valid_conv",
        "MUL ADD CONV_2D",
        "CONV_2D",
        per_channel=False),
    "bn_after_dense_relu_per_tensor": Converted(
        "bn_after_dense_relu",
        "RESHAPE FULLY_CONNECTED MUL ADD FULLY_CONNECTED",
        "RESHAPE FULLY_CONNECTED MUL FULLY_CONNECTED",
        per_channel=False),
    "bn_after_leaky_relu_int16x8": Converted(
        "bn_after_leaky_relu",
        "CONV_2D LEAKY_RELU MUL ADD CONV_2D",
        "CONV_2D LEAKY_RELU MUL CONV_2D",
        numbers="int16x8"),
    "bn_after_add_relu_int16x8": Converted(
        "bn_after_add_relu",
        "CONV_2D CONV_2D ADD MUL ADD CONV_2D",
        numbers="int16x8"),
    "bn_after_add_float32": Converted(
        "bn_after_add",
        "CONV_2D CONV_2D ADD MUL ADD CONV_2D",
        "CONV_2D CONV_2D ADD CONV_2D",
        numbers="float32"),
    "bn_after_leaky_relu_float32": Converted(
        "bn_after_leaky_relu",
        "CONV_2D LEAKY_RELU MUL ADD CONV_2D",
        "CONV_2D LEAKY_RELU CONV_2D",
        numbers="float32"),
    "bn_after_mean_float32": Converted(
        "bn_after_mean",
        "CONV_2D MEAN MUL ADD FULLY_CONNECTED",
        "CONV_2D MEAN FULLY_CONNECTED",
        numbers="float32"),
    "flatten_relu_open_batch_float32": Converted(
        "flatten_relu",
        "CONV_2D SHAPE STRIDED_SLICE PACK RELU RESHAPE FULLY_CONNECTED",
        "CONV_2D RESHAPE FULLY_CONNECTED",
        batch=None, numbers="float32"),
}
