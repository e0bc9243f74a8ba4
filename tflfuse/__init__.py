"""Fuse the layers of a .tflite model for microcontrollers, with the same outputs."""
from . import keras, pipeline
from .errors import BadModel, TflfuseError
from .keras import convert_keras
from .pipeline import fuse
from .report import Report
from .result import Result
from .verify import Comparison, verify

__all__ = ["BadModel", "Comparison", "Report", "Result", "TflfuseError", "convert_keras", "fuse", "keras", "lower",
           "verify"]


def lower(model: bytes) -> bytes:
    """Turn the custom operators of a fused model back into builtin ones, with outputs of the same bits.

    model: the bytes of a .tflite file; they come back unchanged where there is nothing to lower. Raises BadModel.
    """
    return pipeline.lower(model).model
