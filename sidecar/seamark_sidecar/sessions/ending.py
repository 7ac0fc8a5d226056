"""How a session ends: its gate, its promotion, its summary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from seamark.events import SessionOutcome
from seamark.injections import Citation, SessionState, SessionSummary
from seamark_sidecar.model.candidate import Promotion
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.promotion.gates import GATES, Passage, passage
from seamark_sidecar.promotion.promoter import Promoter, discard
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions import summary
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.sessions import Sessions


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

    async def sightings(self, project_id: str, keys: Sequence[str]) -> dict[str, int]: ...


class Journal(Protocol):
    """What is deleted when a gate closes."""

    async def delete(self, session_id: str) -> None: ...


class Uses(Protocol):
    """What a session was shown."""

    async def used(self, session_id: str) -> tuple[Citation, ...]: ...

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

    async def complete(
        self, live: LiveSession, outcome: SessionOutcome, validated: bool | None, why: str = ""
    ) -> SessionSummary:
        """Ends the session; `why` explains an end that nobody asked for."""
        told = await live.run(lambda: self._complete(live, outcome, validated, why))
        if live.record.state is SessionState.CLOSED:
            await self._sessions.forget(live)
        return told

    async def report_validation(
        self, live: LiveSession, passed: bool, why: str = ""
    ) -> SessionSummary:
        """Opens or shuts the gate of an ended session; ends one that is still open."""
        outcome = live.record.outcome or SessionOutcome.SUCCESS
        return await self.complete(live, outcome, passed, why)

    async def _complete(
        self, live: LiveSession, outcome: SessionOutcome, validated: bool | None, why: str
    ) -> SessionSummary:
        record = live.record
        if record.state is SessionState.CLOSED:
            return record.summary or SessionSummary(state=SessionState.CLOSED)
        record = dataclasses.replace(record, outcome=outcome, ended=record.ended or self._now())
        used = await self._uses.used(record.id)
        candidates = live.pad.candidates()
        stand = passage(GATES[record.type], outcome, validated)
        if stand is Passage.WAITING:
            told = summary.waiting(used, len(candidates))
            pending = dataclasses.replace(record, state=SessionState.PENDING, summary=told)
            await self._record.update_session(pending)
            live.record = pending
            return told
        if stand is Passage.OPEN:
            shelf = await self._shelves.of(record.project_id)
            promotion = self._promoter.weigh(
                record,
                candidates,
                existing=tuple(shelf),
                sightings=await self._record.sightings(
                    record.project_id, [each.key for each in candidates]
                ),
            )
        else:
            why = why or _why_shut(outcome, validated)
            promotion = Promotion(verdicts=discard(candidates, why))
        told = summary.closed(used, promotion.verdicts, why)
        closed = dataclasses.replace(record, state=SessionState.CLOSED, summary=told)
        stored = await self._record.finish(
            closed,
            promotion,
            [(path, each.reads, each.edits) for path, each in live.pad.files.items()],
            taught=stand is Passage.OPEN,
        )
        live.record = closed
        await self._shelves.put(stored)
        await self._journal.delete(record.id)
        self._uses.forget(record.id)
        return told


def _why_shut(outcome: SessionOutcome, validated: bool | None) -> str:
    if validated is False:
        return "the work was not validated"
    if outcome is not SessionOutcome.SUCCESS:
        return f"the session ended with {outcome.value}"
    return "this kind of session teaches nothing"
