"""Vocabulary to wire and back; the only module that sees both shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import assert_never

from seamark.errors import UndecodableMessage
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
from seamark.wire.v1 import events_pb2 as events
from seamark.wire.v1 import sidecar_pb2 as wire

WIRE = 1  # Moves only when an older peer could no longer make sense of what is sent.
WIRE_KEY = "seamark-wire"
REASON_KEY = "seamark-reason"

LONGEST_TEXT = 64 * 1024
LONGEST_NAME = 512
MOST_NAMES = 64
_MARKER_ROOM = 64
_COUNT_MAX = 2**32 - 1

_OUTCOME_TO_WIRE = {
    Outcome.OK: events.ToolReturned.OUTCOME_OK,
    Outcome.ERROR: events.ToolReturned.OUTCOME_ERROR,
}
_OUTCOME_FROM_WIRE: dict[int, Outcome] = {number: kind for kind, number in _OUTCOME_TO_WIRE.items()}
_TEXT_TO_WIRE = {
    TextKind.REASONING: events.TextProduced.KIND_REASONING,
    TextKind.ANSWER: events.TextProduced.KIND_ANSWER,
}
_TEXT_FROM_WIRE: dict[int, TextKind] = {number: kind for kind, number in _TEXT_TO_WIRE.items()}
_SESSION_OUTCOME_TO_WIRE = {
    SessionOutcome.SUCCESS: wire.CompleteSessionRequest.OUTCOME_SUCCESS,
    SessionOutcome.FAILURE: wire.CompleteSessionRequest.OUTCOME_FAILURE,
    SessionOutcome.PARTIAL: wire.CompleteSessionRequest.OUTCOME_PARTIAL,
    SessionOutcome.CANCELLED: wire.CompleteSessionRequest.OUTCOME_CANCELLED,
}
_SESSION_OUTCOME_FROM_WIRE: dict[int, SessionOutcome] = {
    number: kind for kind, number in _SESSION_OUTCOME_TO_WIRE.items()
}
_STATE_TO_WIRE = {
    SessionState.UNKNOWN: wire.SessionSummary.STATE_UNSPECIFIED,
    SessionState.OPEN: wire.SessionSummary.STATE_OPEN,
    SessionState.PENDING: wire.SessionSummary.STATE_PENDING,
    SessionState.CLOSED: wire.SessionSummary.STATE_CLOSED,
}
_STATE_FROM_WIRE: dict[int, SessionState] = {
    number: state for state, number in _STATE_TO_WIRE.items()
}


def cut(text: str, limit: int = LONGEST_TEXT) -> str:
    """The text as valid UTF-8 within the limit; what was taken out of its middle is said there."""
    if len(text) > limit:
        # The marker counts too: both sides cut, and the second must find nothing to do.
        kept = max(0, limit - _MARKER_ROOM)
        head = kept * 3 // 4
        marker = f"\n[... {len(text) - kept} characters cut by seamark ...]\n"
        text = (text[:head] + marker + text[len(text) - kept + head :])[:limit]
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def event_to_wire(sequence: int, seconds: float, body: Body | None) -> events.Event:
    """One event, cut to size; `seconds` since the epoch."""
    message = events.Event(sequence=sequence)
    message.observe_time.FromNanoseconds(int(seconds * 1e9))
    match body:
        case UserSaid():
            message.user_said.text = cut(body.text)
        case ToolCalled():
            message.tool_called.call_id = cut(body.call_id, LONGEST_NAME)
            message.tool_called.tool = cut(body.tool, LONGEST_NAME)
            message.tool_called.arguments_json = cut(body.arguments_json)
        case ToolReturned():
            message.tool_returned.call_id = cut(body.call_id, LONGEST_NAME)
            message.tool_returned.outcome = _OUTCOME_TO_WIRE[body.outcome]
            message.tool_returned.result = cut(body.result)
        case TextProduced():
            message.text_produced.kind = _TEXT_TO_WIRE[body.kind]
            message.text_produced.text = cut(body.text)
        case StepCompleted():
            message.step_completed.input_token_count = _count(body.input_tokens)
            message.step_completed.output_token_count = _count(body.output_tokens)
        case MemoryRecorded():
            message.memory_recorded.type = cut(body.type, LONGEST_NAME)
            message.memory_recorded.content = cut(body.content)
            message.memory_recorded.files.extend(_names(body.files))
            message.memory_recorded.tags.extend(_names(body.tags))
        case FileChanged():
            message.file_changed.path = cut(body.path, LONGEST_NAME)
        case None:
            pass
        case unreachable:
            assert_never(unreachable)
    return message


def event_from_wire(producer_id: str, message: events.Event) -> Event:
    """Any event a peer can send; raises UndecodableMessage where it makes no sense."""
    if message.sequence == 0:
        raise UndecodableMessage("an event needs a sequence of at least 1")
    if message.sequence >= 2**63:
        raise UndecodableMessage("an event's sequence must stay below 2**63")
    return Event(
        producer_id=producer_id,
        sequence=message.sequence,
        time=_time(message),
        body=_body(message),
    )


def _body(message: events.Event) -> Body | None:
    match message.WhichOneof("body"):
        case "user_said":
            return UserSaid(text=cut(message.user_said.text))
        case "tool_called":
            call = message.tool_called
            return ToolCalled(
                call_id=cut(call.call_id, LONGEST_NAME),
                tool=cut(call.tool, LONGEST_NAME),
                arguments_json=cut(call.arguments_json),
            )
        case "tool_returned":
            returned = message.tool_returned
            outcome = _OUTCOME_FROM_WIRE.get(returned.outcome)
            if outcome is None:
                raise UndecodableMessage(f"a tool outcome of {returned.outcome} is not known")
            return ToolReturned(
                call_id=cut(returned.call_id, LONGEST_NAME),
                outcome=outcome,
                result=cut(returned.result),
            )
        case "text_produced":
            kind = _TEXT_FROM_WIRE.get(message.text_produced.kind)
            if kind is None:
                raise UndecodableMessage(
                    f"a text kind of {message.text_produced.kind} is not known"
                )
            return TextProduced(kind=kind, text=cut(message.text_produced.text))
        case "step_completed":
            return StepCompleted(
                input_tokens=message.step_completed.input_token_count,
                output_tokens=message.step_completed.output_token_count,
            )
        case "memory_recorded":
            record = message.memory_recorded
            return MemoryRecorded(
                type=cut(record.type, LONGEST_NAME),
                content=cut(record.content),
                files=_names(record.files),
                tags=_names(record.tags),
            )
        case "file_changed":
            return FileChanged(path=cut(message.file_changed.path, LONGEST_NAME))
        case None:
            return None
        case unreachable:
            assert_never(unreachable)


def _time(message: events.Event) -> datetime:
    stamp = message.observe_time
    try:
        return datetime.fromtimestamp(stamp.seconds, UTC) + timedelta(
            microseconds=stamp.nanos // 1000
        )
    except (OverflowError, ValueError, OSError):
        raise UndecodableMessage("an event's time is outside the calendar") from None


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(cut(value, LONGEST_NAME) for value in itertools.islice(values, MOST_NAMES))


def _count(value: int) -> int:
    return max(0, min(int(value), _COUNT_MAX))


def outcome_to_wire(outcome: SessionOutcome) -> wire.CompleteSessionRequest.Outcome.ValueType:
    """A session's outcome for CompleteSession."""
    return _SESSION_OUTCOME_TO_WIRE[outcome]


def outcome_from_wire(number: int) -> SessionOutcome:
    """The outcome a peer sent; one it did not say counts as success still to be validated."""
    if number == wire.CompleteSessionRequest.OUTCOME_UNSPECIFIED:
        return SessionOutcome.SUCCESS
    outcome = _SESSION_OUTCOME_FROM_WIRE.get(number)
    if outcome is None:
        raise UndecodableMessage(f"a session outcome of {number} is not known")
    return outcome


_VALIDATION_TO_WIRE = {
    None: wire.CompleteSessionRequest.VALIDATION_UNSPECIFIED,
    True: wire.CompleteSessionRequest.VALIDATION_PASSED,
    False: wire.CompleteSessionRequest.VALIDATION_FAILED,
}
_VALIDATION_FROM_WIRE: dict[int, bool | None] = {
    number: value for value, number in _VALIDATION_TO_WIRE.items()
}


def validation_to_wire(
    validated: bool | None,
) -> wire.CompleteSessionRequest.Validation.ValueType:
    """None: it will be reported later."""
    return _VALIDATION_TO_WIRE[validated]


def validation_from_wire(number: int) -> bool | None:
    """What the app said of the work; None when it will say so later."""
    if number not in _VALIDATION_FROM_WIRE:
        raise UndecodableMessage(f"a validation of {number} is not known")
    return _VALIDATION_FROM_WIRE[number]


def citation_to_wire(citation: Citation) -> wire.Citation:
    return wire.Citation(memory_id=citation.memory_id, label=citation.label, reason=citation.reason)


def injection_to_wire(injection: Injection) -> wire.Injection:
    return wire.Injection(
        text=injection.text, citations=[citation_to_wire(each) for each in injection.citations]
    )


def injection_from_wire(message: wire.Injection) -> Injection:
    return Injection(text=message.text, citations=_citations(message.citations))


def start_from_wire(message: wire.StartSessionResponse) -> SessionStart:
    return SessionStart(
        project_id=message.project_id,
        system=injection_from_wire(message.system),
        first_message=injection_from_wire(message.first_message),
    )


def hit_to_wire(hit: MemoryHit) -> wire.MemoryHit:
    return wire.MemoryHit(
        memory_id=hit.memory_id,
        type=hit.type,
        content=hit.content,
        files=hit.files,
        confidence=hit.confidence,
        score=hit.score,
        label=hit.label,
        shown=hit.shown,
        needs_review=hit.needs_review,
        unvalidated=hit.unvalidated,
        finder=hit.finder,
    )


def search_from_wire(message: wire.SearchResponse) -> SearchResult:
    return SearchResult(
        hits=tuple(
            MemoryHit(
                memory_id=hit.memory_id,
                type=hit.type,
                content=hit.content,
                files=tuple(hit.files),
                confidence=hit.confidence,
                score=hit.score,
                label=hit.label,
                shown=hit.shown,
                needs_review=hit.needs_review,
                unvalidated=hit.unvalidated,
                finder=hit.finder,
            )
            for hit in message.hits
        ),
        text=message.text,
    )


def summary_to_wire(summary: SessionSummary) -> wire.SessionSummary:
    return wire.SessionSummary(
        state=_STATE_TO_WIRE[summary.state],
        used=[citation_to_wire(each) for each in summary.used],
        learnt=[citation_to_wire(each) for each in summary.learnt],
        held_back=[
            wire.HeldBack(label=each.label, reason=each.reason, release=each.release)
            for each in summary.held_back
        ],
        line=summary.line,
    )


def summary_from_wire(message: wire.SessionSummary) -> SessionSummary:
    return SessionSummary(
        state=_STATE_FROM_WIRE.get(message.state, SessionState.UNKNOWN),
        used=_citations(message.used),
        learnt=_citations(message.learnt),
        held_back=tuple(
            HeldBack(label=each.label, reason=each.reason, release=each.release)
            for each in message.held_back
        ),
        line=message.line,
    )


def _citations(messages: Iterable[wire.Citation]) -> tuple[Citation, ...]:
    return tuple(
        Citation(memory_id=each.memory_id, label=each.label, reason=each.reason)
        for each in messages
    )
