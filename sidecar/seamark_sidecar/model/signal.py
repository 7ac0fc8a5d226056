"""What the observer derives from what an agent did and said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seamark_sidecar.model.memory import MemoryType, Source

# What stands in a signal's details: text, numbers, flags and lists of them.
Detail = str | int | float | bool | tuple[str, ...] | tuple[int, ...]


class SignalKind(StrEnum):
    """The families of signals; each has a row in `promotion.taxonomy`."""

    # What the agent did.
    CO_ACCESS = "co_access"
    ERROR_RETRY = "error_retry"
    PARALLEL_CONFLICT = "parallel_conflict"
    READ_ABANDON = "read_abandon"
    REPEATED_GREP = "repeated_grep"
    TEST_ORDER = "test_order"
    SEQUENCE = "sequence"
    FILE_ACCESS = "file_access"
    STEP_OVERRUN = "step_overrun"
    BACKTRACK = "backtrack"
    CONFIG_TOUCH = "config_touch"
    GLOB_IGNORE = "glob_ignore"
    CONTEXT_TOKEN_SPIKE = "context_token_spike"
    EXTERNAL_REFERENCE = "external_reference"
    IMPORT_CHASE = "import_chase"
    TIME_ANOMALY = "time_anomaly"
    # What it said.
    SELF_CORRECTION = "self_correction"
    DEAD_END = "dead_end"
    DISCOVERY = "discovery"
    COUPLING = "coupling"
    RECORDED = "recorded"
    # What a person said to it.
    USER_CORRECTION = "user_correction"
    REMEMBER = "remember"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One finding about a session, at the step where it showed."""

    kind: SignalKind
    # Of the session; the first step is 0.
    step: int
    # How sure the detector is, from 0 to 1.
    confidence: float
    # The same finding in another session has the same key.
    key: str
    # Project-relative.
    files: tuple[str, ...] = ()
    # What is particular to this kind, by name.
    details: Mapping[str, Detail] = field(default_factory=dict)
    # The memory that it proposes, in words; empty when it proposes none by itself.
    content: str = ""
    type: MemoryType | None = None
    source: Source = Source.OBSERVER_INFERRED
    tags: tuple[str, ...] = ()
    # How much it contradicts what one would have guessed, from 0 to 1.
    surprise: float = 0.0
    # It goes to the head of the queue.
    early: bool = False
    # Sessions that must find it, where that is not what its kind needs; 0: it is.
    sessions_needed: int = 0
    # A person has to approve what it proposes before an agent is shown it unasked.
    needs_review: bool = False
