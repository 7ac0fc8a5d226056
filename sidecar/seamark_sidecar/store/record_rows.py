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
from seamark_sidecar.model.phase import Phase
from seamark_sidecar.model.session import SessionOrigin, SessionRecord, SessionType, Work
from seamark_sidecar.model.signal import SignalKind

MEMORY = (
    "id, project_id, type, content, confidence, source, signal, files, tags, sessions, "
    "create_time, access_time, access_count, pinned, needs_review, contaminated_by, seq"
)
SESSION = (
    "id, project_id, root, type, role, task, capability_hash, state, start_time, end_time, "
    "outcome, summary, origin, vouched, work_group, parent_id, methodology, stage, phase, "
    "work_unit, planned_steps, validated, marks_until, contaminated_by"
)
VERDICT = "signal, source, type, content, key, fate, reason, release, memory_id, contaminated_by"


def _marks(columns: str) -> str:
    return ", ".join("?" for _ in columns.split(", "))


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
        f"INSERT INTO memories ({MEMORY}) VALUES ({_marks(MEMORY)}) "
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
            memory.contaminated_by,
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
        contaminated_by=str(values["contaminated_by"]),
        seq=int(str(values["seq"])),
    )


def session_of(row: tuple[object, ...]) -> SessionRecord:
    values = dict(zip(SESSION.split(", "), row, strict=True))
    end, outcome, summary = values["end_time"], values["outcome"], values["summary"]
    hash_, validated = values["capability_hash"], values["validated"]
    return SessionRecord(
        id=str(values["id"]),
        project_id=str(values["project_id"]),
        root=str(values["root"]),
        type=SessionType(str(values["type"])),
        role=str(values["role"]),
        task=str(values["task"]),
        capability_hash=hash_ if isinstance(hash_, bytes) else b"",
        state=SessionState(values["state"]),
        started=_time(float(str(values["start_time"]))),
        ended=_time(float(str(end))) if end is not None else None,
        outcome=SessionOutcome(outcome) if outcome is not None else None,
        summary=codec.summary_from_wire(wire.SessionSummary.FromString(summary))
        if isinstance(summary, bytes)
        else None,
        origin=SessionOrigin(str(values["origin"])),
        vouched=bool(values["vouched"]),
        work=Work(
            group=str(values["work_group"]),
            parent=str(values["parent_id"]),
            methodology=str(values["methodology"]),
            stage=str(values["stage"]),
            phase=Phase.named(str(values["phase"])),
            unit=tuple(json.loads(str(values["work_unit"]))),
            planned_steps=int(str(values["planned_steps"])),
        ),
        validated=bool(validated) if validated is not None else None,
        marks_until=int(str(values["marks_until"])),
        contaminated_by=str(values["contaminated_by"]),
    )


def add_session(connection: sqlite3.Connection, session: SessionRecord) -> None:
    work = session.work
    row = {
        "id": session.id,
        "project_id": session.project_id,
        "root": session.root,
        "type": session.type,
        "role": session.role,
        "task": session.task,
        "capability_hash": session.capability_hash,
        "state": session.state.value,
        "start_time": session.started.timestamp(),
        "origin": session.origin,
        "vouched": int(session.vouched),
        "work_group": work.group,
        "parent_id": work.parent,
        "methodology": work.methodology,
        "stage": work.stage,
        "phase": work.phase or "",
        "work_unit": json.dumps(work.unit),
        "planned_steps": work.planned_steps,
        "marks_until": session.marks_until,
        "contaminated_by": session.contaminated_by,
    }
    connection.execute(
        f"INSERT INTO sessions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        tuple(row.values()),
    )


def update_session(connection: sqlite3.Connection, session: SessionRecord) -> None:
    connection.execute(
        "UPDATE sessions SET state = ?, end_time = ?, outcome = ?, summary = ?, validated = ?, "
        "contaminated_by = ? WHERE id = ?",
        (
            session.state.value,
            session.ended.timestamp() if session.ended else None,
            session.outcome.value if session.outcome else None,
            codec.summary_to_wire(session.summary).SerializeToString() if session.summary else None,
            session.validated,
            session.contaminated_by,
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
        candidate.contaminated_by,
    )


def verdict_of(row: tuple[str, ...]) -> Verdict:
    signal, source, type_, content, key, fate, reason, release, memory_id, contaminated_by = row
    return Verdict(
        candidate=Candidate(
            signal=SignalKind(signal),
            source=Source(source),
            type=MemoryType(type_),
            content=content,
            key=key,
            contaminated_by=contaminated_by,
        ),
        fate=Fate(fate),
        reason=reason,
        release=release,
        memory_id=memory_id,
    )
