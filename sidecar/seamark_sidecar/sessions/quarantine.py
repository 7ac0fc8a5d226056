"""Events that took the sidecar down are not looked at for ever."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

MOST_CRASHES = 2


class Marks(Protocol):
    """What outlives a crash."""

    def at_work_on(self, name: str) -> AbstractContextManager[None]: ...


class Quarantine:
    """Marks each event while it is looked at, and knows those that were marked in a crash."""

    def __init__(self, marks: Marks, suspects: Mapping[str, int]) -> None:
        self._marks = marks
        self._suspects = suspects

    def holds(self, name: str) -> bool:
        """Whether the event took the sidecar down too often to be looked at again."""
        return bool(self._suspects) and self._suspects.get(name, 0) >= MOST_CRASHES

    def at_work_on(self, name: str) -> AbstractContextManager[None]:
        """Leaves the name behind if the process dies inside."""
        return self._marks.at_work_on(name)


def event_name(session_id: str, producer_id: str, sequence: int) -> str:
    """The name of an event in one word."""
    return f"{session_id}/{producer_id}/{sequence}"
