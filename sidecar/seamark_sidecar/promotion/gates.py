"""When a session's findings may become memories, by the kind of session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from seamark.events import SessionOutcome
from seamark_sidecar.model.session import SessionType
from seamark_sidecar.model.signal import SignalKind


class Opens(Enum):
    """What a gate waits for."""

    ON_VALIDATION = "validation"
    AT_END = "end"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Gate:
    """One kind of session's rule."""

    opens: Opens
    most: int
    # A person has to look at them before they are injected.
    review: bool
    signals: frozenset[SignalKind]


_ALL = frozenset(SignalKind)
_ERRORS = frozenset({SignalKind.ERROR_RETRY})
_RECORDED = frozenset({SignalKind.RECORDED})
_SAID = frozenset({SignalKind.RECORDED, SignalKind.SELF_CORRECTION})

GATES: Mapping[SessionType, Gate] = MappingProxyType({
    #                               opens             most review signals
    SessionType.BUILD:         Gate(Opens.ON_VALIDATION, 20, False, _ALL),
    SessionType.INSIGHTS:      Gate(Opens.AT_END,         5, True,  _SAID),
    SessionType.ROADMAP:       Gate(Opens.AT_END,         3, True,  _RECORDED),
    SessionType.TERMINAL:      Gate(Opens.AT_END,         3, True,  _ERRORS),
    SessionType.CHANGELOG:     Gate(Opens.NEVER,          0, False, frozenset()),
    SessionType.SPEC_CREATION: Gate(Opens.ON_VALIDATION,  3, False, _RECORDED),
    SessionType.PR_REVIEW:     Gate(Opens.AT_END,         8, False, _ALL),
})  # fmt: skip

# What is said of a session that an open gate let through.
PASSED: Mapping[Opens, str] = MappingProxyType({
    Opens.ON_VALIDATION: "was validated",
    Opens.AT_END: "came to its end",
    Opens.NEVER: "was let through",
})  # fmt: skip

# Nobody ends them but silence.
END_BY_SILENCE = frozenset({SessionType.TERMINAL})


class Passage(Enum):
    """How a gate stands for a session that ended."""

    OPEN = "open"
    WAITING = "waiting"
    SHUT = "shut"


def passage(gate: Gate, outcome: SessionOutcome, validated: bool | None) -> Passage:
    """Whether the findings of an ended session may pass."""
    if gate.opens is Opens.NEVER or validated is False:
        return Passage.SHUT
    if outcome is not SessionOutcome.SUCCESS:
        return Passage.SHUT
    if gate.opens is Opens.AT_END or validated:
        return Passage.OPEN
    return Passage.WAITING
