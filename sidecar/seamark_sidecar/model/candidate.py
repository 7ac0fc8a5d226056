"""A proposed memory, and what became of the proposal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.signal import Signal, SignalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something a session proposes to remember."""

    signal: SignalKind
    source: Source
    type: MemoryType
    content: str
    # The same finding in another session has the same key.
    key: str
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    step: int = 0
    # How much it contradicts what one would have guessed, from 0 to 1.
    surprise: float = 0.0
    early: bool = False
    # Sessions that must find it, where that is not what its kind needs; 0: it is.
    sessions_needed: int = 0
    # A person has to approve it before an agent is shown it unasked.
    needs_review: bool = False
    # Where text from outside came in that it may be made of; empty: nowhere.
    contaminated_by: str = ""
    # Other sessions of the work group that found it too, each by itself.
    also_found_by: tuple[str, ...] = ()


def proposed(signal: Signal) -> Candidate | None:
    """The memory that the signal proposes, if it proposes one."""
    if signal.type is None or not signal.content:
        return None
    return Candidate(
        signal=signal.kind,
        source=signal.source,
        type=signal.type,
        content=signal.content,
        key=signal.key,
        files=signal.files,
        tags=signal.tags,
        step=signal.step,
        surprise=signal.surprise,
        early=signal.early,
        sessions_needed=signal.sessions_needed,
        needs_review=signal.needs_review,
    )


class Fate(StrEnum):
    """What became of a candidate."""

    PROMOTED = "promoted"
    REINFORCED = "reinforced"
    HELD = "held"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A candidate's fate, with its reason and what would change it."""

    candidate: Candidate
    fate: Fate
    reason: str
    release: str = ""
    memory_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What an ended session changes in the record."""

    # New and changed memories.
    memories: tuple[Memory, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    # Keys of findings that count as seen by this session.
    sightings: tuple[str, ...] = ()
