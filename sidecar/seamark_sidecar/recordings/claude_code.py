"""Transcripts of Claude Code: one JSON object a line, a content block or two in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seamark.events import Body, UserSaid
from seamark_sidecar.recordings import blocks, values
from seamark_sidecar.recordings.pairing import Pairing
from seamark_sidecar.recordings.recording import Recording, Turn
from seamark_sidecar.recordings.values import Row

_SPOKEN = frozenset({"user", "assistant"})
_APP_TAGS = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "[Request interrupted")
# What every line of a conversation has.
_MARKS = ("sessionId", "uuid")


def matches(lines: Sequence[object]) -> bool:
    """Whether the parsed lines are of this form."""
    return any(
        values.text(values.row(line).get("type")) in _SPOKEN
        and "message" in values.row(line)
        and any(mark in values.row(line) for mark in _MARKS)
        for line in lines
    )


def read(lines: Sequence[object], name: str) -> Recording:
    """The recording; `name` is for one that does not say its own.

    A subagent's talk is another session: it is left out, unless it is all there is.
    """
    spoken = [row for row in map(values.row, lines) if values.text(row.get("type")) in _SPOKEN]
    entries = _once(spoken)
    own = [entry for entry in entries if not entry.get("isSidechain")]
    agent = "" if own else _first(entries, "agentId")
    turns = tuple(_turns(own or entries))
    session_id = _first(entries, "sessionId") or name
    return Recording(
        session_id=f"{session_id}/{agent}" if agent else session_id,
        task=next((turn.body.text for turn in turns if isinstance(turn.body, UserSaid)), ""),
        branch=_first(entries, "gitBranch"),
        root=_first(entries, "cwd"),
        turns=turns,
    )


def _once(entries: list[Row]) -> list[Row]:
    """A resumed session repeats the lines of the one before."""
    seen: set[str] = set()
    kept = []
    for entry in entries:
        uuid = values.text(entry.get("uuid"))
        if not uuid or uuid not in seen:
            kept.append(entry)
            seen.add(uuid)
    return kept


def _is_by_app(entry: Row, text: str) -> bool:
    """Whether the app itself wrote this in the person's name."""
    return bool(entry.get("isMeta") or entry.get("isCompactSummary")) or text.lstrip().startswith(
        _APP_TAGS
    )


def _first(entries: list[Row], key: str) -> str:
    return next((found for entry in entries if (found := values.text(entry.get(key)))), "")


def _turns(entries: list[Row]) -> Iterator[Turn]:
    pairing = Pairing()
    step = 0
    message_id: object = None
    for entry in entries:
        message = values.row(entry.get("message"))
        by_model = entry.get("type") == "assistant"
        if by_model:
            # Lines with the same id are parts of one answer.
            step += message.get("id") is None or message.get("id") != message_id
            message_id = message.get("id")
        when = values.seconds(entry.get("timestamp"))
        for body in _bodies(entry, message, by_model=by_model):
            yield Turn(step=step, seconds=when, body=pairing.placed(body))


def _bodies(entry: Row, message: Row, *, by_model: bool) -> Iterator[Body]:
    for body in blocks.bodies(message.get("content"), by_model=by_model):
        if not (isinstance(body, UserSaid) and _is_by_app(entry, body.text)):
            yield body
    if by_model and (used := values.taken(message.get("usage"))) is not None:
        yield used
