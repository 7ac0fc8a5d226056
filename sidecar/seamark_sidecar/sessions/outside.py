"""What earlier sessions of each project left behind of text from outside."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Protocol

from seamark_sidecar.model.marks import NO_MARKS, EarlierMarks
from seamark_sidecar.model.session import SessionOrigin, SessionRecord

MOST_PROJECTS = 16


class MarkStore(Protocol):
    """Where it is kept."""

    async def marks(self, project_id: str) -> EarlierMarks: ...


@dataclass(slots=True)
class _Known:
    until: int = 0
    spans: MutableMapping[int, int] = field(default_factory=dict)
    files: MutableMapping[str, int] = field(default_factory=dict)


class Outside:
    """Reads it once for each project; its live sessions share one copy."""

    def __init__(self, store: MarkStore) -> None:
        self._store = store
        self._known: dict[str, _Known] = {}

    async def point(self, project_id: str) -> int:
        """How far the project's history has come."""
        return (await self._of(project_id)).until

    async def before(self, record: SessionRecord) -> EarlierMarks:
        """What was known when this session started; nothing for one that is only recalled."""
        if record.origin is not SessionOrigin.LIVE:
            return NO_MARKS
        known = await self._of(record.project_id)
        return EarlierMarks(record.marks_until, known.spans, known.files)

    async def refresh(self, project_id: str) -> None:
        """A session has left something."""
        if project_id in self._known:
            await self._read(project_id, self._known[project_id])

    async def _of(self, project_id: str) -> _Known:
        known = self._known.get(project_id)
        if known is None:
            known = await self._read(project_id, _Known())
            if len(self._known) >= MOST_PROJECTS:
                # Sessions that are alive keep the copy they have.
                del self._known[next(iter(self._known))]
            known = self._known.setdefault(project_id, known)
        return known

    async def _read(self, project_id: str, known: _Known) -> _Known:
        fresh = await self._store.marks(project_id)
        # In place: sessions that look at an earlier point look at the same tables.
        known.until = fresh.until
        known.spans.clear()
        known.spans.update(fresh.spans)
        known.files.clear()
        known.files.update(fresh.files)
        return known
