"""A proposed memory, and what became of the proposal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seamark_sidecar.model.memory import Memory, MemoryType, Source


class Signal(StrEnum):
    """What a candidate is derived from; each has a row in `promotion.taxonomy`."""

    RECORDED = "recorded"
    SELF_CORRECTION = "self_correction"
    ERROR_RETRY = "error_retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something a session proposes to remember."""

    signal: Signal
    source: Source
    type: MemoryType
    content: str
    # The same finding in another session has the same key.
    key: str
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    step: int = 0


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
