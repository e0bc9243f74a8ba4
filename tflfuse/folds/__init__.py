"""The folds, in the order in which they are tried on each operator: the longest pattern first."""
from __future__ import annotations

from ..pattern import Rule, Sweep
from .activation_into_producer import activation_into_producer
from .affine_after import affine_after
from .affine_before import affine_before
from .cancel_dequantize import cancel_dequantize
from .cancel_quantize import cancel_quantize
from .empty_bias import empty_bias
from .evaluate_constants import evaluate_constants
from .identity_pad import identity_pad
from .identity_reshape import identity_reshape
from .identity_slice import identity_slice
from .identity_transpose import identity_transpose
from .inverse_transpose import inverse_transpose
from .pad_into_conv import pad_into_conv
from .quantize_into_producer import quantize_into_producer
from .remove_unused import remove_unused
from .reshape_chain import reshape_chain
from .shape_of_static import shape_of_static
from .share_constants import share_constants
from .static_shapes import static_shapes
from .transpose_to_reshape import transpose_to_reshape

FOLDS: tuple[Rule | Sweep, ...] = (
    static_shapes, empty_bias,
    shape_of_static, evaluate_constants, reshape_chain, identity_reshape, identity_transpose, inverse_transpose,
    transpose_to_reshape, identity_slice, identity_pad, cancel_quantize, cancel_dequantize,
    affine_after, affine_before, activation_into_producer, pad_into_conv, quantize_into_producer,
    share_constants, remove_unused,
)

KEEP_DYNAMIC: tuple[Rule | Sweep, ...] = tuple(rule for rule in FOLDS if rule is not static_shapes)
"""The folds that leave open dimensions open."""
