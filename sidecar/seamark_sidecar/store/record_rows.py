"""Memories, sessions and verdicts as rows of the record, and back."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from datetime import UTC, datetime

from seamark import codec
from seamark.events import SessionOutcome
from seamark.injections import SessionState
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.model.candidate import Candidate, Fate, Verdict
from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.session import SessionRecord, SessionType
from seamark_sidecar.model.signal import SignalKind

MEMORY = (
    "id, project_id, type, content, confidence, source, signal, files, tags, sessions, "
    "create_time, access_time, access_count, pinned, needs_review, seq"
)
SESSION = (
    "id, project_id, root, type, role, task, capability_hash, state, start_time, end_time, "
    "outcome, summary"
)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def put_memory(connection: sqlite3.Connection, memory: Memory) -> Memory:
    seq: int = connection.execute(
        "UPDATE changes SET last_seq = last_seq + 1 RETURNING last_seq"
    ).fetchone()[0]
    # What is counted when a memory is shown is not part of what is known about it.
    changed = ", ".join(
        f"{column} = excluded.{column}"
        for column in MEMORY.split(", ")
        if column not in {"id", "create_time", "access_time", "access_count"}
    )
    connection.execute(
        f"INSERT INTO memories ({MEMORY}) VALUES ({', '.join('?' * 16)}) "
        f"ON CONFLICT (id) DO UPDATE SET {changed}",
        (
            memory.id,
            memory.project_id,
            memory.type,
            memory.content,
            memory.confidence,
            memory.source,
            memory.signal,
            json.dumps(memory.files),
            json.dumps(memory.tags),
            json.dumps(memory.sessions),
            memory.created.timestamp(),
            memory.accessed.timestamp(),
            memory.access_count,
            int(memory.pinned),
            int(memory.needs_review),
            seq,
        ),
    )
    return dataclasses.replace(memory, seq=seq)


def memory_of(row: tuple[object, ...]) -> Memory:
    values = dict(zip(MEMORY.split(", "), row, strict=True))
    return Memory(
        id=str(values["id"]),
        project_id=str(values["project_id"]),
        type=MemoryType(str(values["type"])),
        content=str(values["content"]),
        confidence=float(str(values["confidence"])),
        source=Source(str(values["source"])),
        signal=str(values["signal"]),
        files=tuple(json.loads(str(values["files"]))),
        tags=tuple(json.loads(str(values["tags"]))),
        sessions=tuple(json.loads(str(values["sessions"]))),
        created=_time(float(str(values["create_time"]))),
        accessed=_time(float(str(values["access_time"]))),
        access_count=int(str(values["access_count"])),
        pinned=bool(values["pinned"]),
        needs_review=bool(values["needs_review"]),
        seq=int(str(values["seq"])),
    )


def session_of(row: tuple[object, ...]) -> SessionRecord:
    id_, project_id, root, type_, role, task, hash_, state, start, end, outcome, summary = row
    return SessionRecord(
        id=str(id_),
        project_id=str(project_id),
        root=str(root),
        type=SessionType(str(type_)),
        role=str(role),
        task=str(task),
        capability_hash=hash_ if isinstance(hash_, bytes) else b"",
        state=SessionState(state),
        started=_time(float(str(start))),
        ended=_time(float(str(end))) if end is not None else None,
        outcome=SessionOutcome(outcome) if outcome is not None else None,
        summary=codec.summary_from_wire(wire.SessionSummary.FromString(summary))
        if isinstance(summary, bytes)
        else None,
    )


def update_session(connection: sqlite3.Connection, session: SessionRecord) -> None:
    connection.execute(
        "UPDATE sessions SET state = ?, end_time = ?, outcome = ?, summary = ? WHERE id = ?",
        (
            session.state.value,
            session.ended.timestamp() if session.ended else None,
            session.outcome.value if session.outcome else None,
            codec.summary_to_wire(session.summary).SerializeToString() if session.summary else None,
            session.id,
        ),
    )


def verdict_row(session_id: str, position: int, verdict: Verdict) -> tuple[object, ...]:
    candidate = verdict.candidate
    return (
        session_id,
        position,
        candidate.signal,
        candidate.source,
        candidate.type,
        candidate.content,
        candidate.key,
        verdict.fate,
        verdict.reason,
        verdict.release,
        verdict.memory_id,
    )


def verdict_of(row: tuple[str, ...]) -> Verdict:
    signal, source, type_, content, key, fate, reason, release, memory_id = row
    return Verdict(
        candidate=Candidate(
            signal=SignalKind(signal),
            source=Source(source),
            type=MemoryType(type_),
            content=content,
            key=key,
        ),
        fate=Fate(fate),
        reason=reason,
        release=release,
        memory_id=memory_id,
    )
