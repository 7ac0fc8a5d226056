"""`seamark status`: how the sidecar is."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from rich.text import Text

from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.layout import counted, fields
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
    uptime = _uptime(answer)
    show(_lines(answer, settings, uptime), _json(answer, settings, uptime), as_json=as_json)


def _uptime(answer: wire.StatusResponse) -> timedelta | None:
    started = moment(answer.start_time)
    return max(datetime.now(UTC) - started, timedelta()) if started else None


def _json(
    answer: wire.StatusResponse, settings: Settings, uptime: timedelta | None
) -> dict[str, Any]:
    started = moment(answer.start_time)
    return {
        "running": True,
        "version": answer.sidecar_version,
        "pid": answer.process_id,
        "address": settings.address,
        "data_dir": answer.data_dir,
        "start_time": started.isoformat() if started else None,
        "uptime_s": round(uptime.total_seconds(), 3) if uptime is not None else None,
        "oldest_wire": answer.oldest_wire,
        "newest_wire": answer.newest_wire,
        **{name: getattr(answer, name) for name in COUNTS},
    }


def _lines(answer: wire.StatusResponse, settings: Settings, uptime: timedelta | None) -> list[Text]:
    up = f", up {duration(uptime)}" if uptime is not None else ""
    wires = {answer.oldest_wire, answer.newest_wire}
    return [
        Text()
        .append(f"Sidecar {plain(answer.sidecar_version)} is running", "bold green")
        .append(f" (pid {answer.process_id}{up})"),
        *fields(
            [
                ("address", settings.address),
                ("data directory", answer.data_dir),
                ("wire", " to ".join(str(number) for number in sorted(wires))),
                (
                    "memories",
                    f"{answer.memory_count:,} in {counted(answer.project_count, 'project')}",
                ),
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
        ),
    ]


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
