"""`seamark observe`: a session as it happens."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from seamark.wire.v1 import operator_pb2 as wire
from seamark_sidecar.cli import observed
from seamark_sidecar.cli.connection import Connection, connect
from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.cli.layout import shortened
from seamark_sidecar.cli.options import project_hint, sendable
from seamark_sidecar.cli.output import show, show_json
from seamark_sidecar.cli.terminal import complain, plain, text_width
from seamark_sidecar.settings import Settings

LOOK_EVERY = 0.25  # seconds
_OPEN = "open"
_MOST_CALLS = 10
_MOST_FILES = 8
_MOST_SIGNALS = 10
_MOST_CANDIDATES = 6


@click.command()
@click.argument("session", required=False, default="", callback=sendable)
@click.option(
    "--project",
    metavar="PATH",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With no session named: only those of the project at this directory.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each new thing.")
def observe(session: str, project: Path | None, as_json: bool) -> None:
    """Watch a session: its calls, files, signals and candidates as they come.

    SESSION is a session's id or enough of its beginning; without it the one heard of last is
    watched, and the next one waited for when there is none. Ends with the session, or Ctrl-C.

    \b
    Example:
      seamark observe
      seamark observe 3f2a --json
    """
    settings = Settings.from_env(os.environ)
    hint = project_hint(project) if project is not None else None
    request = wire.ObserveSessionRequest(session_id=session, project=hint)
    with connect(settings) as sidecar:
        try:
            if as_json:
                _stream(sidecar, request, _JsonLines())
            elif sys.stdout.isatty():
                _live(sidecar, request)
            else:
                _stream(sidecar, request, _PlainLines())
        except KeyboardInterrupt:
            # The way out that people have.
            return


def _answers(
    sidecar: Connection, request: wire.ObserveSessionRequest
) -> Iterator[wire.ObserveSessionResponse | None]:
    """What is new, again and again until the session ends; None while there is nothing."""
    watched = False
    while True:
        try:
            answer = sidecar.call(sidecar.operator.ObserveSession, request)
        except CommandFailed as failure:
            if failure.reason == "UNKNOWN_SESSION" and not request.session_id:
                yield None
                time.sleep(LOOK_EVERY)
                continue
            # A named session may have ended long ago: that is said. One that was watched ended now.
            if failure.reason == "SESSION_CLOSED" and watched:
                return
            raise
        watched = True
        # From now on this one, also when another is heard of.
        request.session_id = answer.session_id
        request.known_event_count = answer.event_count
        request.known_call_count += len(answer.calls)
        yield answer
        if answer.state != _OPEN:
            return
        time.sleep(LOOK_EVERY)


# As lines.


class _JsonLines:
    """For programs: one object for each new or changed thing."""

    def waiting(self) -> None:
        """There is no session yet."""

    def found(self, kind: str, thing: dict[str, Any]) -> None:
        show_json({"event": kind, **thing})


class _PlainLines:
    """For a person whose output goes into a file or a pipe."""

    def waiting(self) -> None:
        complain("no session is under way; waiting for one")

    def found(self, kind: str, thing: dict[str, Any]) -> None:
        show([f"{kind}  {_said(kind, thing)}"], {}, as_json=False)


def _stream(
    sidecar: Connection, request: wire.ObserveSessionRequest, out: _JsonLines | _PlainLines
) -> None:
    told: set[str] = set()
    for count, answer in enumerate(_answers(sidecar, request)):
        if answer is None:
            if count == 0:
                out.waiting()
            continue
        for kind, thing in _things(answer):
            mark = f"{kind} {json.dumps(thing, sort_keys=True)}"
            # A call is told once by the sidecar; a finding again and again, also as it grows.
            if kind == "call" or mark not in told:
                out.found(kind, thing)
                if kind != "call":
                    told.add(mark)
    out.found("ended", {"session_id": request.session_id})


def _things(answer: wire.ObserveSessionResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    yield (
        "session",
        {
            "session_id": answer.session_id,
            "project_name": answer.project_name,
            "state": answer.state,
            "type": answer.session_type,
            "origin": answer.origin,
        },
    )
    if answer.unchanged:
        return
    for call in answer.calls:
        yield "call", observed.call_json(call)
    for tests in answer.tests:
        yield "tests", observed.run_json(tests)
    for signal in answer.signals:
        yield "signal", observed.signal_json(signal)
    for candidate in answer.candidates:
        yield "candidate", observed.candidate_json(candidate)


def _said(kind: str, thing: dict[str, Any]) -> str:
    files = ", ".join(thing.get("files", ()))
    match kind:
        case "session":
            return f"{thing['session_id']} of {thing['project_name']}: {thing['state']}"
        case "call":
            return f"step {thing['step']}  {thing['action']}  {thing['tool']}  {files}"
        case "tests":
            return f"step {thing['step']}  passed {thing['passed']}, failed {thing['failed']}"
        case "signal":
            return f"step {thing['step']}  {thing['type']}  {thing.get('content', '')}  {files}"
        case "candidate":
            return f"step {thing['step']}  {thing['type']}  {thing['content']}"
        case _:
            return str(thing["session_id"])


# As a view that moves.


def _live(sidecar: Connection, request: wire.ObserveSessionRequest) -> None:
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    calls: deque[wire.ObservedCall] = deque(maxlen=_MOST_CALLS)
    view: Group | Text = Text("No session is under way; waiting for one.", "dim")
    with Live(view, console=console, auto_refresh=False) as live:
        for answer in _answers(sidecar, request):
            if answer is not None and not answer.unchanged:
                calls.extend(answer.calls)
                view = Group(*_view(answer, calls, text_width()))
                live.update(view, refresh=True)
    show([f"The session has ended: seamark explain {request.session_id[:16]}"], {}, as_json=False)


def _view(
    answer: wire.ObserveSessionResponse, calls: deque[wire.ObservedCall], width: int
) -> Iterator[Text]:
    heading = Text().append(f"Session {plain(answer.session_id[:16])}", "bold")
    heading.append(f" of {plain(answer.project_name)}: {plain(answer.state)}, step {answer.step}")
    heading.append(f", {answer.event_count:,} events")
    yield heading
    if answer.task:
        yield Text(f"  {shortened(answer.task, width - 2)}", "dim")
    yield from _section("Calls", len(calls))
    for call in calls:
        line = f"step {call.step}  {call.action}  {call.tool}  {', '.join(call.files)}"
        yield Text(f"  {shortened(line, width - 2)}")
    yield from _section("Files", len(answer.files))
    for file in list(answer.files)[-_MOST_FILES:]:
        line = f"{file.path}  read {file.reads}, edited {file.edits}, written {file.writes}"
        yield Text(f"  {shortened(line, width - 2)}", "cyan")
    yield from _section("Signals", len(answer.signals))
    for signal in sorted(answer.signals, key=lambda each: each.step)[-_MOST_SIGNALS:]:
        about = signal.content or ", ".join(signal.files)
        line = f"step {signal.step}  {signal.type} {signal.confidence:.2f}  {about}"
        yield Text(f"  {shortened(line, width - 2)}")
    yield from _section("Candidates", len(answer.candidates))
    for candidate in sorted(answer.candidates, key=lambda each: each.step)[-_MOST_CANDIDATES:]:
        line = f"{candidate.type}  {candidate.content}"
        yield Text(f"  {shortened(line, width - 2)}", "green")


def _section(title: str, count: int) -> Iterator[Text]:
    if count:
        yield Text(f"{title} ({count:,})", "bold underline")
