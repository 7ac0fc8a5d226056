"""What an agent was shown, where, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Point(StrEnum):
    """Where something is shown."""

    SESSION_START = "session_start"
    FIRST_MESSAGE = "first_message"
    TOOL_RESULT = "tool_result"
    PREPARE_STEP = "prepare_step"
    SEARCH = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One decision to show a memory."""

    point: Point
    step: int
    memory_id: str
    label: str
    reason: str
