"""What a sidecar has stored, read from its journal without asking it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from seamark.codec import event_from_wire
from seamark.events import Event
from seamark.wire.v1 import events_pb2


class JournalDamaged(RuntimeError):
    """SQLite finds the file inconsistent."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One event with the session it belongs to."""

    session_id: str
    event: Event


def events(data_dir: Path) -> Iterator[Stored]:
    """All rows of the journal, as many times as they are there; the file must be sound."""
    with _opened(data_dir) as file:
        verdict = file.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            raise JournalDamaged(f"the journal is damaged: {verdict}")
        rows = file.execute("SELECT session_id, producer_id, sequence, message FROM events")
        for session_id, producer_id, sequence, message in rows:
            event = event_from_wire(producer_id, events_pb2.Event.FromString(message))
            if event.sequence != sequence:
                raise JournalDamaged(f"row {sequence} of {session_id} holds {event.sequence}")
            yield Stored(session_id, event)


def count(data_dir: Path, session_id: str) -> int:
    """How many events of a session are stored."""
    with _opened(data_dir) as file:
        found: int = file.execute(
            "SELECT count(*) FROM events WHERE session_id = ?", (session_id,)
        ).fetchone()[0]
    return found


def _opened(data_dir: Path) -> closing[sqlite3.Connection]:
    # Read-only: a reader that may write could repair what it should find.
    return closing(sqlite3.connect(f"file:{data_dir}/journal.db?mode=ro", uri=True))
