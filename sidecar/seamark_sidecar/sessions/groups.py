"""Sessions that work at the same time on the same thing, and what each sees of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from seamark.injections import SessionState
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.peer import PeerEntry
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.calls.use import Origin
from seamark_sidecar.observer.taint import Source
from seamark_sidecar.promotion.gates import Passage, standing
from seamark_sidecar.retrieval.words import words
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.merging import Member, conflicts
from seamark_sidecar.sessions.sessions import Sessions

MOST_SHOWN = 5


class GroupStore(Protocol):
    """Where the sessions of a group are found."""

    async def group_sessions(self, project_id: str, group: str) -> list[SessionRecord]: ...


class Groups:
    """The work groups of the sessions that are in use."""

    def __init__(self, store: GroupStore, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    async def unfinished(self, record: SessionRecord) -> list[LiveSession]:
        """The members whose gate has not closed, oldest first."""
        work = record.work
        if not work.group:
            return []
        found = []
        for each in await self._store.group_sessions(record.project_id, work.group):
            live = await self._sessions.restore(each.id)
            # It may have closed meanwhile.
            if live is not None and live.record.state is not SessionState.CLOSED:
                found.append(live)
        return found

    def peers(self, record: SessionRecord) -> Iterator[LiveSession]:
        """The other members that are in use now."""
        for live in self._sessions:
            if live.record.id != record.id and _are_peers(live.record, record):
                yield live

    def entries(self, record: SessionRecord) -> list[PeerEntry]:
        """What the others found so far; to be read, and never to be written.

        What is contaminated stays where it is: nobody else should speak with its words.
        """
        return [
            PeerEntry(session_id=live.record.id, role=live.record.role, candidate=candidate)
            for live in self.peers(record)
            for candidate in live.candidates()
            if not candidate.contaminated_by
        ]

    def search(self, record: SessionRecord, query: str) -> list[PeerEntry]:
        """The entries of others that share words with the query, best first."""
        asked = frozenset(words(query))
        if not asked or not record.work.group:
            return []
        scored = [
            (len(asked & frozenset(words(_searched(each)))), each) for each in self.entries(record)
        ]
        hits = [(score, each) for score, each in scored if 2 * score >= len(asked)]
        hits.sort(key=lambda hit: -hit[0])
        return [each for _, each in hits[:MOST_SHOWN]]

    def conflicts(self, record: SessionRecord) -> list[Signal]:
        """Files that this session and others of its group changed, as of now."""
        own = self._sessions.live(record.id)
        if own is None or not record.work.group:
            return []
        members = [member_of(each, ()) for each in (own, *self.peers(record))]
        changed = members[0].changed
        return [signal for signal in conflicts(members) if signal.files[0] in changed]


def spread(members: Sequence[LiveSession]) -> None:
    """Contaminates members that touched what a contaminated one changed at the same time."""
    waiting = [each for each in members if each.contaminated_by]
    clean = [each for each in members if not each.contaminated_by]
    while waiting:
        source = waiting.pop()
        # Beyond what it marks for later sessions: nobody knows when the others looked.
        changed = [path for path, each in source.pad.files.items() if each.is_changed]
        for other in [each for each in clean if not each.pad.files.keys().isdisjoint(changed)]:
            path = next(each for each in changed if each in other.pad.files)
            what = f"{path} was changed by session {source.record.id[:16]} of the same group"
            other.pad.taint.inherit(Source(Origin.DERIVED, 0, what))
            clean.remove(other)
            waiting.append(other)


def is_decided(record: SessionRecord) -> bool:
    """Whether it is known what becomes of an ended session, but for its group."""
    return record.state is SessionState.PENDING and standing(record) is not Passage.WAITING


def member_of(live: LiveSession, candidates: Sequence[Candidate]) -> Member:
    """The session as a member that brings these."""
    return Member(
        session_id=live.record.id,
        role=live.record.role,
        candidates=candidates,
        changed={
            path: access.last_step for path, access in live.pad.files.items() if access.is_changed
        },
    )


def _are_peers(one: SessionRecord, other: SessionRecord) -> bool:
    return (
        bool(one.work.group)
        and one.work.group == other.work.group
        and one.project_id == other.project_id
    )


def _searched(entry: PeerEntry) -> str:
    candidate = entry.candidate
    return " ".join((candidate.type, candidate.content, *candidate.files, *candidate.tags))
