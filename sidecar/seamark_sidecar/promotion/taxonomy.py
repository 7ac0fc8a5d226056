"""What each kind of finding is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from seamark_sidecar.model.signal import SignalKind


@dataclass(frozen=True, slots=True)
class Worth:
    """One signal's row."""

    # Orders candidates when there are more than the gate lets through.
    score: float
    # Independent sessions that must have found it.
    sessions: int
    # Of a memory that exactly the needed sessions found.
    confidence: float


WORTH: Mapping[SignalKind, Worth] = MappingProxyType({
    #                            score  sessions  confidence
    SignalKind.REMEMBER:            Worth(0.96, 1, 0.75),
    SignalKind.RECORDED:            Worth(0.95, 1, 0.75),
    SignalKind.USER_CORRECTION:     Worth(0.93, 1, 0.70),
    SignalKind.CO_ACCESS:           Worth(0.91, 3, 0.70),
    SignalKind.SELF_CORRECTION:     Worth(0.88, 1, 0.82),
    SignalKind.DEAD_END:            Worth(0.87, 1, 0.75),
    SignalKind.DISCOVERY:           Worth(0.86, 1, 0.70),
    SignalKind.ERROR_RETRY:         Worth(0.85, 2, 0.70),
    SignalKind.COUPLING:            Worth(0.84, 1, 0.70),
    SignalKind.PARALLEL_CONFLICT:   Worth(0.82, 1, 0.75),
    SignalKind.READ_ABANDON:        Worth(0.79, 3, 0.70),
    SignalKind.REPEATED_GREP:       Worth(0.76, 2, 0.70),
    SignalKind.TEST_ORDER:          Worth(0.74, 3, 0.70),
    SignalKind.SEQUENCE:            Worth(0.73, 3, 0.70),
    SignalKind.FILE_ACCESS:         Worth(0.72, 3, 0.70),
    SignalKind.STEP_OVERRUN:        Worth(0.71, 3, 0.70),
    SignalKind.BACKTRACK:           Worth(0.68, 2, 0.70),
    SignalKind.CONFIG_TOUCH:        Worth(0.66, 2, 0.70),
    SignalKind.GLOB_IGNORE:         Worth(0.64, 2, 0.70),
    SignalKind.CONTEXT_TOKEN_SPIKE: Worth(0.63, 3, 0.70),
    SignalKind.EXTERNAL_REFERENCE:  Worth(0.61, 3, 0.70),
    SignalKind.IMPORT_CHASE:        Worth(0.52, 4, 0.70),
    SignalKind.TIME_ANOMALY:        Worth(0.48, 3, 0.70),
})  # fmt: skip

TAUGHT_CONFIDENCE = 0.90
HIGHEST_CONFIDENCE = 0.95
# Of the distance to the highest confidence, closed by each further independent session.
REINFORCEMENT = 0.3


def confidence_after(current: float) -> float:
    """The confidence of a memory that one more independent session found."""
    return min(HIGHEST_CONFIDENCE, current + (HIGHEST_CONFIDENCE - current) * REINFORCEMENT)


def confidence_of(signal: SignalKind, sessions: int) -> float:
    """The confidence of a new memory that this many independent sessions found."""
    confidence = WORTH[signal].confidence
    for _ in range(sessions - WORTH[signal].sessions):
        confidence = confidence_after(confidence)
    return confidence
