"""Values out of parsed JSON that may be of any shape; none of these functions raises."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from seamark.events import Outcome, StepCompleted, ToolCalled, ToolReturned

_LAST_SECOND = 253_402_300_799  # of the year 9999
_MILLISECONDS_FROM = 10_000_000_000
_MOST_TOKENS = 2**32 - 1
_DEEPEST = 8
# `command` is what an editor tool is to do, not what a shell is to run.
_EDITOR_COMMANDS = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})

Row = Mapping[str, Any]


def row(value: object) -> Row:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Row]:
    """The objects in a list; whatever else is there is left out."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text(value: object, depth: int = 0) -> str:
    """The text, also of a list of parts; of anything else, nothing."""
    if isinstance(value, str):
        return value
    if depth == _DEEPEST:
        return ""
    if isinstance(value, dict):
        return text(value.get("text"), depth + 1) or text(value.get("content"), depth + 1)
    if isinstance(value, list):
        parts = (text(part, depth + 1) for part in value)
        return "\n".join(part for part in parts if part)
    return ""


def output(value: object) -> str:
    """What a tool gave back, as text."""
    if value is None or isinstance(value, str | list):
        return text(value)
    return text(value) or _json(value)


def number(value: object, unless: int = 0) -> int:
    """The whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return unless
    return int(value)


def seconds(value: object) -> float | None:
    """The instant since the epoch, from an ISO date or a number of seconds or milliseconds."""
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value.strip()[:40])
            found = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        found = value / 1000 if value > _MILLISECONDS_FROM else float(value)
    else:
        return None
    return found if 0 < found < _LAST_SECOND else None


def called(call_id: object, tool: object, arguments: object) -> ToolCalled:
    """A tool call. One that holds a raw command is the call of a shell with just that command."""
    given = _arguments(arguments)
    command = given.get("command")
    if isinstance(command, str) and command not in _EDITOR_COMMANDS:
        return ToolCalled(
            call_id=text(call_id), tool="bash", arguments_json=_json({"command": command})
        )
    return ToolCalled(call_id=text(call_id), tool=text(tool), arguments_json=_json(given))


def returned(call_id: object, result: object, *, failed: bool) -> ToolReturned:
    """How a tool call ended."""
    return ToolReturned(
        call_id=text(call_id),
        outcome=Outcome.ERROR if failed else Outcome.OK,
        result=output(result),
    )


def taken(usage: object) -> StepCompleted | None:
    """The tokens of one model call, in the words of any provider; None when it does not say."""
    said = row(usage)
    read = (
        _tokens(said, "input_tokens", "prompt_tokens")
        + _tokens(said, "cache_read_input_tokens")
        + _tokens(said, "cache_creation_input_tokens")
    )
    written = _tokens(said, "output_tokens", "completion_tokens")
    if not read and not written:
        return None
    return StepCompleted(input_tokens=min(read, _MOST_TOKENS), output_tokens=written)


def _tokens(said: Row, *names: str) -> int:
    for name in names:
        if count := number(said.get(name)):
            return max(0, min(count, _MOST_TOKENS))
    return 0


def _arguments(value: object) -> Row:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"input": value}
    return row(value)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return "{}"
