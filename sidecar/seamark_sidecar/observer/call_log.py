"""The tool calls of a session, from their beginning to their result."""

from __future__ import annotations

from typing import TypeVar

from seamark.events import ToolReturned
from seamark_sidecar.observer.calls.use import ToolUse

T = TypeVar("T")

# Bounds for agents that call without end, or never return.
MOST_OPEN = 2_000
MOST_ENDED = 256
MOST_IDS = 5_000
MOST_EARLY = 100
_BYTES_A_CALL = 1_000
_BYTES_AN_ID = 100


class Calls:
    """Those under way, the last that ended, and the ids of many more."""

    def __init__(self) -> None:
        self._open: dict[str, ToolUse] = {}
        self._ended: dict[str, ToolUse] = {}
        self._ids: dict[str, None] = {}
        # Results that came before their calls.
        self._early: dict[str, ToolReturned] = {}

    def is_new(self, call_id: str) -> bool:
        """Whether no call of this id was begun before."""
        return call_id not in self._ids

    def begin(self, use: ToolUse) -> ToolReturned | None:
        """Takes note of a new call; returns its result if that came first."""
        _put(self._ids, use.call_id, None, MOST_IDS)
        _put(self._open, use.call_id, use, MOST_OPEN)
        return self._early.pop(use.call_id, None)

    def end(self, returned: ToolReturned) -> ToolUse | None:
        """The call that this ends; None when there is none, or it has ended before."""
        use = self._open.pop(returned.call_id, None)
        if use is not None:
            _put(self._ended, use.call_id, use, MOST_ENDED)
        elif returned.call_id not in self._ids and len(self._early) < MOST_EARLY:
            self._early.setdefault(returned.call_id, returned)
        return use

    def get(self, call_id: str) -> ToolUse | None:
        """The call of this id, if it is under way or ended lately."""
        return self._open.get(call_id) or self._ended.get(call_id)

    def size(self) -> int:
        """About how many bytes it holds."""
        held = len(self._open) + len(self._ended) + len(self._early)
        return _BYTES_A_CALL * held + _BYTES_AN_ID * len(self._ids)


def _put(into: dict[str, T], key: str, value: T, most: int) -> None:
    into[key] = value
    if len(into) > most:
        del into[next(iter(into))]
