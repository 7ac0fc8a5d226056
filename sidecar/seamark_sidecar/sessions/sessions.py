"""All sessions that are open or pending, and who may touch them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from seamark.events import Event
from seamark.injections import SessionState
from seamark_sidecar.model.errors import (
    BadRequest,
    SessionClosed,
    SessionOwned,
    UnknownSession,
    WrongCapability,
)
from seamark_sidecar.model.session import SessionRecord, SessionType
from seamark_sidecar.sessions import capability
from seamark_sidecar.sessions.live import LiveSession, Marks
from seamark_sidecar.sessions.projects import Projects

LONGEST_ID = 128


class SessionStore(Protocol):
    """Where sessions are kept."""

    async def add_session(self, session: SessionRecord) -> None: ...
    async def session(self, session_id: str) -> SessionRecord | None: ...


class Journal(Protocol):
    """Where events are kept until the gate closes."""

    async def append(self, session_id: str, reported: Sequence[Event]) -> None: ...
    async def events(self, session_id: str) -> list[Event]: ...


class Sessions:
    """Starts, finds and restores sessions."""

    def __init__(
        self,
        store: SessionStore,
        journal: Journal,
        projects: Projects,
        marks: Marks,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
        self._marks = marks
        self._now = now
        self._live: dict[str, LiveSession] = {}
        self._restoring: dict[str, asyncio.Lock] = {}

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
    ) -> tuple[LiveSession, bytes]:
        """A new session, or the one its owner started before; with its capability."""
        if not 8 <= len(session_id) <= LONGEST_ID or not session_id.isprintable():
            raise BadRequest(f"a session id has 8 to {LONGEST_ID} printable characters")
        if len(claim) < capability.LEAST_CLAIM:
            raise BadRequest(f"a claim has at least {capability.LEAST_CLAIM} bytes")
        if session_type and session_type not in set(SessionType):
            raise BadRequest(
                f"the session type {session_type!r} is not known; "
                f"use one of {', '.join(SessionType)}"
            )
        right = capability.derive(session_id, claim)
        async with self._restoring.setdefault(session_id, asyncio.Lock()):
            known = await self._restored(session_id)
            if known is None:
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
                )
                await self._store.add_session(record)
                known = self._live[session_id] = LiveSession(record, self._marks, self._now())
        if not capability.opens(right, known.record.capability_hash):
            raise SessionOwned(
                "this session was started by another client; start one with a new id"
            )
        return known, right

    async def enter(self, session_id: str, right: bytes) -> LiveSession:
        """The session, for whoever holds its capability."""
        live = self._live.get(session_id)
        if live is None:
            async with self._restoring.setdefault(session_id, asyncio.Lock()):
                live = await self._restored(session_id)
        if live is None:
            raise UnknownSession(f"no session {session_id[:40]!r} is known; start it first")
        if not capability.opens(right, live.record.capability_hash):
            raise WrongCapability("this is not the capability of the session")
        live.last_seen = self._now()
        return live

    async def enter_open(self, session_id: str, right: bytes) -> LiveSession:
        """The same, for those that want to add to it."""
        live = await self.enter(session_id, right)
        if live.record.state is not SessionState.OPEN:
            raise SessionClosed("the session has ended; start a new one")
        return live

    async def accept(self, live: LiveSession, events: Sequence[Event]) -> None:
        """Takes events in for good: returns when they are committed and applied."""
        if events:
            await self._journal.append(live.record.id, events)
            await live.take(events)

    async def forget(self, live: LiveSession) -> None:
        """Lets go of a session whose gate has closed."""
        self._live.pop(live.record.id, None)
        self._restoring.pop(live.record.id, None)
        await live.stop()

    async def stop(self) -> None:
        """Lets go of all; what was acknowledged is in the journal."""
        for live in self:
            await live.stop()

    async def restore(self, record: SessionRecord) -> LiveSession:
        """A stored session, brought to where its journal ends."""
        live = self._live.get(record.id)
        if live is None:
            live = LiveSession(record, self._marks, self._now())
            reported = await self._journal.events(record.id)
            await live.take(reported)
            self._live[record.id] = live
        return live

    async def _restored(self, session_id: str) -> LiveSession | None:
        if session_id in self._live:
            return self._live[session_id]
        record = await self._store.session(session_id)
        return await self.restore(record) if record is not None else None
