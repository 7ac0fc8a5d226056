"""What each kind of finding is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.model.candidate import Signal


@dataclass(frozen=True, slots=True)
class Worth:
    """One signal's row."""

    # Orders candidates when there are more than the gate lets through.
    score: float
    # Independent sessions that must have found it.
    sessions: int
    # Of a memory that exactly the needed sessions found.
    confidence: float


WORTH: Mapping[Signal, Worth] = MappingProxyType({
    #                        score  sessions  confidence
    Signal.RECORDED:        Worth(0.95, 1, 0.75),
    Signal.SELF_CORRECTION: Worth(0.88, 1, 0.82),
    Signal.ERROR_RETRY:     Worth(0.85, 2, 0.70),
})  # fmt: skip

TAUGHT_CONFIDENCE = 0.90
HIGHEST_CONFIDENCE = 0.95
# Of the distance to the highest confidence, closed by each further independent session.
REINFORCEMENT = 0.3


def confidence_after(current: float) -> float:
    """The confidence of a memory that one more independent session found."""
    return min(HIGHEST_CONFIDENCE, current + (HIGHEST_CONFIDENCE - current) * REINFORCEMENT)


def confidence_of(signal: Signal, sessions: int) -> float:
    """The confidence of a new memory that this many independent sessions found."""
    confidence = WORTH[signal].confidence
    for _ in range(sessions - WORTH[signal].sessions):
        confidence = confidence_after(confidence)
    return confidence
