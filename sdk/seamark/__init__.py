"""Memory for AI coding agents: what runs inside the agent's own process."""

from seamark.client import Client, connect
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
from seamark.session import Session
from seamark.settings import Settings

__version__ = "0.1.0"

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
