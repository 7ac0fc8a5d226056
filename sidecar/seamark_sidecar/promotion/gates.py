"""When a session's findings may become memories, by the kind of session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from seamark.events import SessionOutcome
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.session import SessionRecord, SessionType
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
_ASKED_FOR = frozenset({SignalKind.RECORDED, SignalKind.REMEMBER})
_INSIGHTS = _ASKED_FOR | {
    SignalKind.CO_ACCESS,
    SignalKind.SELF_CORRECTION,
    SignalKind.REPEATED_GREP,
    SignalKind.DISCOVERY,
    SignalKind.COUPLING,
    SignalKind.USER_CORRECTION,
}
_TERMINAL = frozenset({SignalKind.ERROR_RETRY, SignalKind.SEQUENCE, SignalKind.REMEMBER})
_SPEC = _ASKED_FOR | {SignalKind.FILE_ACCESS}

GATES: Mapping[SessionType, Gate] = MappingProxyType({
    #                               opens             most review signals
    SessionType.BUILD:         Gate(Opens.ON_VALIDATION, 20, False, _ALL),
    SessionType.INSIGHTS:      Gate(Opens.AT_END,         5, True,  _INSIGHTS),
    SessionType.ROADMAP:       Gate(Opens.AT_END,         3, True,  _ASKED_FOR),
    SessionType.TERMINAL:      Gate(Opens.AT_END,         3, True,  _TERMINAL),
    SessionType.CHANGELOG:     Gate(Opens.NEVER,          0, False, frozenset()),
    SessionType.SPEC_CREATION: Gate(Opens.ON_VALIDATION,  3, False, _SPEC),
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


# What a session leaves behind whose gate is shut: what led nowhere is worth knowing whatever came
# of the rest, and where it stood when somebody stopped it. A partial session will promote the
# work units that were validated, once units are validated one by one.
_LEFT_BEHIND = frozenset({MemoryType.DEAD_END})
SURVIVING: Mapping[SessionOutcome, frozenset[MemoryType]] = MappingProxyType({
    SessionOutcome.SUCCESS:   _LEFT_BEHIND,
    SessionOutcome.FAILURE:   _LEFT_BEHIND,
    SessionOutcome.PARTIAL:   _LEFT_BEHIND,
    SessionOutcome.CANCELLED: _LEFT_BEHIND | {MemoryType.WORK_STATE},
})  # fmt: skip


class Passage(Enum):
    """How a gate stands for a session that ended."""

    OPEN = "open"
    WAITING = "waiting"
    SHUT = "shut"


def survives(gate: Gate, outcome: SessionOutcome, candidate: Candidate) -> bool:
    """Whether a shut gate lets this one through all the same."""
    return gate.opens is not Opens.NEVER and candidate.type in SURVIVING[outcome]


def passage(gate: Gate, outcome: SessionOutcome, validated: bool | None) -> Passage:
    """Whether the findings of an ended session may pass."""
    if gate.opens is Opens.NEVER or validated is False:
        return Passage.SHUT
    if outcome is not SessionOutcome.SUCCESS:
        return Passage.SHUT
    if gate.opens is Opens.AT_END or validated:
        return Passage.OPEN
    return Passage.WAITING


def standing(session: SessionRecord) -> Passage:
    """How the gate stands for an ended session as it is recorded."""
    if session.is_hearsay:
        return Passage.SHUT
    outcome = session.outcome or SessionOutcome.SUCCESS
    return passage(GATES[session.type], outcome, session.validated)


def passing(
    session: SessionRecord, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """Those that the gate lets through as it stands, and those that it does not."""
    if standing(session) is Passage.OPEN:
        return list(candidates), []
    if session.is_hearsay:
        return [], list(candidates)
    gate, outcome = GATES[session.type], session.outcome or SessionOutcome.SUCCESS
    through = [survives(gate, outcome, each) for each in candidates]
    return (
        [each for each, goes in zip(candidates, through, strict=True) if goes],
        [each for each, goes in zip(candidates, through, strict=True) if not goes],
    )
