"""What a session has from the one it works for, and from those that work for it."""

from __future__ import annotations

from typing import Protocol

from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.observer.calls.use import Origin
from seamark_sidecar.observer.taint import Source
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.sessions import Sessions


class SessionStore(Protocol):
    """Where relatives are found."""

    async def child_sessions(self, parent_id: str) -> list[SessionRecord]: ...


class Lineage:
    """Contamination goes from agent to agent: the worst of a line counts for all after it."""

    def __init__(self, store: SessionStore, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    async def trace(self, live: LiveSession) -> None:
        """Tells the session's taint of the agents that worked for it."""
        children = await self._store.child_sessions(live.record.id)
        for child in children:
            if self._contamination(child):
                live.pad.taint.subagent_was_contaminated(
                    Source(Origin.SUBAGENT, 0, f"session {child.id[:16]}")
                )
                return
        if children:
            live.pad.taint.clear_subagents()

    def _contamination(self, record: SessionRecord) -> str:
        live = self._sessions.live(record.id)
        if live is None:
            return record.contaminated_by
        return live.contaminated_by
