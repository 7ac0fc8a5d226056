"""Memory for AI coding agents: what runs inside the agent's own process."""

from typing import TYPE_CHECKING, Any

from seamark.errors import SeamarkError
from seamark.events import (
    Body,
    Event,
    FileChanged,
    MemoryRecorded,
    Outcome,
    SessionOutcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark.injections import (
    Citation,
    HeldBack,
    Injection,
    MemoryHit,
    SearchResult,
    SessionStart,
    SessionState,
    SessionSummary,
)
from seamark.settings import Settings

if TYPE_CHECKING:
    from seamark.client import Client, connect
    from seamark.session import Session

__version__ = "0.1.0"

# What brings gRPC and protobuf along is loaded when it is first asked for.
_LATER = {"Client": "seamark.client", "Session": "seamark.session", "connect": "seamark.client"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_LATER[name]), name)
    return found


__all__ = [
    "Body",
    "Citation",
    "Client",
    "Event",
    "FileChanged",
    "HeldBack",
    "Injection",
    "MemoryHit",
    "MemoryRecorded",
    "Outcome",
    "SeamarkError",
    "SearchResult",
    "Session",
    "SessionOutcome",
    "SessionStart",
    "SessionState",
    "SessionSummary",
    "Settings",
    "StepCompleted",
    "TextKind",
    "TextProduced",
    "ToolCalled",
    "ToolReturned",
    "UserSaid",
    "connect",
]
