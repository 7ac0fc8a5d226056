"""Background work that is due from time to time."""

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
from seamark_sidecar.promotion.gates import END_BY_SILENCE
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.groups import is_decided
from seamark_sidecar.sessions.sessions import Sessions

log = structlog.get_logger("seamark.jobs")

PAUSE = 30.0  # seconds
MODEL_PAUSE = 5.0


class Record(Protocol):
    """Where unfinished sessions are found."""

    async def unfinished_sessions(self) -> list[SessionRecord]: ...


class Journal(Protocol):
    """What is cleaned up."""

    async def session_ids(self) -> set[str]: ...
    async def last_time(self, session_id: str) -> datetime | None: ...
    async def delete(self, session_id: str) -> None: ...
    async def delete_before(self, time: datetime) -> int: ...


class ModelWatch:
    """Notices that an embedding model was installed or removed while the sidecar runs."""

    def __init__(self, installed: Callable[[], object], on_change: Callable[[], None]) -> None:
        self._installed = installed
        self._on_change = on_change

    async def run_forever(self) -> None:
        """Looks again and again until it is cancelled."""
        known = await asyncio.to_thread(self._installed)
        while True:
            await asyncio.sleep(MODEL_PAUSE)
            found = await asyncio.to_thread(self._installed)
            if found != known:
                log.info("model_changed")
                known = found
                self._on_change()


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
        # Something is being cared for at this moment.
        self.at_work = False
        self._pause = min(
            PAUSE, session_timeout.total_seconds() / 2, validation_timeout.total_seconds() / 2
        )

    async def run_forever(self) -> None:
        """Looks after things until it is cancelled."""
        while True:
            self.at_work = True
            for care in (self.tidy, self.end_overdue, self.delete_old):
                try:
                    await care()
                except Exception:
                    log.exception("care_failed", care=care.__name__)
            self.at_work = False
            await asyncio.sleep(self._pause)

    async def tidy(self) -> None:
        """Deletes events of sessions that have ended: a crash, or a full disk, left them."""
        # In this order: a session is known to the record before it has events.
        reported = await self._journal.session_ids()
        unfinished = {each.id for each in await self._record.unfinished_sessions()}
        for session_id in reported - unfinished:
            await self._journal.delete(session_id)
            log.info("journal_tidied", session_id=session_id)

    async def delete_old(self) -> None:
        """Deletes events whose session's gate never closed."""
        await self._journal.delete_before(self._now() - self._journal_age)

    async def end_overdue(self) -> None:
        """Ends silent sessions, and discards what nobody validated."""
        for record in await self._record.unfinished_sessions():
            try:
                await self._end_if_overdue(record)
            except SidecarError as error:
                log.warning("end_failed", session_id=record.id, error=type(error).__name__)

    async def _end_if_overdue(self, record: SessionRecord) -> None:
        if record.state is SessionState.OPEN:
            if await self._is_silent(record):
                await self._end_silent(record)
        elif is_decided(record):
            # Its group goes on without it, unless a crash came between its end and theirs.
            live = await self._sessions.restore(record.id)
            if live is not None:
                await self._ending.settle(live)
        elif record.ended and self._now() - record.ended > self._validation_timeout:
            live = await self._sessions.restore(record.id)
            if live is not None:
                why = "nobody reported a validation in time"
                await self._ending.report_validation(live, passed=False, why=why)
                log.info("validation_timed_out", session_id=record.id)

    async def _is_silent(self, record: SessionRecord) -> bool:
        live = self._sessions.live(record.id)
        if live is not None:
            last_seen = live.last_seen
        else:
            # Not restored for this: most of those that nobody uses are not overdue.
            last_seen = await self._journal.last_time(record.id) or record.started
        return self._now() - last_seen > self._session_timeout

    async def _end_silent(self, record: SessionRecord) -> None:
        live = await self._sessions.restore(record.id)
        # It may have been heard of while it was restored.
        if live is None or self._now() - live.last_seen <= self._session_timeout:
            return
        if record.type in END_BY_SILENCE:
            await self._ending.complete(live, SessionOutcome.SUCCESS, None)
        else:
            why = "the session fell silent and was ended"
            await self._ending.complete(live, SessionOutcome.CANCELLED, None, why)
        log.info("session_timed_out", session_id=record.id)
