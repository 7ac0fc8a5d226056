"""The sidecar's own parts, put together without a process or a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seamark.events import Body, Event
from seamark_sidecar.injection.injector import Injector
from seamark_sidecar.jobs import Caretaker
from seamark_sidecar.promotion.promoter import Promoter
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.groups import Groups
from seamark_sidecar.sessions.lineage import Lineage
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.outside import Outside
from seamark_sidecar.sessions.projects import Projects
from seamark_sidecar.sessions.quarantine import Quarantine
from seamark_sidecar.sessions.sessions import Sessions
from seamark_sidecar.store.crash_marks import CrashMarks
from seamark_sidecar.store.git_checkout import identify
from seamark_sidecar.store.sqlite_journal import SqliteJournal
from seamark_sidecar.store.sqlite_memories import SqliteMemories

CLAIM = b"a claim of 16 b."
TIMEOUT = timedelta(hours=1)


@dataclass
class Engine:
    """One life of a sidecar; a new one on the same directory is the next."""

    directory: Path
    now: datetime = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __post_init__(self) -> None:
        self.memories = SqliteMemories(self.directory)
        self.journal = SqliteJournal(self.directory)
        self.memories.open()
        self.journal.open()
        self.marks = CrashMarks(self.directory / "crash.marks")
        self.shelves = Shelves(self.memories)
        projects = Projects(self.memories, identify, self.clock)
        outside = Outside(self.memories)
        self.sessions = Sessions(
            self.memories, self.journal, projects, Quarantine(self.marks, {}), self.clock, outside
        )
        self.groups = Groups(self.memories, self.sessions)
        self.injector = Injector(self.shelves, self.memories, self.clock)
        self.ending = Ending(
            self.sessions,
            self.memories,
            self.journal,
            self.shelves,
            Promoter(self.clock),
            self.injector,
            self.clock,
            groups=self.groups,
            lineage=Lineage(self.memories, self.sessions),
            outside=outside,
        )

    def clock(self) -> datetime:
        return self.now

    def caretaker(self, **changed: Any) -> Caretaker:
        parts = {"record": self.memories, "journal": self.journal, **changed}
        return Caretaker(
            parts["record"],
            parts["journal"],
            self.sessions,
            self.ending,
            self.clock,
            session_timeout=TIMEOUT,
            validation_timeout=TIMEOUT,
            journal_age=timedelta(days=7),
        )

    async def start(
        self, session_id: str = "session-1", session_type: str = "", **about: Any
    ) -> LiveSession:
        live, _ = await self.sessions.start(
            session_id=session_id,
            claim=CLAIM,
            project_path="",
            project_name="shop",
            session_type=session_type,
            **{"role": "", "task": "", **about},
        )
        return live

    def events(self, *bodies: Body, first: int = 1, producer: str = "p") -> Sequence[Event]:
        return [
            Event(producer_id=producer, sequence=number, time=self.now, body=body)
            for number, body in enumerate(bodies, first)
        ]

    def close(self) -> None:
        self.marks.close()
        assert self.journal.close(5.0)
        assert self.memories.close(5.0)
