"""Bounds on what one input may cost: processor time and memory."""
from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Iterator
from types import FrameType

SECONDS = 3.0
"""Of processor time for any input, whatever it says."""
SECONDS_PER_KB = 0.5
"""On top, for each KB of the input: what is there may be worked on."""
MEMORY = 1 << 30
"""Bytes that may be allocated beyond what the process has when it starts."""


class TooSlow(BaseException):
    """An input took longer than its size allows; no Exception, so that nobody takes it for a refusal."""


def _stop(signum: int, frame: FrameType | None) -> None:
    raise TooSlow("the input takes too long")


def cap_memory(extra: int = MEMORY) -> None:
    """Let allocations fail with MemoryError beyond so many bytes more than there are now."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + extra, hard))


@contextlib.contextmanager
def bounded(size: int) -> Iterator[None]:
    """Raise TooSlow where the body takes more processor time than an input of `size` bytes may."""
    old = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS + SECONDS_PER_KB * size / 1024)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
