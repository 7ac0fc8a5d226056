"""What comes back from the sidecar, in the agent's terms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One memory in an injected text, with the reason it was chosen."""

    memory_id: str
    label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Text chosen for the agent, delimited and escaped; false when there is none."""

    text: str = ""
    citations: tuple[Citation, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)


NOTHING = Injection()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """What the start of a session brought for the first prompt."""

    project_id: str = ""
    system: Injection = NOTHING
    first_message: Injection = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """A memory that a search found."""

    memory_id: str
    type: str
    content: str
    files: tuple[str, ...]
    confidence: float
    score: float
    label: str
    shown: bool
    needs_review: bool
    # Another session of the work group found it, and nobody has proved it right.
    unvalidated: bool = False
    # That session's role, or its id.
    finder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found; `text` is ready for an agent."""

    hits: tuple[MemoryHit, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A candidate that did not become a memory, and what would change that."""

    label: str
    reason: str
    release: str


class SessionState(Enum):
    """How far a session has come."""

    UNKNOWN = "unknown"
    OPEN = "open"
    PENDING = "pending"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """What a session used, what it taught, and what is held back."""

    state: SessionState = SessionState.UNKNOWN
    used: tuple[Citation, ...] = ()
    learnt: tuple[Citation, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    line: str = ""

    def __str__(self) -> str:
        return self.line
