"""Fuse the layers of a .tflite model for microcontrollers, with the same outputs."""
from .errors import BadModel, TflfuseError
from .pipeline import Result, fuse
from .report import Report
from .verify import Comparison, verify

__all__ = ["BadModel", "Comparison", "Report", "Result", "TflfuseError", "fuse", "verify"]
