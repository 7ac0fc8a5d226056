"""How a session ends: its gate, its promotion, its summary."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

import structlog

from seamark.events import SessionOutcome
from seamark.injections import Citation, SessionState, SessionSummary
from seamark_sidecar.model.candidate import Candidate, Promotion
from seamark_sidecar.model.errors import SidecarError
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.promotion.gates import GATES, Passage, passage
from seamark_sidecar.promotion.promoter import Promoter, discard
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions import summary
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.sessions import Sessions

log = structlog.get_logger("seamark.sessions")


class Record(Protocol):
    """What ending a session changes for good."""

    async def update_session(self, session: SessionRecord) -> None: ...

    async def finish(
        self,
        session: SessionRecord,
        promotion: Promotion,
        accesses: Iterable[tuple[str, int, int]],
        *,
        taught: bool,
    ) -> list[Memory]: ...

    async def sightings(
        self, project_id: str, keys: Sequence[str]
    ) -> dict[str, tuple[str, ...]]: ...

    async def learnt(self, project_id: str, keys: Sequence[str]) -> dict[str, str]: ...


class Journal(Protocol):
    """What is deleted when a gate closes."""

    async def delete(self, session_id: str) -> None: ...


class Uses(Protocol):
    """What a session was shown."""

    async def used(self, session: SessionRecord) -> tuple[Citation, ...]: ...

    def forget(self, session_id: str) -> None: ...


class Ending:
    """Ends sessions; doing it again returns the same summary."""

    def __init__(
        self,
        sessions: Sessions,
        record: Record,
        journal: Journal,
        shelves: Shelves,
        promoter: Promoter,
        uses: Uses,
        now: Callable[[], datetime],
    ) -> None:
        self._sessions = sessions
        self._record = record
        self._journal = journal
        self._shelves = shelves
        self._promoter = promoter
        self._uses = uses
        self._now = now
        self._promoting = asyncio.Lock()

    async def complete(
        self, live: LiveSession, outcome: SessionOutcome, validated: bool | None, why: str = ""
    ) -> SessionSummary:
        """Ends the session; `why` explains an end that nobody asked for."""
        return await self._end(live, outcome, validated, why)

    async def report_validation(
        self, live: LiveSession, passed: bool, why: str = ""
    ) -> SessionSummary:
        """Opens or shuts the gate of an ended session; ends one that is still open."""
        return await self._end(live, None, passed, why)

    async def _end(
        self, live: LiveSession, outcome: SessionOutcome | None, validated: bool | None, why: str
    ) -> SessionSummary:
        return await live.commit(
            lambda: live.run(lambda: self._ended(live, outcome, validated, why))
        )

    async def _ended(
        self, live: LiveSession, outcome: SessionOutcome | None, validated: bool | None, why: str
    ) -> SessionSummary:
        record = live.record
        if record.state is SessionState.CLOSED:
            return record.summary or SessionSummary(state=SessionState.CLOSED)
        outcome = outcome or record.outcome or SessionOutcome.SUCCESS
        record = dataclasses.replace(record, outcome=outcome, ended=record.ended or self._now())
        used = await self._uses.used(record)
        await self._sessions.put_in_order(live)
        candidates = live.pad.candidates()
        stand = passage(GATES[record.type], outcome, validated)
        if stand is Passage.WAITING:
            told = summary.waiting(used, len(candidates))
            pending = dataclasses.replace(record, state=SessionState.PENDING, summary=told)
            await self._record.update_session(pending)
            live.record = pending
            return told
        if stand is Passage.SHUT:
            why = why or _why_shut(outcome, validated)
        # One at a time: what one session teaches, the next one reinforces.
        async with self._promoting:
            promotion = (
                await self._weighed(record, candidates)
                if stand is Passage.OPEN
                else Promotion(verdicts=discard(candidates, why))
            )
            told = summary.closed(used, promotion.verdicts, why)
            closed = dataclasses.replace(record, state=SessionState.CLOSED, summary=told)
            stored = await self._record.finish(
                closed,
                promotion,
                [
                    (path, each.reads, each.edits + each.writes)
                    for path, each in live.pad.files.items()
                ],
                taught=stand is Passage.OPEN,
            )
            live.record = closed
            self._sessions.forget(live)
            self._uses.forget(record.id)
            await self._shelves.put(stored)
        await self._delete_events(record.id)
        return told

    async def _weighed(self, record: SessionRecord, candidates: Sequence[Candidate]) -> Promotion:
        keys = [each.key for each in candidates]
        return self._promoter.weigh(
            record,
            candidates,
            existing=tuple(await self._shelves.of(record.project_id)),
            sightings=await self._record.sightings(record.project_id, keys),
            learnt=await self._record.learnt(record.project_id, keys),
        )

    async def _delete_events(self, session_id: str) -> None:
        try:
            await self._journal.delete(session_id)
        except SidecarError as error:
            # The session has ended all the same; the caretaker deletes them later.
            log.warning("journal_kept", session_id=session_id, error=type(error).__name__)


def _why_shut(outcome: SessionOutcome, validated: bool | None) -> str:
    if validated is False:
        return "the work was not validated"
    if outcome is not SessionOutcome.SUCCESS:
        return f"the session ended with {outcome.value}"
    return "this kind of session teaches nothing"
