"""The journal: what agents reported, until the gate of their session closes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import structlog

from seamark import codec
from seamark.events import Event
from seamark.wire.v1 import events_pb2 as events
from seamark_sidecar.store.sqlite_file import SqliteFile

log = structlog.get_logger("seamark.store")

# Of one session; the oldest make room for the newest.
MOST_CHECKPOINTS = 200

MIGRATIONS = (
    """
    CREATE TABLE events (
        arrival INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        producer_id TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        -- When it arrived: the clocks of agents' machines decide nothing here.
        time REAL NOT NULL,
        message BLOB NOT NULL,
        UNIQUE (session_id, producer_id, sequence)
    );
    CREATE TABLE checkpoints (
        session_id TEXT NOT NULL,
        label TEXT NOT NULL,
        event_count INTEGER NOT NULL,
        time REAL NOT NULL
    );
    CREATE INDEX checkpoints_by_session ON checkpoints (session_id);
    CREATE TABLE suspects (
        name TEXT PRIMARY KEY,
        crashes INTEGER NOT NULL
    );
    """,
)


class SqliteJournal:
    """Events by session, each stored once however often it is sent."""

    def __init__(self, data_dir: Path) -> None:
        self._file = SqliteFile(
            data_dir / "journal.db", migrations=MIGRATIONS, synchronous="NORMAL"
        )

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

    async def append(self, session_id: str, reported: Sequence[Event], now: datetime) -> None:
        """Returns when the events are committed; those that were there before change nothing."""
        rows = [
            (
                session_id,
                event.producer_id,
                event.sequence,
                now.timestamp(),
                codec.event_to_wire(
                    event.sequence, event.time.timestamp(), event.body
                ).SerializeToString(),
            )
            for event in reported
        ]

        def insert(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR IGNORE INTO events "
                "(session_id, producer_id, sequence, time, message) VALUES (?, ?, ?, ?, ?)",
                rows,
            )

        await self._file.write(insert)

    async def events(self, session_id: str) -> list[Event]:
        """A session's events in the order they arrived."""

        def select(connection: sqlite3.Connection) -> list[Event]:
            rows = connection.execute(
                "SELECT producer_id, message FROM events WHERE session_id = ? ORDER BY arrival",
                (session_id,),
            )
            found = (_event(producer_id, message) for producer_id, message in rows)
            return [event for event in found if event is not None]

        return await self._file.read(select)

    async def checkpoint(
        self, session_id: str, label: str, event_count: int, now: datetime
    ) -> None:
        """Marks a boundary of the work; returns when it is committed."""

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO checkpoints VALUES (?, ?, ?, ?)",
                (session_id, label, event_count, now.timestamp()),
            )
            connection.execute(
                "DELETE FROM checkpoints WHERE rowid <= (SELECT rowid FROM checkpoints "
                "WHERE session_id = ? ORDER BY rowid DESC LIMIT 1 OFFSET ?) AND session_id = ?",
                (session_id, MOST_CHECKPOINTS, session_id),
            )

        await self._file.write(insert)

    async def delete(self, session_id: str) -> None:
        """Forgets a session's events."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
            connection.execute("DELETE FROM checkpoints WHERE session_id = ?", (session_id,))
            beginning = f"{session_id}/"
            connection.execute(
                "DELETE FROM suspects WHERE substr(name, 1, ?) = ?", (len(beginning), beginning)
            )

        await self._file.write(delete)

    async def delete_before(self, time: datetime) -> int:
        """Forgets events that arrived before this; returns how many."""

        def delete(connection: sqlite3.Connection) -> int:
            connection.execute("DELETE FROM checkpoints WHERE time < ?", (time.timestamp(),))
            return connection.execute(
                "DELETE FROM events WHERE time < ?", (time.timestamp(),)
            ).rowcount

        return await self._file.write(delete)

    async def session_ids(self) -> set[str]:
        """The sessions that have something here."""

        def select(connection: sqlite3.Connection) -> set[str]:
            rows = connection.execute(
                "SELECT session_id FROM events UNION SELECT session_id FROM checkpoints"
            )
            return {row[0] for row in rows}

        return await self._file.read(select)

    async def last_time(self, session_id: str) -> datetime | None:
        """When a session's last event arrived."""

        def select(connection: sqlite3.Connection) -> float | None:
            time: float | None = connection.execute(
                "SELECT max(time) FROM events WHERE session_id = ?", (session_id,)
            ).fetchone()[0]
            return time

        time = await self._file.read(select)
        return datetime.fromtimestamp(time, UTC) if time is not None else None

    async def event_count(self) -> int:
        """All events in the journal."""

        def select(connection: sqlite3.Connection) -> int:
            count: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
            return count

        return await self._file.read(select)

    async def suspect(self, names: Sequence[str]) -> dict[str, int]:
        """Counts one more crash for each name; returns all suspects with their crashes."""

        def count(connection: sqlite3.Connection) -> dict[str, int]:
            connection.executemany(
                "INSERT INTO suspects VALUES (?, 1) "
                "ON CONFLICT (name) DO UPDATE SET crashes = crashes + 1",
                [(name,) for name in names],
            )
            return dict(connection.execute("SELECT name, crashes FROM suspects"))

        return await self._file.write(count)


def _event(producer_id: str, message: bytes) -> Event | None:
    try:
        return codec.event_from_wire(producer_id, events.Event.FromString(message))
    except Exception as error:  # noqa: BLE001 - one damaged row must not lose the others
        log.warning("event_unreadable", producer_id=producer_id, error=type(error).__name__)
        return None
