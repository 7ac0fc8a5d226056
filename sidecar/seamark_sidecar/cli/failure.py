"""A command that could not do what it was asked."""

from __future__ import annotations

import re

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class CommandFailed(Exception):
    """Ends the command with exit code 1; `reason` is for programs, `message` for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def reason_of(error: Exception) -> str:
    """The machine-readable name of a failure: `AlreadyRunning` is `ALREADY_RUNNING`."""
    if isinstance(error, CommandFailed):
        return error.reason
    return _WORD_START.sub("_", type(error).__name__).upper()
