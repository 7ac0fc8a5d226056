"""The shared vocabulary: what an agent was seen to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class Outcome(Enum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"


class TextKind(Enum):
    """Whether the model was thinking or answering."""

    REASONING = "reasoning"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSaid:
    """What a person asked of the agent."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """A tool call the model asked for; its meaning is the sidecar's to decide."""

    call_id: str
    tool: str
    arguments_json: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned:
    """How a tool call ended."""

    call_id: str
    outcome: Outcome
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextProduced:
    """Text the model produced."""

    kind: TextKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCompleted:
    """One model call came to its end."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecorded:
    """The agent itself asked for something to be remembered."""

    type: str
    content: str
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged:
    """A file was changed by something other than an observed tool."""

    path: str


Body = (
    UserSaid
    | ToolCalled
    | ToolReturned
    | TextProduced
    | StepCompleted
    | MemoryRecorded
    | FileChanged
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A body with its place among the producer's events in a session."""

    producer_id: str
    sequence: int
    time: datetime
    # None: a newer sender's kind, stored but not interpreted.
    body: Body | None


class SessionOutcome(Enum):
    """How a session ended, as its app sees it."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    CANCELLED = "cancelled"
