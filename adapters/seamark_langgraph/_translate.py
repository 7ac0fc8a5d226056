"""Framework objects in, events out; what a tool means is not decided here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from langchain.agents.middleware import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from seamark.events import (
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)

# Blocks whose contents are not text, by the names that providers give them.
MEDIA = frozenset(
    {
        "audio",
        "document",
        "file",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "media",
        "video",
    }
)


def new_user_messages(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """What a person said since the model last spoke."""
    new: list[HumanMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        if isinstance(message, HumanMessage):
            new.append(message)
    return new[::-1]


def steps_since(messages: Sequence[BaseMessage], message_id: str) -> int:
    """How often the model spoke after this user message; after the last one if it is gone."""
    steps = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and message.id == message_id:
            return steps
        steps += isinstance(message, AIMessage)
    users = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    behind = messages[users[-1] :] if users else messages
    return sum(isinstance(message, AIMessage) for message in behind)


def user_said(message: HumanMessage) -> UserSaid:
    """A user message as text."""
    return UserSaid(text=text_of(message.content))


def tool_called(call: Mapping[str, Any]) -> ToolCalled:
    """A tool call with its arguments as one JSON object."""
    return ToolCalled(
        call_id=call_id_of(call),
        tool=str(call.get("name") or ""),
        arguments_json=_json(call.get("args") or {}),
    )


def tool_returned(call_id: str, result: object) -> ToolReturned:
    """What a tool gave back, as a message, inside a Command, or as a list of these."""
    message = _message_of(call_id, result)
    if message is None:
        return ToolReturned(call_id=call_id, outcome=Outcome.OK)
    return ToolReturned(
        call_id=call_id,
        outcome=Outcome.ERROR if message.status == "error" else Outcome.OK,
        result=text_of(message.content),
    )


def tool_raised(call_id: str, error: BaseException) -> ToolReturned:
    """A tool call that ended in an exception."""
    return ToolReturned(
        call_id=call_id, outcome=Outcome.ERROR, result=f"{type(error).__name__}: {error}"
    )


def texts_produced(message: AIMessage) -> list[TextProduced]:
    """What the model thought and said, in its order; neighbours of one kind are one text."""
    return [
        TextProduced(kind=kind, text=text)
        for kind, pieces in groupby(_pieces(message), key=lambda piece: piece[0])
        if (text := "\n".join(piece for _, piece in pieces)).strip()
    ]


def step_completed(messages: Iterable[AIMessage]) -> StepCompleted:
    """The end of one model call with the tokens it took."""
    usages = [message.usage_metadata for message in messages if message.usage_metadata]
    return StepCompleted(
        input_tokens=sum(usage.get("input_tokens") or 0 for usage in usages),
        output_tokens=sum(usage.get("output_tokens") or 0 for usage in usages),
    )


def answers_of(response: object) -> list[AIMessage]:
    """The model's own messages in whatever a model call gives back."""
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    messages = response.result if isinstance(response, ModelResponse) else [response]
    return [message for message in messages if isinstance(message, AIMessage)]


def call_id_of(call: Mapping[str, Any]) -> str:
    """The id that a call and its result share."""
    return str(call.get("id") or "")


def text_of(content: object) -> str:
    """Any content as text; what is not text is named, not copied."""
    if isinstance(content, str):
        return content
    if isinstance(content, bytes | bytearray):
        return bytes(content).decode("utf-8", "replace")
    if isinstance(content, Mapping):
        return _block_text(content)
    if isinstance(content, Sequence):
        return "\n".join(text for part in content if (text := text_of(part)))
    return "" if content is None else str(content)


def _block_text(block: Mapping[Any, Any]) -> str:
    if isinstance(text := block.get("text"), str):
        return text
    kind = block.get("type")
    return f"[{kind}]" if isinstance(kind, str) and kind in MEDIA else _json(block)


def _pieces(message: AIMessage) -> Iterator[tuple[TextKind, str]]:
    for block in message.content_blocks:
        if block["type"] == "reasoning":
            yield TextKind.REASONING, block.get("reasoning") or ""
        elif block["type"] == "text":
            yield TextKind.ANSWER, block.get("text") or ""


def _message_of(call_id: str, result: object) -> ToolMessage | None:
    if isinstance(result, ToolMessage):
        return result
    for message in _messages_in(result):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return message
    return None


def _messages_in(result: object) -> Iterator[AnyMessage | object]:
    if isinstance(result, Command):
        update = result.update
        pairs = update.items() if isinstance(update, Mapping) else _pairs(update)
        for key, value in pairs:
            if key == "messages":
                yield from value if isinstance(value, list | tuple) else [value]
    elif isinstance(result, list | tuple):
        for part in result:
            yield from _messages_in(part)
    else:
        yield result


def _pairs(update: object) -> Iterator[tuple[object, object]]:
    if isinstance(update, list | tuple):
        for pair in update:
            if isinstance(pair, tuple) and len(pair) == 2:
                yield pair


def _json(value: object) -> str:
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError):
        # Keys that JSON cannot have, or a circle.
        return json.dumps({"unreadable": str(value)}, ensure_ascii=False)
    except RecursionError:
        return '{"unreadable": "nested too deeply"}'
