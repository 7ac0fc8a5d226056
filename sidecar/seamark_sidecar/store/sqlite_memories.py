"""The record: projects, sessions, memories, and how each came about."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import structlog

from seamark.injections import SessionState
from seamark_sidecar.model.candidate import Promotion, Verdict
from seamark_sidecar.model.marks import EarlierMarks, Marks
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.project import Project
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.model.shown import Point, Shown
from seamark_sidecar.model.vector import Vector
from seamark_sidecar.store.record_rows import (
    MEMORY,
    SESSION,
    VERDICT,
    add_session,
    memory_of,
    put_memory,
    session_of,
    update_session,
    verdict_of,
    verdict_row,
)
from seamark_sidecar.store.record_schema import MIGRATIONS
from seamark_sidecar.store.sqlite_file import SqliteFile
from seamark_sidecar.store.sqlite_marks import marks_of, put_marks

log = structlog.get_logger("seamark.store")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much the record holds."""

    memories: int
    projects: int
    open_sessions: int
    pending_sessions: int


class SqliteMemories:
    """Everything that must survive power loss; one transaction for each ended session."""

    def __init__(self, data_dir: Path) -> None:
        self._file = SqliteFile(data_dir / "memory.db", migrations=MIGRATIONS, synchronous="FULL")

    @property
    def file(self) -> SqliteFile:
        """What it is kept in."""
        return self._file

    def open(self) -> None:
        """Opens the file; raises SidecarError."""
        self._file.open()

    def close(self, timeout: float) -> bool:
        """Commits what is queued."""
        return self._file.close(timeout)

    # Projects.

    async def project(self, key: str, name: str, now: datetime) -> Project:
        """The project of this identity, made known if it is new."""

        def find(connection: sqlite3.Connection) -> Project:
            connection.execute(
                "INSERT OR IGNORE INTO projects (id, key, name, create_time) VALUES (?, ?, ?, ?)",
                ("p_" + uuid.uuid4().hex[:12], key, name, now.timestamp()),
            )
            row = connection.execute(
                "SELECT id, name FROM projects WHERE key = ?", (key,)
            ).fetchone()
            return Project(id=row[0], name=row[1])

        return await self._file.write(find)

    async def projects(self) -> dict[str, Project]:
        """All projects by id."""

        def select(connection: sqlite3.Connection) -> dict[str, Project]:
            rows = connection.execute("SELECT id, name FROM projects")
            return {id_: Project(id=id_, name=name) for id_, name in rows}

        return await self._file.read(select)

    # Sessions.

    async def add_session(self, session: SessionRecord) -> None:
        """Stores a new session; returns when it is committed."""

        await self._file.write(lambda connection: add_session(connection, session))

    async def session(self, session_id: str) -> SessionRecord | None:
        """The session of this id."""

        def select(connection: sqlite3.Connection) -> SessionRecord | None:
            row = connection.execute(
                f"SELECT {SESSION} FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
            return session_of(row) if row else None

        return await self._file.read(select)

    async def find_session(self, beginning: str) -> list[SessionRecord]:
        """Sessions whose id begins so, the newest first; at most a few."""

        def select(connection: sqlite3.Connection) -> list[SessionRecord]:
            rows = connection.execute(
                f"SELECT {SESSION} FROM sessions WHERE substr(id, 1, ?) = ? "
                "ORDER BY start_time DESC LIMIT 5",
                (len(beginning), beginning),
            )
            return [session_of(row) for row in rows]

        return await self._file.read(select)

    async def unfinished_sessions(self) -> list[SessionRecord]:
        """Sessions that are open or pending."""

        def select(connection: sqlite3.Connection) -> list[SessionRecord]:
            rows = connection.execute(
                f"SELECT {SESSION} FROM sessions WHERE state IN (?, ?)",
                (SessionState.OPEN.value, SessionState.PENDING.value),
            )
            return [session_of(row) for row in rows]

        return await self._file.read(select)

    async def update_session(self, session: SessionRecord) -> None:
        """Stores a session's new state; returns when it is committed."""
        await self._file.write(lambda connection: update_session(connection, session))

    async def finish(
        self,
        session: SessionRecord,
        promotion: Promotion,
        accesses: Iterable[tuple[str, int, int]],
        *,
        taught: bool,
        marks: Marks | None = None,
    ) -> list[Memory]:
        """Everything an ended session changes, in one transaction; returns the memories stored."""

        def write(connection: sqlite3.Connection) -> list[Memory]:
            stored = [put_memory(connection, memory) for memory in promotion.memories]
            if marks:
                put_marks(connection, session.project_id, marks)
            if taught:
                connection.executemany(
                    "INSERT OR IGNORE INTO sightings VALUES (?, ?, ?)",
                    [(session.project_id, key, session.id) for key in promotion.sightings],
                )
                connection.executemany(
                    "INSERT OR REPLACE INTO file_accesses VALUES (?, ?, ?, ?, ?)",
                    [
                        (session.project_id, path, session.id, reads, edits)
                        for path, reads, edits in accesses
                    ],
                )
            connection.executemany(
                f"INSERT OR REPLACE INTO verdicts (session_id, position, {VERDICT}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    verdict_row(session.id, position, verdict)
                    for position, verdict in enumerate(promotion.verdicts)
                ],
            )
            update_session(connection, session)
            connection.execute(
                "UPDATE sessions SET taught = ? WHERE id = ?", (int(taught), session.id)
            )
            return stored

        return await self._file.write(write)

    async def group_sessions(self, project_id: str, group: str) -> list[SessionRecord]:
        """The sessions of a work group whose gate has not closed, oldest first."""
        return await self._sessions(
            "WHERE project_id = ? AND work_group = ? AND work_group != '' AND state != ?",
            (project_id, group, SessionState.CLOSED.value),
        )

    async def child_sessions(self, parent_id: str) -> list[SessionRecord]:
        """The sessions whose agents worked for this one's, oldest first."""
        return await self._sessions("WHERE parent_id = ? AND parent_id != ''", (parent_id,))

    async def marks(self, project_id: str) -> EarlierMarks:
        """What sessions left behind that text from outside had come into."""
        return await self._file.read(lambda connection: marks_of(connection, project_id))

    async def taught_count(self, project_id: str) -> int:
        """Validated sessions of a project."""

        def select(connection: sqlite3.Connection) -> int:
            count: int = connection.execute(
                "SELECT count(*) FROM sessions WHERE project_id = ? AND taught = 1", (project_id,)
            ).fetchone()[0]
            return count

        return await self._file.read(select)

    async def touched_files(self, project_id: str) -> dict[str, int]:
        """In how many validated sessions each file was touched."""

        def select(connection: sqlite3.Connection) -> dict[str, int]:
            return dict(
                connection.execute(
                    "SELECT path, count(*) FROM file_accesses WHERE project_id = ? GROUP BY path",
                    (project_id,),
                )
            )

        return await self._file.read(select)

    async def sightings(self, project_id: str, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The validated sessions that found each key, oldest first."""

        def select(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
            return {
                key: tuple(
                    session_id
                    for (session_id,) in connection.execute(
                        "SELECT session_id FROM sightings JOIN sessions ON id = session_id "
                        "WHERE sightings.project_id = ? AND key = ? ORDER BY start_time, id",
                        (project_id, key),
                    )
                )
                for key in keys
            }

        return await self._file.read(select)

    async def learnt(self, project_id: str, keys: Sequence[str]) -> dict[str, str]:
        """The memory that was made of each key, for those that became one."""

        def select(connection: sqlite3.Connection) -> dict[str, str]:
            found = {}
            for key in keys:
                row = connection.execute(
                    "SELECT memory_id FROM verdicts JOIN memories ON memories.id = memory_id "
                    "WHERE key = ? AND project_id = ? ORDER BY create_time LIMIT 1",
                    (key, project_id),
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
            return found

        return await self._file.read(select)

    async def contaminations(self, project_id: str, keys: Sequence[str]) -> dict[str, str]:
        """What contaminated each key in the validated sessions that found it, if anything did."""

        def select(connection: sqlite3.Connection) -> dict[str, str]:
            found = {}
            for key in keys:
                row = connection.execute(
                    "SELECT verdicts.contaminated_by FROM verdicts "
                    "JOIN sightings USING (session_id, key) "
                    "WHERE key = ? AND project_id = ? AND verdicts.contaminated_by != '' LIMIT 1",
                    (key, project_id),
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
            return found

        return await self._file.read(select)

    # Memories.

    async def put(self, memory: Memory) -> Memory:
        """Stores a memory; returns it with its `seq` once it is committed."""
        return await self._file.write(lambda connection: put_memory(connection, memory))

    async def of_project(self, project_id: str) -> list[Memory]:
        """A project's memories, oldest change first."""
        return await self._select("WHERE project_id = ? ORDER BY seq", (project_id,))

    async def latest(self, project_id: str | None, limit: int) -> list[Memory]:
        """The newest memories of a project, or of all."""
        if project_id is None:
            return await self._select("ORDER BY create_time DESC, id LIMIT ?", (limit,))
        return await self._select(
            "WHERE project_id = ? ORDER BY create_time DESC, id LIMIT ?", (project_id, limit)
        )

    # For the index, which follows by `seq`.

    async def changes(self, after: int, limit: int) -> list[Memory]:
        """Memories changed after this `seq`, in its order."""
        return await self._select("WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))

    async def last_seq(self) -> int:
        """Of the newest change."""
        return await self._number("SELECT last_seq FROM changes")

    async def memory_count(self) -> int:
        """All memories."""
        return await self._number("SELECT count(*) FROM memories")

    async def random_seqs(self, limit: int) -> dict[str, int]:
        """Some memories with their `seq`."""

        def select(connection: sqlite3.Connection) -> dict[str, int]:
            return dict(
                connection.execute(
                    "SELECT id, seq FROM memories ORDER BY random() LIMIT ?", (limit,)
                )
            )

        return await self._file.read(select)

    async def vectors(self, memory_ids: Sequence[str], model: str) -> dict[str, Vector]:
        """Their stored vectors of this model."""

        def select(connection: sqlite3.Connection) -> dict[str, Vector]:
            rows = connection.execute(
                "SELECT memory_id, model, dimensions, pooling, text_hash, half_floats "
                f"FROM vectors WHERE model = ? AND memory_id IN ({_marks(memory_ids)})",
                (model, *memory_ids),
            )
            return {
                name: Vector(
                    model=of,
                    dimensions=dimensions,
                    pooling=pooling,
                    text_hash=text_hash,
                    values=values,
                )
                for name, of, dimensions, pooling, text_hash, values in rows
            }

        return await self._file.read(select)

    async def put_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Stores vectors beside their memories."""
        rows = [
            (name, each.model, each.dimensions, each.pooling, each.text_hash, each.values)
            for name, each in vectors.items()
        ]

        def insert(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?)", rows)

        await self._file.write(insert)

    async def _sessions(self, clause: str, values: tuple[object, ...]) -> list[SessionRecord]:
        def select(connection: sqlite3.Connection) -> list[SessionRecord]:
            rows = connection.execute(
                f"SELECT {SESSION} FROM sessions {clause} ORDER BY start_time, id", values
            )
            return [session_of(row) for row in rows]

        return await self._file.read(select)

    async def _number(self, query: str) -> int:
        def select(connection: sqlite3.Connection) -> int:
            number: int = connection.execute(query).fetchone()[0]
            return number

        return await self._file.read(select)

    async def _select(self, clause: str, values: tuple[object, ...]) -> list[Memory]:
        def select(connection: sqlite3.Connection) -> list[Memory]:
            rows = connection.execute(f"SELECT {MEMORY} FROM memories {clause}", values)
            return [memory_of(row) for row in rows]

        return await self._file.read(select)

    # How it came about.

    def note_shown(self, session_id: str, shown: Sequence[Shown], now: datetime) -> None:
        """Takes note of injections without waiting; each counts as an access."""

        def insert(connection: sqlite3.Connection) -> None:
            for each in shown:
                new = connection.execute(
                    "INSERT OR IGNORE INTO injections "
                    "(session_id, memory_id, point, step, label, reason, time) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        session_id,
                        each.memory_id,
                        each.point,
                        each.step,
                        each.label,
                        each.reason,
                        now.timestamp(),
                    ),
                ).rowcount
                if new:
                    connection.execute(
                        "UPDATE memories SET access_count = access_count + 1, access_time = ? "
                        "WHERE id = ?",
                        (now.timestamp(), each.memory_id),
                    )

        self._file.submit(insert).add_done_callback(lambda done: _warn(session_id, done))

    async def shown(self, session_id: str) -> list[Shown]:
        """What a session was shown, in order."""

        def select(connection: sqlite3.Connection) -> list[Shown]:
            rows = connection.execute(
                "SELECT point, step, memory_id, label, reason FROM injections "
                "WHERE session_id = ? ORDER BY position",
                (session_id,),
            )
            return [
                Shown(point=Point(point), step=step, memory_id=memory_id, label=label, reason=why)
                for point, step, memory_id, label, why in rows
            ]

        return await self._file.read(select)

    async def verdicts(self, session_id: str) -> list[Verdict]:
        """What became of a session's candidates."""

        def select(connection: sqlite3.Connection) -> list[Verdict]:
            rows = connection.execute(
                f"SELECT {VERDICT} FROM verdicts WHERE session_id = ? ORDER BY position",
                (session_id,),
            )
            return [verdict_of(row) for row in rows]

        return await self._file.read(select)

    async def counts(self) -> Counts:
        """How much there is."""

        def select(connection: sqlite3.Connection) -> Counts:
            states = dict(connection.execute("SELECT state, count(*) FROM sessions GROUP BY state"))
            return Counts(
                memories=connection.execute("SELECT count(*) FROM memories").fetchone()[0],
                projects=connection.execute("SELECT count(*) FROM projects").fetchone()[0],
                open_sessions=states.get(SessionState.OPEN.value, 0),
                pending_sessions=states.get(SessionState.PENDING.value, 0),
            )

        return await self._file.read(select)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _warn(session_id: str, done: concurrent.futures.Future[None]) -> None:
    error = done.exception()
    if error is not None:
        log.warning("injection_not_noted", session_id=session_id, error=type(error).__name__)
