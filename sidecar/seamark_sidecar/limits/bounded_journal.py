"""The journal as sessions see it: it takes events only while there is room for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from seamark.events import Event
from seamark_sidecar.limits.room import Room


class Journal(Protocol):
    """Where the events go."""

    async def append(self, session_id: str, reported: Sequence[Event], now: datetime) -> None: ...
    async def events(self, session_id: str) -> list[Event]: ...
    async def last_time(self, session_id: str) -> datetime | None: ...


class BoundedJournal:
    """Hands everything on; new events are refused with StorageFull when there is no room."""

    def __init__(self, journal: Journal, room: Room) -> None:
        self._journal = journal
        self._room = room

    async def append(self, session_id: str, reported: Sequence[Event], now: datetime) -> None:
        """Returns when the events are committed."""
        self._room.require()
        await self._journal.append(session_id, reported, now)

    async def events(self, session_id: str) -> list[Event]:
        """What a session reported."""
        return await self._journal.events(session_id)

    async def last_time(self, session_id: str) -> datetime | None:
        """When a session's last event arrived."""
        return await self._journal.last_time(session_id)
