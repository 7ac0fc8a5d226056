"""Decides for live sessions and keeps the account of what each was shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from seamark.injections import Citation, Injection, MemoryHit, SearchResult
from seamark_sidecar.injection import render
from seamark_sidecar.injection.decide import Decider, Ledger, View, habits
from seamark_sidecar.model.memory import Memory, label_of
from seamark_sidecar.model.peer import PeerEntry
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.model.shown import Point, Shown
from seamark_sidecar.retrieval.shelf import Found, Shelf
from seamark_sidecar.retrieval.shelves import Shelves

DEFAULT_LIMIT = 8
MOST_HITS = 50


class Account(Protocol):
    """Where it is kept what was shown, and what sessions did before."""

    def note_shown(self, session_id: str, shown: Sequence[Shown], now: datetime) -> None: ...
    async def shown(self, session_id: str) -> list[Shown]: ...
    async def taught_count(self, project_id: str) -> int: ...
    async def touched_files(self, project_id: str) -> dict[str, int]: ...


class Finder(Protocol):
    """What answers a search."""

    async def find(
        self,
        project_id: str,
        query: str,
        *,
        types: Sequence[str] = (),
        files: Sequence[str] = (),
        limit: int,
    ) -> list[Found]: ...


class Injector:
    """The four injection points and the search, for any session."""

    def __init__(
        self,
        shelves: Shelves,
        account: Account,
        now: Callable[[], datetime],
        *,
        finder: Finder | None = None,
        decider: Decider | None = None,
    ) -> None:
        self._shelves = shelves
        self._finder = finder or shelves
        self._account = account
        self._now = now
        self._decider = decider or Decider()
        self._ledgers: dict[str, Ledger] = {}

    async def at_start(self, session: SessionRecord) -> tuple[Injection, Injection]:
        """For the system prompt and the first user message."""
        shelf = await self._shelves.of(session.project_id)
        ledger = await self._ledger(session, shelf)
        sessions = await self._account.taught_count(session.project_id)
        touched = await self._account.touched_files(session.project_id)
        before = len(ledger.shown)
        chosen = self._decider.at_start(
            shelf, ledger, sessions=sessions, habits=habits(touched, sessions)
        )
        self._note(session.id, ledger, before)
        return chosen

    async def before_step(self, session: SessionRecord, view: View, step: int) -> Injection:
        """The block before a model call."""
        shelf = await self._shelves.of(session.project_id)
        ledger = await self._ledger(session, shelf)
        before = len(ledger.shown)
        chosen = self._decider.before_step(shelf, ledger, view, step=step)
        self._note(session.id, ledger, before)
        return chosen

    async def after_tool(
        self, session: SessionRecord, view: View, call_id: str, step: int
    ) -> Injection:
        """What belongs beside a tool's result."""
        shelf = await self._shelves.of(session.project_id)
        ledger = await self._ledger(session, shelf)
        before = len(ledger.shown)
        chosen = self._decider.after_tool(shelf, ledger, view, call_id=call_id, step=step)
        self._note(session.id, ledger, before)
        return chosen

    async def search(
        self,
        session: SessionRecord,
        query: str,
        *,
        types: Sequence[str],
        files: Sequence[str],
        limit: int,
        step: int,
        peers: Sequence[PeerEntry] = (),
    ) -> SearchResult:
        """What the agent asked for; counts as shown.

        Args:
            peers: What other sessions of its work group found that fits, and nobody validated.
        """
        shelf = await self._shelves.of(session.project_id)
        ledger = await self._ledger(session, shelf)
        found = await self._finder.find(
            session.project_id,
            query,
            types=types,
            files=files,
            limit=min(limit or DEFAULT_LIMIT, MOST_HITS),
        )
        shown_before = frozenset(ledger.shown)
        before = len(ledger.shown)
        for each in found:
            if each.memory.id not in ledger.shown:
                ledger.enter(_searched(each.memory, step), 0)
        self._note(session.id, ledger, before)
        return SearchResult(
            hits=(
                *(hit(each, shown=each.memory.id in shown_before) for each in found),
                *map(_unvalidated, peers),
            ),
            text=render.search_text([each.memory for each in found], shown_before, peers),
        )

    async def used(self, session: SessionRecord) -> tuple[Citation, ...]:
        """What a session was shown so far."""
        ledger = await self._ledger(session, await self._shelves.of(session.project_id))
        return tuple(
            Citation(memory_id=each.memory_id, label=each.label, reason=each.reason)
            for each in ledger.shown.values()
        )

    def forget(self, session_id: str) -> None:
        """Lets go of a session's ledger; the account keeps what it says."""
        self._ledgers.pop(session_id, None)

    async def _ledger(self, session: SessionRecord, shelf: Shelf) -> Ledger:
        ledger = self._ledgers.get(session.id)
        if ledger is None:
            ledger = Ledger()
            for each in await self._account.shown(session.id):
                ledger.resume(each, shelf.get(each.memory_id))
            ledger = self._ledgers.setdefault(session.id, ledger)
        return ledger

    def _note(self, session_id: str, ledger: Ledger, before: int) -> None:
        new = list(ledger.shown.values())[before:]
        if new:
            self._account.note_shown(session_id, new, self._now())


def _searched(memory: Memory, step: int) -> Shown:
    return Shown(
        point=Point.SEARCH,
        step=step,
        memory_id=memory.id,
        label=memory.label,
        reason="the agent searched for it",
    )


def _unvalidated(entry: PeerEntry) -> MemoryHit:
    candidate = entry.candidate
    return MemoryHit(
        memory_id="",
        type=candidate.type,
        content=candidate.content,
        files=candidate.files,
        confidence=0.0,
        score=0.0,
        label=label_of(candidate.type, candidate.content),
        shown=False,
        needs_review=True,
        unvalidated=True,
        finder=entry.finder,
    )


def hit(found: Found, *, shown: bool = False) -> MemoryHit:
    """A found memory as it leaves the sidecar."""
    memory = found.memory
    return MemoryHit(
        memory_id=memory.id,
        type=memory.type,
        content=memory.content,
        files=memory.files,
        confidence=memory.confidence,
        score=found.score,
        label=memory.label,
        shown=shown,
        needs_review=memory.needs_review,
    )
