"""Who may write to a session, and what a session may not change."""

import secrets

import grpc
import pytest

from seamark.events import MemoryRecorded, UserSaid
from seamark.wire.v1 import sidecar_pb2 as wire

from .process import Talk, refused

CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.")


def asking(talk):
    """Every call that needs the right to a session, as its owner would make it."""
    batch = talk.batch(CENTS)
    return {
        "PrepareStep": wire.PrepareStepRequest(events=batch, step=3),
        "AugmentToolResult": wire.AugmentToolResultRequest(events=batch, call_id="c"),
        "Search": wire.SearchRequest(events=batch, query="prices"),
        "Record": wire.RecordRequest(events=batch),
        "Checkpoint": wire.CheckpointRequest(events=batch),
        "CompleteSession": wire.CompleteSessionRequest(events=batch),
        "ReportValidation": wire.ReportValidationRequest(
            session_id=talk.id, capability=talk.capability, passed=True
        ),
    }


CALLS = [
    "PrepareStep",
    "AugmentToolResult",
    "Search",
    "Record",
    "Checkpoint",
    "CompleteSession",
    "ReportValidation",
]


@pytest.mark.parametrize("wrong", [b"", b"x" * 32, "another's"], ids=["none", "made up", "foreign"])
@pytest.mark.parametrize("call", CALLS)
def test_nobody_touches_a_session_without_its_capability(shared, talk, project, call, wrong):
    request = asking(talk)[call]
    right = Talk(shared, project=project).capability if wrong == "another's" else wrong
    target = request.events if hasattr(request, "events") else request
    target.capability = right
    with refused("WRONG_CAPABILITY", grpc.StatusCode.PERMISSION_DENIED):
        shared.ask(call, request)
    assert shared.explain(talk.id).state == "open"
    assert shared.stored(talk.id) == []


@pytest.mark.parametrize("call", CALLS)
def test_an_unknown_session_is_named_in_the_status(shared, talk, call):
    request = asking(talk)[call]
    target = request.events if hasattr(request, "events") else request
    target.session_id = "nobody started this"
    with refused("UNKNOWN_SESSION", grpc.StatusCode.NOT_FOUND) as said:
        shared.ask(call, request)
    assert "'nobody started this'" in said[0]


def test_events_for_an_unknown_session_are_neither_taken_nor_refused_for_good(talk):
    unknown, wrong, right = talk.ingest(
        talk.batch(CENTS, session_id="nobody started this"),
        talk.batch(CENTS, capability=b"wrong"),
        talk.batch(CENTS),
    )
    for receipt, reason in ((unknown, "UNKNOWN_SESSION"), (wrong, "WRONG_CAPABILITY")):
        assert (receipt.acknowledged_count, receipt.rejected_count) == (0, 0)
        assert receipt.rejected_reason == reason
    assert right.acknowledged_count == 1


def test_a_foreign_claim_does_not_open_a_session(shared, talk):
    with refused("SESSION_OWNED", grpc.StatusCode.PERMISSION_DENIED):
        talk.start(claim=secrets.token_bytes(16))


def test_the_same_claim_gives_the_same_capability(talk):
    assert talk.start().capability == talk.capability


def test_the_capability_is_not_stored(shared, talk):
    assert talk.capability not in shared.bytes_on_disk()
    assert talk.claim not in shared.bytes_on_disk()


def test_a_sessions_project_is_fixed_when_it_starts(shared, talk, project):
    again = talk.start(project=wire.ProjectHint(name="somewhere else"))
    assert again.project_id == talk.welcome.project_id
    talk.complete(CENTS, validation=wire.CompleteSessionRequest.VALIDATION_PASSED)
    assert len(shared.memories(project)) == 1
    assert shared.memories("somewhere else") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"session_id": ""},
        {"session_id": "short"},
        {"session_id": "x" * 129},
        {"session_id": "with\ncontrol\x1b[31m"},
        {"claim": b""},
        {"claim": b"x" * 15},
        {"session_type": "holiday"},
        {"session_type": "x" * 100_000},
        {"project": wire.ProjectHint()},
        {"project": wire.ProjectHint(path="relative")},
        {"project": wire.ProjectHint(path="/a\0b")},
        {"project": wire.ProjectHint(path="/" + "x" * 100_000)},
    ],
    ids=lambda changes: f"{next(iter(changes))}={str(next(iter(changes.values())))[:12]}",
)
def test_a_start_that_makes_no_sense_is_told_why(talk, changes):
    fresh = {"session_id": secrets.token_hex(16), **changes}
    with refused("BAD_REQUEST", grpc.StatusCode.INVALID_ARGUMENT) as said:
        talk.start(**fresh)
    assert 10 < len(said[0]) < 1100


def test_an_ended_session_takes_nothing_more(shared, talk):
    pending = talk.complete(CENTS)
    assert pending.state == wire.SessionSummary.STATE_PENDING
    for state in ("pending", "closed"):
        assert shared.explain(talk.id).state == state
        (late,) = talk.ingest(talk.batch(UserSaid(text="late"), first=50))
        assert (late.rejected_count, late.rejected_reason) == (1, "SESSION_CLOSED")
        with refused("SESSION_CLOSED", grpc.StatusCode.FAILED_PRECONDITION):
            talk.prepare()
        talk.validate(passed=True)


def test_an_end_that_is_told_again_is_answered_again(shared, talk, project):
    passed = wire.CompleteSessionRequest.VALIDATION_PASSED
    first = talk.complete(CENTS, validation=passed)
    assert len(first.learnt) == 1
    assert talk.complete(CENTS, validation=passed) == first
    assert talk.complete(validation=wire.CompleteSessionRequest.VALIDATION_FAILED) == first
    assert talk.validate(passed=False) == first
    assert len(shared.memories(project)) == 1


def test_the_owner_of_an_ended_session_gets_its_capability_and_nothing_to_show(shared, talk):
    talk.complete(CENTS, validation=wire.CompleteSessionRequest.VALIDATION_PASSED)
    again = talk.start()
    assert again.capability == talk.capability
    assert (again.system.text, again.first_message.text) == ("", "")
