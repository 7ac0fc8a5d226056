"""`seamark explain`: why a session was shown what it was, and what it taught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
from rich.text import Text

from seamark.wire.v1 import operator_pb2
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.layout import indented, wrapped
from seamark_sidecar.cli.options import json_option, sendable
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.records import INDENT, moment, short_id
from seamark_sidecar.cli.terminal import plain, text_width
from seamark_sidecar.settings import Settings

_FATE_STYLES = {
    "promoted": "bold green",
    "reinforced": "bold green",
    "held": "bold yellow",
    "discarded": "bold red",
}


@click.command()
@click.argument("session", required=False, default="", callback=sendable)
@json_option
def explain(session: str, as_json: bool) -> None:
    """Show what a session used and taught, and why.

    SESSION is a session's id or enough of its beginning; without it the latest one is explained.
    Each candidate is shown with what became of it, why, and what would release it; each memory
    that was injected with the point, the step and the reason.

    \b
    Example:
      seamark explain 3f2a
    """
    settings = Settings.from_env(os.environ)
    with connect(settings) as sidecar:
        answer = sidecar.call(
            sidecar.operator.ExplainSession, operator_pb2.ExplainSessionRequest(session_id=session)
        )
    show(_lines(answer, text_width()), _json(answer), as_json=as_json)


def _json(answer: operator_pb2.ExplainSessionResponse) -> dict[str, Any]:
    started = moment(answer.start_time)
    return {
        "session_id": answer.session_id,
        "project_name": answer.project_name,
        "state": answer.state,
        "start_time": started.isoformat() if started else None,
        "line": answer.line,
        "candidates": [
            {
                "signal": each.signal,
                "type": each.type,
                "content": each.content,
                "fate": each.fate,
                "reason": each.reason,
                "release": each.release,
                "memory_id": each.memory_id,
            }
            for each in answer.candidates
        ],
        "injections": [
            {
                "point": each.point,
                "step": each.step,
                "memory_id": each.memory_id,
                "label": each.label,
                "reason": each.reason,
            }
            for each in answer.injections
        ],
    }


def _lines(answer: operator_pb2.ExplainSessionResponse, width: int) -> Iterator[Text]:
    started = moment(answer.start_time)
    since = f", started {started:%Y-%m-%d %H:%M} UTC" if started else ""
    yield (
        Text()
        .append(f"Session {plain(answer.session_id)}", "bold")
        .append(f" of {plain(answer.project_name)}: {plain(answer.state)}{since}")
    )
    if answer.line:
        yield from indented(wrapped(answer.line, width), 0)
    yield Text()
    yield from _section("Candidates", len(answer.candidates), "The session proposed nothing.")
    for candidate in answer.candidates:
        yield from _candidate(candidate, width)
    yield Text()
    yield from _section("Injected", len(answer.injections), "No memory was shown to the agent.")
    for injection in answer.injections:
        yield from _injection(injection, width)


def _section(title: str, count: int, empty: str) -> Iterator[Text]:
    yield Text(f"{title} ({count})", "bold underline")
    if not count:
        yield Text(f"  {empty}", "dim")


def _candidate(candidate: operator_pb2.CandidateFate, width: int) -> Iterator[Text]:
    heading = Text("  ").append(plain(candidate.fate), _FATE_STYLES.get(candidate.fate, "bold"))
    heading.append(f"  {plain(candidate.type)} from {plain(candidate.signal)}")
    if candidate.memory_id:
        heading.append("  ").append(short_id(candidate.memory_id), "yellow")
    yield heading
    yield from indented(wrapped(candidate.content.strip(), width - INDENT), INDENT)
    yield from _remark("why", candidate.reason, width)
    yield from _remark("release", candidate.release, width)


def _injection(injection: operator_pb2.InjectionRecord, width: int) -> Iterator[Text]:
    yield (
        Text(f"  step {injection.step}  ")
        .append(plain(injection.point), "bold")
        .append("  ")
        .append(short_id(injection.memory_id), "yellow")
    )
    yield from indented(wrapped(injection.label, width - INDENT), INDENT)
    yield from _remark("why", injection.reason, width)


def _remark(name: str, text: str, width: int) -> Iterator[Text]:
    if not text:
        return
    column = INDENT + len(name) + 2
    first, *others = wrapped(text, width - column)
    yield Text(" " * INDENT).append(f"{name}: ", "dim").append(first)
    yield from indented(others, column)
