"""All sessions that are open or pending, and who may touch them."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from seamark.events import Event
from seamark.injections import SessionState
from seamark_sidecar.model.errors import (
    BadRequest,
    SessionOwned,
    UnknownSession,
    WrongCapability,
)
from seamark_sidecar.model.marks import NO_MARKS
from seamark_sidecar.model.session import SessionOrigin, SessionRecord, SessionType, Work
from seamark_sidecar.observer.calls.tool_rows import NO_ROWS, UserRows
from seamark_sidecar.observer.order import in_order
from seamark_sidecar.sessions import capability
from seamark_sidecar.sessions.lane import Lane
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.outside import Outside
from seamark_sidecar.sessions.projects import Projects
from seamark_sidecar.sessions.quarantine import Quarantine

LONGEST_ID = 128
REPLAYED_AT_ONCE = 256  # events, between which others get their turn


class SessionStore(Protocol):
    """Where sessions are kept."""

    async def add_session(self, session: SessionRecord) -> None: ...
    async def session(self, session_id: str) -> SessionRecord | None: ...


class Journal(Protocol):
    """Where events are kept until the gate closes."""

    async def append(self, session_id: str, reported: Sequence[Event], now: datetime) -> None: ...
    async def events(self, session_id: str) -> list[Event]: ...
    async def last_time(self, session_id: str) -> datetime | None: ...


class Sessions:
    """Starts, finds and restores sessions."""

    def __init__(
        self,
        store: SessionStore,
        journal: Journal,
        projects: Projects,
        quarantine: Quarantine,
        now: Callable[[], datetime],
        outside: Outside | None = None,
        rows: UserRows = NO_ROWS,
    ) -> None:
        self._rows = rows
        self._outside = outside
        self._store = store
        self._journal = journal
        self._projects = projects
        self._quarantine = quarantine
        self._now = now
        # Those that are open or pending; a closed one is read from the store when asked for.
        self._live: dict[str, LiveSession] = {}
        # One that is found or made for a caller is done so to its end, also when the caller gives
        # up: a long journal would otherwise be read again and again.
        self._opening: weakref.WeakValueDictionary[str, Lane] = weakref.WeakValueDictionary()

    def __iter__(self) -> Iterator[LiveSession]:
        return iter(list(self._live.values()))

    def live(self, session_id: str) -> LiveSession | None:
        """The session, if it is in use."""
        return self._live.get(session_id)

    async def start(
        self,
        *,
        session_id: str,
        claim: bytes,
        project_path: str,
        project_name: str,
        session_type: str,
        role: str,
        task: str,
        origin: str = "",
        vouched: bool = False,
        work: Work = Work(),  # noqa: B008 - it is frozen
    ) -> tuple[LiveSession, bytes]:
        """A new session, or the one its owner started before; with its capability."""
        if not 8 <= len(session_id) <= LONGEST_ID or not session_id.isprintable():
            raise BadRequest(f"a session id has 8 to {LONGEST_ID} printable characters")
        if len(claim) < capability.LEAST_CLAIM:
            raise BadRequest(f"a claim has at least {capability.LEAST_CLAIM} bytes")
        if session_type and session_type not in set(SessionType):
            raise BadRequest(
                f"the session type {session_type[:40]!r} is not known; "
                f"use one of {', '.join(SessionType)}"
            )
        if origin and origin not in set(SessionOrigin):
            raise BadRequest(
                f"the session origin {origin[:40]!r} is not known; "
                f"use one of {', '.join(SessionOrigin)}"
            )
        right = capability.derive(session_id, claim)

        async def open_() -> LiveSession:
            known = await self._found(session_id)
            if known is not None:
                return known
            project, root = await self._projects.at(project_path, project_name)
            record = SessionRecord(
                id=session_id,
                project_id=project.id,
                root=root,
                type=SessionType(session_type or SessionType.BUILD),
                role=role,
                task=task,
                capability_hash=capability.seal(right),
                state=SessionState.OPEN,
                started=self._now(),
                origin=SessionOrigin(origin or SessionOrigin.LIVE),
                vouched=vouched,
                work=work,
                marks_until=await self._outside.point(project.id) if self._outside else 0,
                contaminated_by=await self._inherited(work),
            )
            await self._store.add_session(record)
            self._live[session_id] = await self._alive(record, self._now())
            return self._live[session_id]

        known = await self._lane(session_id).run(open_)
        if not capability.opens(right, known.record.capability_hash):
            raise SessionOwned(
                "this session was started by another client; start one with a new id"
            )
        known.last_seen = self._now()
        return known, right

    async def enter(self, session_id: str, right: bytes) -> LiveSession:
        """The session, for whoever holds its capability."""
        live = self._live.get(session_id) or await self.restore(session_id)
        if live is None:
            raise UnknownSession(f"no session {session_id[:40]!r} is known; start it first")
        if not capability.opens(right, live.record.capability_hash):
            raise WrongCapability("this is not the capability of the session")
        live.last_seen = self._now()
        return live

    async def enter_open(self, session_id: str, right: bytes) -> LiveSession:
        """The same, for those that want to add to it."""
        live = await self.enter(session_id, right)
        live.require_open()
        return live

    async def accept(self, live: LiveSession, events: Sequence[Event]) -> int:
        """Commits and applies events; returns how many were new."""

        async def take_in() -> int:
            live.require_open()
            await self._journal.append(live.record.id, events, self._now())
            return await live.take(events)

        return await live.commit(take_in) if events else 0

    async def restore(self, session_id: str) -> LiveSession | None:
        """A stored session, brought to where its journal ends."""
        return await self._lane(session_id).run(lambda: self._found(session_id))

    async def put_in_order(self, live: LiveSession) -> None:
        """What several reporters said at the same time is seen in the order it happened."""
        if live.pad.arrivals.disordered:
            live.begin_again()
            live.apply(in_order(await self._journal.events(live.record.id)))

    def forget(self, live: LiveSession) -> None:
        """Lets go of a session whose gate has closed."""
        self._live.pop(live.record.id, None)

    async def stop(self, within: float) -> None:
        """Waits for what is under way; what was acknowledged is in the journal."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                for live in self:
                    await live.settled()

    def _lane(self, session_id: str) -> Lane:
        return self._opening.setdefault(session_id, Lane(f"opening of session {session_id}"))

    async def _found(self, session_id: str) -> LiveSession | None:
        live = self._live.get(session_id)
        if live is None:
            record = await self._store.session(session_id)
            if record is None:
                return None
            last_seen = await self._journal.last_time(session_id) or record.started
            live = await self._alive(record, last_seen)
            if record.state is not SessionState.CLOSED:
                await self._replay(live)
                self._live[session_id] = live
        return live

    async def _alive(self, record: SessionRecord, last_seen: datetime) -> LiveSession:
        earlier = await self._outside.before(record) if self._outside else NO_MARKS
        return LiveSession(record, self._quarantine, last_seen, earlier, self._rows)

    async def _inherited(self, work: Work) -> str:
        """What contaminates the session whose agent the new one works for."""
        if not work.parent:
            return ""
        parent = self._live.get(work.parent)
        if parent is not None:
            return parent.contaminated_by
        record = await self._store.session(work.parent)
        return record.contaminated_by if record is not None else ""

    async def _replay(self, live: LiveSession) -> None:
        reported = in_order(await self._journal.events(live.record.id))
        for start in range(0, len(reported), REPLAYED_AT_ONCE):
            await live.take(reported[start : start + REPLAYED_AT_ONCE])
