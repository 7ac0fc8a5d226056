"""How a session ends: its gate, its promotion, its summary."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from seamark.events import SessionOutcome
from seamark.injections import Citation, SessionState, SessionSummary
from seamark_sidecar.model.candidate import Candidate, Promotion, Verdict
from seamark_sidecar.model.errors import SidecarError
from seamark_sidecar.model.marks import Marks
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.session import SessionOrigin, SessionRecord
from seamark_sidecar.observer.text.spans import fingerprints
from seamark_sidecar.promotion.gates import Passage, passing, standing
from seamark_sidecar.promotion.promoter import Promoter, absorb, discard
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions import summary
from seamark_sidecar.sessions.groups import Groups, is_decided, member_of, spread
from seamark_sidecar.sessions.lineage import Lineage
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.merging import Member, Share, merge, with_conflicts
from seamark_sidecar.sessions.outside import Outside
from seamark_sidecar.sessions.sessions import Sessions

log = structlog.get_logger("seamark.sessions")

HEARSAY = "it was recorded before and nobody vouched for it"
FAILED = "did not succeed"


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
        marks: Marks | None = None,
    ) -> list[Memory]: ...

    async def sightings(
        self, project_id: str, keys: Sequence[str]
    ) -> dict[str, tuple[str, ...]]: ...

    async def learnt(self, project_id: str, keys: Sequence[str]) -> dict[str, str]: ...

    async def contaminations(self, project_id: str, keys: Sequence[str]) -> dict[str, str]: ...


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
        *,
        groups: Groups,
        lineage: Lineage,
        outside: Outside,
    ) -> None:
        self._groups = groups
        self._lineage = lineage
        self._outside = outside
        self._sessions = sessions
        self._record = record
        self._journal = journal
        self._shelves = shelves
        self._promoter = promoter
        self._uses = uses
        self._now = now
        self._promoting = asyncio.Lock()
        self._grouping = asyncio.Lock()

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

    async def settle(self, live: LiveSession) -> SessionSummary | None:
        """Ends the work group of an ended session if it waits for nobody any more."""
        async with self._grouping:
            members = await self._groups.unfinished(live.record)
            if not members or not all(is_decided(each.record) for each in members):
                return None
            return await self._end_group(live, members)

    async def _end(
        self, live: LiveSession, outcome: SessionOutcome | None, validated: bool | None, why: str
    ) -> SessionSummary:
        told = await live.commit(
            lambda: live.run(lambda: self._ended(live, outcome, validated, why))
        )
        if live.record.work.group:
            return await self.settle(live) or told
        return told

    async def _ended(
        self, live: LiveSession, outcome: SessionOutcome | None, validated: bool | None, why: str
    ) -> SessionSummary:
        record = live.record
        if record.state is SessionState.CLOSED:
            return record.summary or SessionSummary(state=SessionState.CLOSED)
        record = dataclasses.replace(
            record,
            outcome=outcome or record.outcome or SessionOutcome.SUCCESS,
            ended=record.ended or self._now(),
            validated=record.validated if validated is None else validated,
        )
        candidates = await self._candidates(live)
        waiting = standing(record) is Passage.WAITING
        # One that nobody asked to end, but for silence or for room, does not wait for others.
        if not waiting and (why or not record.work.group):
            through, others = passing(record, candidates)
            return await self._closed(live, record, Share(candidates=through), others, why=why)
        used = await self._uses.used(record)
        told = (summary.waiting if waiting else summary.grouped)(used, len(candidates))
        pending = dataclasses.replace(record, state=SessionState.PENDING, summary=told)
        await self._record.update_session(pending)
        live.record = pending
        return told

    async def _end_group(
        self, last: LiveSession, members: Sequence[LiveSession]
    ) -> SessionSummary | None:
        """Closes all of them, with what they found put together."""
        brought: list[Member] = []
        others: dict[str, Sequence[Candidate]] = {}
        for live in members:
            await live.run(partial(self._candidates, live))
        spread(members)
        for live in members:
            through, others[live.record.id] = passing(live.record, live.candidates())
            brought.append(member_of(live, through))
        open_ = {live.record.id for live in members if standing(live.record) is Passage.OPEN}
        # Beside the others' work: many entries take a while to compare.
        shares = await asyncio.to_thread(merge, with_conflicts(brought, open_))
        fates: dict[tuple[str, str], Verdict] = {}
        told = None
        for live in members:
            id_ = live.record.id
            close = partial(self._closed, live, live.record, shares[id_], others[id_], fates)
            closed = await live.commit(partial(live.run, close))
            told = closed if live is last else told
        return told

    async def _closed(
        self,
        live: LiveSession,
        record: SessionRecord,
        share: Share,
        others: Sequence[Candidate],
        fates: dict[tuple[str, str], Verdict] | None = None,
        why: str = "",
    ) -> SessionSummary:
        """Closes the gate behind what passes.

        Args:
            share: What passes.
            others: What does not.
            fates: What became of the group's entries so far, by session and key.
            why: Explains an end that nobody asked for.
        """
        fates = {} if fates is None else fates
        used = await self._uses.used(record)
        taught = standing(record) is Passage.OPEN
        if not taught:
            why = why or _why_shut(record)
        marks = _marks(live, (*share.candidates, *others))
        # One at a time: what one session teaches, the next one reinforces.
        async with self._promoting:
            promotion = await self._weighed(record, share.candidates, "" if taught else FAILED)
            fates.update({(record.id, each.candidate.key): each for each in promotion.verdicts})
            absorbed = [
                absorb(candidate, finder, fates.get((finder, key)))
                for candidate, finder, key in share.absorbed
            ]
            verdicts = (*promotion.verdicts, *absorbed, *discard(others, why))
            told = summary.closed(used, verdicts, why)
            closed = dataclasses.replace(
                record,
                state=SessionState.CLOSED,
                summary=told,
                contaminated_by=live.contaminated_by,
            )
            stored = await self._record.finish(
                closed,
                dataclasses.replace(promotion, verdicts=verdicts),
                [
                    (path, each.reads, each.edits + each.writes)
                    for path, each in live.pad.files.items()
                ],
                taught=taught,
                marks=marks,
            )
            live.record = closed
            self._sessions.forget(live)
            self._uses.forget(record.id)
            await self._shelves.put(stored)
        if marks:
            await self._outside.refresh(record.project_id)
        await self._delete_events(record.id)
        return told

    async def _candidates(self, live: LiveSession) -> list[Candidate]:
        """What the session proposes, once all is known that bears on it."""
        await self._sessions.put_in_order(live)
        await self._lineage.trace(live)
        return live.candidates()

    async def _weighed(
        self, record: SessionRecord, candidates: Sequence[Candidate], passed: str
    ) -> Promotion:
        keys = [each.key for each in candidates]
        earlier = await self._record.contaminations(record.project_id, keys)
        return self._promoter.weigh(
            record,
            [
                dataclasses.replace(
                    each, contaminated_by=each.contaminated_by or earlier.get(each.key, "")
                )
                for each in candidates
            ],
            existing=tuple(await self._shelves.of(record.project_id)),
            sightings=await self._record.sightings(record.project_id, keys),
            learnt=await self._record.learnt(record.project_id, keys),
            passed=passed,
        )

    async def _delete_events(self, session_id: str) -> None:
        try:
            await self._journal.delete(session_id)
        except SidecarError as error:
            # The session has ended all the same; the caretaker deletes them later.
            log.warning("journal_kept", session_id=session_id, error=type(error).__name__)


def _marks(live: LiveSession, candidates: Iterable[Candidate]) -> Marks:
    """What later sessions are to be told by; nothing of a session that is only recalled."""
    if live.record.origin is not SessionOrigin.LIVE:
        return Marks()
    marks = live.pad.taint.hashes()
    spans = dict.fromkeys(marks.spans)
    for candidate in candidates:
        if candidate.contaminated_by:
            spans.update(fingerprints(candidate.content))
    return dataclasses.replace(marks, spans=tuple(spans))


def _why_shut(record: SessionRecord) -> str:
    if record.is_hearsay:
        return HEARSAY
    if record.validated is False:
        return "the work was not validated"
    if record.outcome is not None and record.outcome is not SessionOutcome.SUCCESS:
        return f"the session ended with {record.outcome.value}"
    return "this kind of session teaches nothing"
