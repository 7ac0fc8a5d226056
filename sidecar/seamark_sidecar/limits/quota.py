"""Keeps the journal below its quota, at the cost of those who have been silent the longest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from seamark.events import SessionOutcome
from seamark.injections import SessionState
from seamark_sidecar.model.errors import SidecarError
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.sessions import Sessions

log = structlog.get_logger("seamark.limits")

PAUSE = 1.0  # seconds
RETRY_AFTER = 10.0  # seconds, when there was nothing left to end
# Before the quota itself is reached, so that nothing has to be refused meanwhile.
FREE_FROM = 0.9
FREE_TO = 0.8
# A session heard of this lately is at work, and is never ended for others.
IN_USE = timedelta(minutes=15)
WHY = "the journal was full, and the session had been silent for the longest time"


class Record(Protocol):
    """Where unfinished sessions are found."""

    async def unfinished_sessions(self) -> list[SessionRecord]: ...


class File(Protocol):
    """How large it is."""

    @property
    def used(self) -> int: ...


class Journal(Protocol):
    """What is to stay small."""

    @property
    def file(self) -> File: ...
    async def session_ids(self) -> set[str]: ...
    async def last_time(self, session_id: str) -> datetime | None: ...


class Quota:
    """Ends silent sessions, which deletes their events, while the journal is too large."""

    def __init__(
        self,
        record: Record,
        journal: Journal,
        sessions: Sessions,
        ending: Ending,
        now: Callable[[], datetime],
        *,
        size: int,
    ) -> None:
        self._record = record
        self._journal = journal
        self._sessions = sessions
        self._ending = ending
        self._now = now
        self._size = size

    async def run_forever(self) -> None:
        """Looks after the journal until it is cancelled."""
        while True:
            pause = PAUSE
            if self._is_above(FREE_FROM):
                try:
                    await self.free()
                except Exception:
                    log.exception("quota_failed")
                if self._is_above(FREE_FROM):
                    pause = RETRY_AFTER
            await asyncio.sleep(pause)

    async def free(self) -> None:
        """Ends sessions, the longest silent first, until there is room or none is left to end."""
        for session_id in await self._silent():
            if not self._is_above(FREE_TO):
                return
            live = await self._sessions.restore(session_id)
            # It may have been heard of while it was restored.
            if live is not None and self._is_silent(live.last_seen):
                await self._end(live)

    async def _end(self, live: LiveSession) -> None:
        session_id = live.record.id
        try:
            await self._ending.complete(live, SessionOutcome.CANCELLED, None, WHY)
            log.warning("session_ended_for_room", session_id=session_id)
        except SidecarError as error:
            # The next one may do better.
            log.warning("end_failed", session_id=session_id, error=type(error).__name__)

    async def _silent(self) -> list[str]:
        """The sessions that have events and are not in use, the longest silent first."""
        holding = await self._journal.session_ids()
        found: list[tuple[datetime, str]] = []
        for record in await self._record.unfinished_sessions():
            if record.id in holding:
                last_seen = await self._last_seen(record)
                if self._is_silent(last_seen):
                    found.append((last_seen, record.id))
        return [session_id for _, session_id in sorted(found)]

    async def _last_seen(self, record: SessionRecord) -> datetime:
        live = self._sessions.live(record.id)
        if live is not None:
            return live.last_seen
        if record.state is SessionState.PENDING and record.ended is not None:
            return record.ended
        return await self._journal.last_time(record.id) or record.started

    def _is_silent(self, last_seen: datetime) -> bool:
        return self._now() - last_seen > IN_USE

    def _is_above(self, share: float) -> bool:
        return self._journal.file.used > self._size * share
