"""Knows for how long nobody has needed the sidecar."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

# Seconds between two looks while something is under way.
_LOOK = 0.1


class Idle:
    """Counts calls of the services it watches; all others, such as health checks, do not matter."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._under_way = 0
        self._last = now()

    def watching(self, servicer: object) -> object:
        """The same servicer, whose calls count from now on."""
        return _Watched(servicer, self)

    def seconds(self) -> float:
        """For how long nobody has asked for anything."""
        return 0.0 if self._under_way else self._now() - self._last

    async def last_for(self, seconds: float, is_busy: Callable[[], bool]) -> None:
        """Returns when nobody has asked for anything for so long and no work is under way."""
        while True:
            left = seconds - self.seconds()
            if left <= 0 and not is_busy():
                return
            await asyncio.sleep(max(left, _LOOK))

    async def attend(self, call: Awaitable[Any]) -> Any:
        self._under_way += 1
        try:
            return await call
        finally:
            self._under_way -= 1
            self._last = self._now()


class _Watched:
    def __init__(self, servicer: object, idle: Idle) -> None:
        self._servicer = servicer
        self._idle = idle

    def __getattr__(self, name: str) -> Callable[[Any, Any], Awaitable[Any]]:
        call = getattr(self._servicer, name)

        async def watched(request: Any, context: Any) -> Any:
            return await self._idle.attend(call(request, context))

        return watched
