"""The content of one message, as the model providers write it, in our own terms."""

from __future__ import annotations

from collections.abc import Iterator

from seamark.events import Body, TextKind, TextProduced, UserSaid
from seamark_sidecar.recordings import values
from seamark_sidecar.recordings.values import Row

# How a thought is called, and under which keys its text stands.
_THOUGHTS = ("thinking", "reasoning", "reasoning_content", "text", "summary", "content")


def bodies(content: object, *, by_model: bool) -> Iterator[Body]:
    """What a message says and does, part by part.

    Args:
        content: Text, or a list of parts.
        by_model: The model wrote it; otherwise a person, or tools by way of the app.
    """
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        if isinstance(part, dict):
            yield from _part(part, by_model=by_model)
        elif isinstance(part, str):
            yield from said(part, by_model=by_model)


def said(text: str, *, by_model: bool) -> Iterator[Body]:
    """Text that somebody meant the other to read."""
    if not text.strip():
        return
    yield TextProduced(kind=TextKind.ANSWER, text=text) if by_model else UserSaid(text=text)


def thought(part: object) -> Iterator[Body]:
    """Text that the model meant for itself."""
    text = values.text(part)
    if text.strip():
        yield TextProduced(kind=TextKind.REASONING, text=text)


def _part(part: Row, *, by_model: bool) -> Iterator[Body]:
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            yield from said(values.text(part.get("text")), by_model=by_model)
        case "thinking" | "reasoning" | "reasoning_content":
            known = (values.text(part.get(key)) for key in _THOUGHTS)
            yield from thought(next(filter(None, known), ""))
        case "tool_use" | "tool_call" | "server_tool_use":
            arguments = part.get("input", part.get("args"))
            yield values.called(part.get("id"), part.get("name"), arguments)
        case "tool_result":
            yield values.returned(
                part.get("tool_use_id"), part.get("content"), failed=bool(part.get("is_error"))
            )
