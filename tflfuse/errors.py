"""What can go wrong, as a user sees it: one sentence that says what and where."""
from __future__ import annotations

from typing import Any


class TflfuseError(Exception):
    """Every error this package raises on purpose."""


class BadModel(TflfuseError):
    """The bytes are no model that can be rewritten; the message says what is wrong and where."""


class Refused(TflfuseError):
    """A rule declines a match.

    reason: one sentence, the same for the user, the manual and the test.
    at: the operator or tensor that stands in the way; None means the whole match.
    by_choice: nothing stands in the way, but it is better or as good not to do it.
    """

    def __init__(self, reason: str, at: Any = None, by_choice: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at
        self.by_choice = by_choice
