"""For tests that send Ctrl-C to a process that they start."""
from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """Whoever runs the tests in the background may have had SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
