"""What the calls need from storage, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from seamark_sidecar.model.candidate import Verdict
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.project import Project
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.model.shown import Shown
from seamark_sidecar.model.vitals import Vitals


class Counts(Protocol):
    """How much the record holds."""

    @property
    def memories(self) -> int: ...
    @property
    def projects(self) -> int: ...
    @property
    def open_sessions(self) -> int: ...
    @property
    def pending_sessions(self) -> int: ...


class Record(Protocol):
    """For the status."""

    async def counts(self) -> Counts: ...


class Gauge(Protocol):
    """For the status."""

    async def read(self) -> Vitals: ...


class Room(Protocol):
    """For the status."""

    @property
    def reason(self) -> str: ...


class CheckpointJournal(Protocol):
    """For checkpoints."""

    async def checkpoint(
        self, session_id: str, label: str, event_count: int, now: datetime
    ) -> None: ...


class Library(Protocol):
    """For people who look at and add to memory."""

    async def put(self, memory: Memory) -> Memory: ...
    async def latest(self, project_id: str | None, limit: int) -> list[Memory]: ...
    async def projects(self) -> dict[str, Project]: ...
    async def find_session(self, beginning: str) -> list[SessionRecord]: ...
    async def verdicts(self, session_id: str) -> list[Verdict]: ...
    async def shown(self, session_id: str) -> list[Shown]: ...
