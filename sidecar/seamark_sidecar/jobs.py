"""Background work that is due from time to time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from seamark.events import SessionOutcome
from seamark.injections import SessionState
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.sessions import Sessions

log = structlog.get_logger("seamark.jobs")

PAUSE = 30.0  # seconds


class Record(Protocol):
    """Where unfinished sessions are found."""

    async def unfinished_sessions(self) -> list[SessionRecord]: ...


class Journal(Protocol):
    """What is cleaned up."""

    async def session_ids(self) -> set[str]: ...
    async def last_time(self, session_id: str) -> datetime | None: ...
    async def delete(self, session_id: str) -> None: ...
    async def delete_before(self, time: datetime) -> int: ...


class Caretaker:
    """Ends sessions that nobody ends, and deletes events that nobody needs."""

    def __init__(
        self,
        record: Record,
        journal: Journal,
        sessions: Sessions,
        ending: Ending,
        now: Callable[[], datetime],
        *,
        session_timeout: timedelta,
        validation_timeout: timedelta,
        journal_age: timedelta,
    ) -> None:
        self._record = record
        self._journal = journal
        self._sessions = sessions
        self._ending = ending
        self._now = now
        self._session_timeout = session_timeout
        self._validation_timeout = validation_timeout
        self._journal_age = journal_age

    async def run_forever(self) -> None:
        """Looks after things until it is cancelled."""
        await self.tidy()
        while True:
            try:
                await self.end_overdue()
                await self._journal.delete_before(self._now() - self._journal_age)
            except Exception:
                log.exception("care_failed")
            await asyncio.sleep(min(PAUSE, self._session_timeout.total_seconds() / 2))

    async def tidy(self) -> None:
        """Deletes events whose session's gate closed just before a crash."""
        unfinished = {each.id for each in await self._record.unfinished_sessions()}
        for session_id in await self._journal.session_ids() - unfinished:
            await self._journal.delete(session_id)
            log.info("journal_tidied", session_id=session_id)

    async def end_overdue(self) -> None:
        """Ends silent sessions, and discards what nobody validated."""
        now = self._now()
        for record in await self._record.unfinished_sessions():
            if record.state is SessionState.OPEN:
                if now - await self._last_seen(record) > self._session_timeout:
                    live = await self._sessions.restore(record)
                    why = "the session fell silent and was ended"
                    await self._ending.complete(live, SessionOutcome.CANCELLED, None, why)
                    log.info("session_timed_out", session_id=record.id)
            elif record.ended and now - record.ended > self._validation_timeout:
                live = await self._sessions.restore(record)
                why = "nobody reported a validation in time"
                await self._ending.report_validation(live, passed=False, why=why)
                log.info("validation_timed_out", session_id=record.id)

    async def _last_seen(self, record: SessionRecord) -> datetime:
        live = self._sessions.live(record.id)
        if live is not None:
            return live.last_seen
        return await self._journal.last_time(record.id) or record.started
