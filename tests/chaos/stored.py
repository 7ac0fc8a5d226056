"""What a sidecar has stored, read from its files without asking it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from seamark.codec import event_from_wire
from seamark.events import Event
from seamark.wire.v1 import events_pb2
from seamark_sidecar.model.memory import memory_id

_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One row of the record."""

    id: str
    project_id: str
    type: str
    content: str
    sessions: tuple[str, ...]
    seq: int


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """What became of one candidate."""

    content: str
    fate: str
    memory_id: str


@dataclass(slots=True)
class Stored:
    """The journal, then the record: what closed in between has its verdicts."""

    # By session, in the order of arrival.
    events: dict[str, list[Event]] = field(default_factory=dict)
    # The state of each session.
    sessions: dict[str, str] = field(default_factory=dict)
    memories: list[StoredMemory] = field(default_factory=list)
    verdicts: dict[str, list[StoredVerdict]] = field(default_factory=dict)
    last_seq: int = 0
    # What SQLite finds wrong with either file.
    damage: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, data_dir: Path) -> Stored:
        stored = cls()
        with _opened(data_dir / "journal.db") as journal:
            stored._note_damage(journal, "journal.db")
            stored._read_events(journal)
        with _opened(data_dir / "memory.db") as record:
            stored._note_damage(record, "memory.db")
            stored._read_record(record)
        return stored

    @property
    def seqs(self) -> dict[str, int]:
        """The memories and their versions, which is what the index must have."""
        return {memory.id: memory.seq for memory in self.memories}

    def _note_damage(self, file: sqlite3.Connection, name: str) -> None:
        verdict = file.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            self.damage.append(f"{name}: {verdict}")

    def _read_events(self, journal: sqlite3.Connection) -> None:
        events: defaultdict[str, list[Event]] = defaultdict(list)
        for session, producer, message in journal.execute(
            "SELECT session_id, producer_id, message FROM events ORDER BY arrival"
        ):
            events[session].append(event_from_wire(producer, events_pb2.Event.FromString(message)))
        self.events = dict(events)

    def _read_record(self, record: sqlite3.Connection) -> None:
        self.sessions = dict(record.execute("SELECT id, state FROM sessions"))
        self.memories = [
            StoredMemory(id_, project, type_, content, tuple(json.loads(sessions)), seq)
            for id_, project, type_, content, sessions, seq in record.execute(
                "SELECT id, project_id, type, content, sessions, seq FROM memories"
            )
        ]
        verdicts: defaultdict[str, list[StoredVerdict]] = defaultdict(list)
        for session, content, fate, memory in record.execute(
            "SELECT session_id, content, fate, memory_id FROM verdicts"
        ):
            verdicts[session].append(StoredVerdict(content, fate, memory))
        self.verdicts = dict(verdicts)
        (self.last_seq,) = record.execute("SELECT last_seq FROM changes").fetchone()


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the index holds."""

    # The memories and their versions.
    seqs: dict[str, int]
    # Those that have a vector of meaning.
    embedded: frozenset[str]


def indexed(data_dir: Path) -> Indexed | None:
    """Reads a copy of the index, so that whoever has it open is not disturbed.

    None when the copy cannot be read: the original may be in the middle of a change.
    """
    with tempfile.TemporaryDirectory() as room:
        copy = Path(room, "index")
        try:
            shutil.copytree(data_dir / "index", copy, copy_function=_copy_sparse)
            return _scrolled(copy)
        except (Exception, BaseExceptionGroup):  # noqa: BLE001 - whatever the engine finds wrong
            return None
        except BaseException as error:
            # The engine's panics are no exceptions like others.
            if type(error).__name__ != "PanicException":
                raise
            return None


def _scrolled(directory: Path) -> Indexed:
    shard = edge.EdgeShard.load(str(directory))
    try:
        points, _ = shard.scroll(
            edge.ScrollRequest(limit=_ALL, with_payload=True, with_vector=True)
        )
        vectors: dict[str, Any] = {_name(each): each.vector or {} for each in points}
        return Indexed(
            seqs={_name(each): int((each.payload or {})["seq"]) for each in points},
            embedded=frozenset(name for name, found in vectors.items() if "dense" in found),
        )
    finally:
        shard.close()


def _name(point: Any) -> str:
    return memory_id(int(str(point.id)))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # Read-only: a reader that may write could repair what it should find.
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
        connection.execute("BEGIN")
        yield connection


def _copy_sparse(source: str, target: str) -> str:
    """A copy without the holes, which are most of these files."""
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        start = 0
        while start < size:
            try:
                start = os.lseek(old.fileno(), start, os.SEEK_DATA)
            except OSError:  # Nothing but a hole from here.
                break
            end = os.lseek(old.fileno(), start, os.SEEK_HOLE)
            new.seek(start)
            new.write(os.pread(old.fileno(), end - start, start))
            start = end
    return target
