"""The neutral form: one JSON object with its events in a list.

`{session_id, repo, branch, task, started, events}`, each event `{type: step|reasoning|tool_call|
tool_result|user, step, tool, id, args, result, is_error, text, kind, tokens, ts}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from seamark.events import (
    Body,
    StepCompleted,
    TextKind,
    TextProduced,
    UserSaid,
)
from seamark_sidecar.recordings import values
from seamark_sidecar.recordings.pairing import Pairing
from seamark_sidecar.recordings.recording import Recording, Turn
from seamark_sidecar.recordings.roots import checkout_root
from seamark_sidecar.recordings.values import Row

# What a converter guessed, never the agent's own.
_GUESSED = frozenset({"files", "bash_kind", "native_tool"})
_SAID_ALOUD = "say"
_LONGEST_COMMAND = 2000
_PATHS = ("file_path", "path", "notebook_path", "cwd")


def matches(document: object) -> bool:
    """Whether the parsed JSON is of this form."""
    events = values.row(document).get("events")
    return isinstance(events, list) and all(
        isinstance(each, dict) and isinstance(each.get("type"), str) for each in events
    )


def read(document: Row, name: str) -> Recording:
    """The recording; `name` is for one that does not say its own."""
    rows = values.rows(document.get("events"))
    repo = values.text(document.get("repo"))
    paths = [path for row in rows for path in _paths(row)]
    return Recording(
        session_id=values.text(document.get("session_id")) or name,
        task=values.text(document.get("task")),
        repo=repo,
        branch=values.text(document.get("branch")),
        root=values.text(document.get("root")) or checkout_root(paths, repo),
        started=values.seconds(document.get("started")),
        turns=tuple(_turns(rows)),
    )


def _turns(rows: list[Row]) -> Iterator[Turn]:
    pairing = Pairing()
    step = 0
    for row in rows:
        step = values.number(row.get("step"), unless=step)
        when = values.seconds(row.get("ts"))
        for body in _bodies(row):
            yield Turn(step=step, seconds=when, body=pairing.placed(body))


def _bodies(row: Row) -> Iterator[Body]:
    said = values.text(row.get("text"))
    tokens = max(0, values.number(row.get("tokens")))
    match row.get("type"):
        case "step":
            yield StepCompleted(input_tokens=tokens)
        case "user":
            yield UserSaid(text=said)
        case "reasoning":
            aloud = row.get("kind") == _SAID_ALOUD
            yield TextProduced(kind=TextKind.ANSWER if aloud else TextKind.REASONING, text=said)
            if tokens:
                yield StepCompleted(output_tokens=tokens)
        case "tool_call":
            own = {
                key: value
                for key, value in values.row(row.get("args")).items()
                if key not in _GUESSED
            }
            yield values.called(row.get("id"), row.get("tool"), own)
            if tokens:
                yield StepCompleted(input_tokens=tokens)
        case "tool_result":
            failed = bool(row.get("is_error"))
            yield values.returned(row.get("id"), row.get("result"), failed=failed)


def _paths(row: Row) -> Iterator[str]:
    arguments = values.row(row.get("args"))
    for key in _PATHS:
        if path := values.text(arguments.get(key)):
            yield path
    for word in values.text(arguments.get("command"))[:_LONGEST_COMMAND].split():
        path = word.strip("\"'`;()")
        if path.startswith("/"):
            yield f"{path}/"
