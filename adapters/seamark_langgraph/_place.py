"""Puts chosen texts where the model reads them, and leaves everything else as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage

from seamark_langgraph._state import Frozen

# Content blocks are joined without a separator by some readers.
GAP = "\n\n"

MessageT = TypeVar("MessageT", bound=BaseMessage)


def appended(message: MessageT, text: str) -> MessageT:
    """A copy with the text behind its content; blocks of the app stay the very same objects."""
    content = message.content
    grown: str | list[Any]
    if isinstance(content, str):
        grown = content + GAP + text if content else text
    else:
        grown = [*content, {"type": "text", "text": GAP + text if content else text}]
    return message.model_copy(update={"content": grown})


def with_memory(request: ModelRequest[Any], frozen: Frozen, step_text: str) -> ModelRequest[Any]:
    """The request with the texts of the session's start, and of this step, in their places."""
    messages = _with_first_message(request.messages, frozen)
    if step_text:
        # Last, so that everything before it stays the same from call to call.
        messages = [*messages, HumanMessage(content=step_text)]
    if frozen.system:
        return request.override(
            system_message=_with_system(request.system_message, frozen.system), messages=messages
        )
    return request.override(messages=messages)


def without_tools(request: ModelRequest[Any], withheld: Sequence[object]) -> ModelRequest[Any]:
    """The request as if these tools had never been offered."""
    kept = [each for each in request.tools if not any(each is ours for ours in withheld)]
    return request if len(kept) == len(request.tools) else request.override(tools=kept)


def _with_system(message: SystemMessage | None, text: str) -> SystemMessage:
    return SystemMessage(content=text) if message is None else appended(message, text)


def _with_first_message(messages: list[AnyMessage], frozen: Frozen) -> list[AnyMessage]:
    if not frozen.first_message:
        return messages
    users = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if not users:
        return messages
    # A summary may have taken the place of the message the run began with.
    place = next((at for at in users if messages[at].id == frozen.first_message_id), users[0])
    grown = appended(messages[place], frozen.first_message)
    return [*messages[:place], grown, *messages[place + 1 :]]
