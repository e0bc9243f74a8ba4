"""The vector kernels for Hexagon: the outputs of TFLM on the host, in fewer instructions than the portable kernels."""
from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.test_sanitized import vectors

from . import emulator, layers
from .conftest import Harness
from .emulator import PORTABLE, VECTORS

pytestmark = pytest.mark.usefixtures("host_kernels")

SINGLE_ROUNDING = "-DTFLITE_SINGLE_ROUNDING=1"


@pytest.mark.parametrize("backend", [VECTORS, PORTABLE], ids=["hvx", "portable"])
def test_every_vector_gives_equal_outputs(backend: tuple[str, ...], harness: Harness) -> None:
    """Those of the other backends, in memory between pages that must not be touched."""
    given = vectors(np.random.default_rng(3))
    outcome = emulator.run(harness(*backend), given)
    assert outcome.chains == len(given) > 100 and outcome.differing == 0
    assert (outcome.vector_instructions > 0) == (backend == VECTORS)


def test_the_edges_of_vectors_give_equal_outputs(harness: Harness) -> None:
    given = layers.edges(np.random.default_rng(11))
    outcome = emulator.run(harness(), given)
    assert outcome.chains == len(given) > 100 and outcome.differing == 0


def test_single_rounding_is_that_of_the_portable_kernels(harness: Harness) -> None:
    """It cannot be compared with the interpreter of the wheel, which rounds twice."""
    given = layers.edges(np.random.default_rng(12), layers.CHANNELS[2::5])
    once, portable = (emulator.run(harness(*backend, SINGLE_ROUNDING), given) for backend in (VECTORS, PORTABLE))
    assert once.digest == portable.digest
    assert 0 < once.differing < len(given)


@pytest.mark.parametrize("kind", [layers.CONV, layers.DEPTHWISE])
def test_layers_of_networks_take_a_fraction_of_the_instructions(kind: str, harness: Harness) -> None:
    given = layers.of_networks(np.random.default_rng(5), kind)
    ours, portable = (emulator.run(harness(*backend), given) for backend in (VECTORS, PORTABLE))
    assert ours.differing == portable.differing == 0
    assert ours.packets * 5 < portable.packets
    assert ours.instructions * 5 < portable.instructions


def test_a_wrong_output_is_told(harness: Harness) -> None:
    """The comparison compares something: one bit of what is expected apart, both outputs differ."""
    right = layers.of_networks(np.random.default_rng(5), layers.CONV)[0]
    wrong = right[:-1] + bytes([right[-1] ^ 1])
    assert emulator.run(harness(), [right, wrong]).differing == 2
