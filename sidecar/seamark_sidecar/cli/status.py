"""`seamark status`: how the sidecar is."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from google.protobuf.timestamp_pb2 import Timestamp
from rich.text import Text

from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.layout import columns, counted, fields, size_of
from seamark_sidecar.cli.options import json_option
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.records import moment
from seamark_sidecar.cli.terminal import plain
from seamark_sidecar.settings import Settings

COUNTS = (
    "memory_count",
    "project_count",
    "open_session_count",
    "pending_session_count",
    "event_count",
    "rejected_event_count",
    "dropped_event_count",
    "redacted_secret_count",
    "quarantined_event_count",
)
SHORT_ID = 8
MOST_SESSIONS = 20


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show whether the sidecar runs, where, and what it holds.

    The exit code is 1 when no sidecar answers.

    \b
    Example:
      seamark status --json
    """
    settings = Settings.from_env(os.environ)
    with connect(settings) as sidecar:
        answer = sidecar.call(sidecar.sidecar.Status, wire.StatusRequest())
    now = datetime.now(UTC)
    show(_lines(answer, settings, now), _json(answer, settings, now), as_json=as_json)


def _json(answer: wire.StatusResponse, settings: Settings, now: datetime) -> dict[str, Any]:
    uptime = _since(answer.start_time, now)
    return {
        "running": True,
        "version": answer.sidecar_version,
        "pid": answer.process_id,
        "address": settings.address,
        "data_dir": answer.data_dir,
        "start_time": _time(answer.start_time),
        "uptime_s": round(uptime.total_seconds(), 3) if uptime is not None else None,
        "oldest_wire": answer.oldest_wire,
        "newest_wire": answer.newest_wire,
        **{name: getattr(answer, name) for name in COUNTS},
        "learning_stop_reason": answer.learning_stop_reason,
        "processes": [
            {
                "name": each.name,
                "pid": each.process_id,
                "resident_bytes": each.resident_bytes,
                "restart_count": each.restart_count,
            }
            for each in answer.processes
        ],
        "files": [{"name": each.name, "size_bytes": each.size_bytes} for each in answer.files],
        "index": {
            "ready": answer.index.ready,
            "applied_seq": answer.index.applied_seq,
            "last_seq": answer.index.last_seq,
            "rebuild_count": answer.index.rebuild_count,
            "model": answer.index.model,
            "fault": answer.index.fault,
        },
        "sessions": [
            {
                "session_id": each.session_id,
                "project_id": each.project_id,
                "state": each.state,
                "event_count": each.event_count,
                "missing_count": each.missing_count,
                "dropped_count": each.dropped_count,
                "queued_count": each.queued_count,
                "breaker_open": each.breaker_open,
                "last_seen_time": _time(each.last_seen_time),
            }
            for each in answer.sessions
        ],
    }


def _lines(answer: wire.StatusResponse, settings: Settings, now: datetime) -> list[Text]:
    uptime = _since(answer.start_time, now)
    up = f", up {duration(uptime)}" if uptime is not None else ""
    lines = [
        Text()
        .append(f"Sidecar {plain(answer.sidecar_version)} is running", "bold green")
        .append(f" (pid {answer.process_id}{up})")
    ]
    if answer.learning_stop_reason:
        lines.append(
            Text("It learns nothing: ", "bold red").append(plain(answer.learning_stop_reason))
        )
    lines += fields(_facts(answer, settings))
    if answer.processes:
        lines += [Text("Processes", "bold"), *columns(_processes(answer), right=frozenset({2}))]
    if answer.files:
        files = [(each.name, size_of(each.size_bytes)) for each in answer.files]
        lines += [Text("Files", "bold"), *columns(files, right=frozenset({1}))]
    if answer.sessions:
        lines.append(Text("Sessions in use", "bold"))
        lines += columns(_sessions(answer, now), right=frozenset({2, 3, 4, 5}))
        if (more := len(answer.sessions) - MOST_SESSIONS) > 0:
            lines.append(Text(f"  and {counted(more, 'other')}; --json shows them"))
    return lines


def _facts(answer: wire.StatusResponse, settings: Settings) -> list[tuple[str, str]]:
    wires = {answer.oldest_wire, answer.newest_wire}
    return [
        ("address", settings.address),
        ("data directory", answer.data_dir),
        ("wire", " to ".join(str(number) for number in sorted(wires))),
        ("memories", f"{answer.memory_count:,} in {counted(answer.project_count, 'project')}"),
        ("index", index_state(answer.index)),
        (
            "sessions",
            f"{answer.open_session_count:,} open, "
            f"{answer.pending_session_count:,} waiting for validation",
        ),
        (
            "events",
            f"{answer.event_count:,} stored, {answer.rejected_event_count:,} rejected, "
            f"{answer.dropped_event_count:,} dropped, "
            f"{answer.quarantined_event_count:,} quarantined",
        ),
        ("secrets", f"{answer.redacted_secret_count:,} redacted"),
    ]


def index_state(index: wire.IndexStatus) -> str:
    """How far the index has come, and with what."""
    behind = max(0, index.last_seq - index.applied_seq)
    if not index.ready:
        state = f"being built, {index.applied_seq:,} of {counted(index.last_seq, 'change')}"
    elif behind:
        state = f"{counted(behind, 'change')} behind"
    else:
        state = f"up to date ({counted(index.last_seq, 'change')})"
    parts = [state, index.model or "no embedding model"]
    if index.rebuild_count:
        parts.append(f"built anew {counted(index.rebuild_count, 'time')}")
    if index.fault:
        parts.append(index.fault)
    return ", ".join(parts)


def _processes(answer: wire.StatusResponse) -> list[tuple[str, str, str, str]]:
    return [
        (
            each.name,
            f"pid {each.process_id}" if each.process_id else "being started",
            size_of(each.resident_bytes),
            f"restarted {counted(each.restart_count, 'time')}" if each.restart_count else "",
        )
        for each in answer.processes
    ]


def _sessions(answer: wire.StatusResponse, now: datetime) -> list[tuple[str, ...]]:
    return [
        (
            each.session_id[:SHORT_ID],
            each.state,
            counted(each.event_count, "event"),
            f"{each.queued_count:,} queued",
            f"{each.missing_count:,} missing",
            f"{each.dropped_count:,} dropped",
            _seen(each, now),
            "skips calls" if each.breaker_open else "",
        )
        for each in answer.sessions[:MOST_SESSIONS]
    ]


def _seen(session: wire.SessionStatus, now: datetime) -> str:
    ago = _since(session.last_seen_time, now)
    return f"{duration(ago)} ago" if ago is not None else ""


def _time(stamp: Timestamp) -> str | None:
    time = moment(stamp)
    return time.isoformat() if time else None


def _since(stamp: Timestamp, now: datetime) -> timedelta | None:
    time = moment(stamp)
    return max(now - time, timedelta()) if time else None


def duration(amount: timedelta) -> str:
    """The two largest units: `3 d 4 h`, `2 min 5 s`."""
    seconds = int(amount.total_seconds())
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        number, seconds = divmod(seconds, size)
        if number or (unit == "s" and not parts):
            parts.append(f"{number} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])
