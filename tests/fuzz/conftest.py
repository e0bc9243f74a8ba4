"""Warnings are errors in these tests, numpy's too."""
from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from .target import strict


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate():
        strict()
        yield
