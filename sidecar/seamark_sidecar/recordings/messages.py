"""Lists of messages: LangChain, LangGraph and LangSmith in their several forms, and OpenAI's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from seamark.events import Body, ToolCalled, UserSaid
from seamark_sidecar.recordings import blocks, values
from seamark_sidecar.recordings.pairing import Pairing
from seamark_sidecar.recordings.recording import Recording, Turn
from seamark_sidecar.recordings.values import Row

# What the several forms call whoever speaks.
_ROLES = {
    "human": "user",
    "user": "user",
    "humanmessage": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "tool": "tool",
    "function": "tool",
    "toolmessage": "tool",
    "functionmessage": "tool",
    "system": "system",
    "developer": "system",
    "systemmessage": "system",
}
# Items of OpenAI's responses that are no messages.
_ITEMS = frozenset({"function_call", "function_call_output", "reasoning"})
# Where a conversation stands in the state of a graph or the export of a run.
_PLACES = (
    *("messages", "values", "channel_values", "state", "conversation", "input", "output"),
    *("generations", "message", "kwargs", "data"),
)
_DEEPEST = 6
_LOOKED_AT = 50


def matches(document: object) -> bool:
    """Whether the parsed JSON, or list of parsed lines, holds messages."""
    return bool(_conversations(document))


def read(document: object, name: str) -> list[Recording]:
    """The recordings; `name` is for those that do not say their own."""
    found = _conversations(document)
    return [
        _recording(messages, owner, name if len(found) == 1 else f"{name}-{position}")
        for position, (owner, messages) in enumerate(found, 1)
    ]


def _recording(messages: list[Row], owner: Row, name: str) -> Recording:
    turns = tuple(_turns(messages))
    metadata = values.row(values.row(owner.get("extra")).get("metadata"))
    given = (
        values.text(source.get(key))
        for source in (owner, metadata)
        for key in ("session_id", "thread_id", "trace_id", "run_id", "id")
    )
    return Recording(
        session_id=next(filter(None, given), "") or name,
        task=next((turn.body.text for turn in turns if isinstance(turn.body, UserSaid)), ""),
        root=values.text(metadata.get("cwd")),
        started=values.seconds(owner.get("start_time")),
        turns=turns,
    )


# Finding them.


def _conversations(document: object) -> list[tuple[Row, list[Row]]]:
    """Each conversation with what it stands in."""
    if isinstance(document, list):
        if _are_messages(document):
            return [({}, values.rows(document))]
        # Runs, or states: the one of a trace that tells the most stands for all of it.
        longest: dict[str, tuple[Row, list[Row]]] = {}
        for position, owner in enumerate(values.rows(document)):
            messages = _messages(owner, 0)
            trace = values.text(owner.get("trace_id")) or str(position)
            if messages and len(messages) > len(longest.get(trace, ({}, []))[1]):
                longest[trace] = owner, messages
        return list(longest.values())
    owner = values.row(document)
    messages = _messages(owner, 0)
    return [(owner, messages)] if messages else []


def _messages(value: object, depth: int) -> list[Row]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        if _are_messages(value):
            return values.rows(value)
        # A batch of one, as model runs are kept.
        return _messages(value[0], depth + 1) if len(value) == 1 else []
    owner = values.row(value)
    if _is_message(owner):
        return [owner]
    before = _messages(owner.get("inputs"), depth + 1)
    after = _messages(owner.get("outputs"), depth + 1)
    if before or after:
        # A graph gives back the whole of its state, a model only its answer.
        return after if len(after) > len(before) else [*before, *after]
    found = (_messages(owner[place], depth + 1) for place in _PLACES if place in owner)
    return next(filter(None, found), [])


def _are_messages(value: Sequence[object]) -> bool:
    return bool(value) and all(_is_message(values.row(each)) for each in islice(value, _LOOKED_AT))


def _is_message(message: Row) -> bool:
    return bool(_role(message) or _item_kind(message))


def _item_kind(message: Row) -> str:
    kind = values.text(message.get("type"))
    return kind if kind in _ITEMS else ""


def _role(message: Row) -> str:
    inner = _inner(message)
    for value in (inner.get("role"), message.get("role"), message.get("type")):
        if isinstance(value, str) and value.lower() in _ROLES and _says(inner):
            return _ROLES[value.lower()]
    kind = message.get("id")
    if message.get("type") == "constructor" and isinstance(kind, list) and kind:
        return _ROLES.get(values.text(kind[-1]).lower(), "")
    return ""


def _says(inner: Row) -> bool:
    return "content" in inner or "tool_calls" in inner


def _inner(message: Row) -> Row:
    """The message itself: some forms wrap it."""
    for wrap in ("kwargs", "data"):
        if isinstance(message.get(wrap), dict):
            return values.row(message[wrap])
    return message


# Reading them.


def _turns(messages: list[Row]) -> Iterator[Turn]:
    pairing = Pairing()
    step = 0
    last = ""
    for message in messages:
        inner = _inner(message)
        item = _item_kind(message)
        role = _role(message) or ("tool" if item == "function_call_output" else "assistant")
        # Items that follow each other are parts of one answer; a message is one by itself.
        if role == "assistant" and (last != "item" or not item):
            step += 1
        last = "item" if role == "assistant" and item else role
        when = _time(message, inner)
        for body in _item(message) if item else _bodies(inner, role):
            yield Turn(step=step, seconds=when, body=pairing.placed(body))


def _time(message: Row, inner: Row) -> float | None:
    for source in (inner, message):
        for key in ("timestamp", "created_at", "created"):
            if (found := values.seconds(source.get(key))) is not None:
                return found
    return None


def _item(item: Row) -> Iterator[Body]:
    match item.get("type"):
        case "function_call":
            yield values.called(item.get("call_id"), item.get("name"), item.get("arguments"))
        case "function_call_output":
            yield values.returned(item.get("call_id"), item.get("output"), failed=False)
        case "reasoning":
            yield from blocks.thought(item.get("summary") or item.get("content"))


def _bodies(message: Row, role: str) -> Iterator[Body]:
    content = message.get("content")
    match role:
        case "user":
            yield from blocks.bodies(content, by_model=False)
        case "tool":
            yield values.returned(
                message.get("tool_call_id"),
                content,
                failed=message.get("status") == "error" or bool(message.get("is_error")),
            )
        case "assistant":
            yield from _answer(message, content)


def _answer(message: Row, content: object) -> Iterator[Body]:
    extra = values.row(message.get("additional_kwargs"))
    for source in (message, extra):
        yield from blocks.thought(source.get("reasoning_content") or source.get("reasoning"))
    calls = [*_calls(message)] or [*_calls(extra)]
    for body in blocks.bodies(content, by_model=True):
        # The same calls may stand in the content and beside it.
        if not (calls and isinstance(body, ToolCalled)):
            yield body
    yield from calls
    metadata = values.row(message.get("response_metadata"))
    usage = message.get("usage_metadata") or metadata.get("token_usage") or message.get("usage")
    if (used := values.taken(usage)) is not None:
        yield used


def _calls(source: Row) -> Iterator[ToolCalled]:
    for call in values.rows(source.get("tool_calls")):
        function = values.row(call.get("function"))
        yield values.called(
            call.get("id"),
            call.get("name") or function.get("name"),
            call.get("args", call.get("arguments", function.get("arguments"))),
        )
    # As it was before a message could hold several.
    if isinstance(source.get("function_call"), dict):
        function = values.row(source["function_call"])
        yield values.called("", function.get("name"), function.get("arguments"))
