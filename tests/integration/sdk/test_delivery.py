"""What an agent reports reaches the sidecar once, in order, and before what depends on it."""

import os

import grpc
import pytest

from seamark import (
    FileChanged,
    MemoryRecorded,
    Outcome,
    SessionOutcome,
    SessionState,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark import outbox as outboxes
from seamark.delivery import MOST_REFUSALS
from seamark.session import DELIVERED_LATER, NOTED_FOR_LATER
from seamark.testing import RecordingSidecar
from seamark.wire.v1 import sidecar_pb2 as wire
from tests.integration.sdk.conftest import PATIENT, in_flight, undelivered

ALL_KINDS = [
    UserSaid(text="fix it"),
    ToolCalled(call_id="1", tool="read_file", arguments_json='{"path": "a.py"}'),
    ToolReturned(call_id="1", outcome=Outcome.OK, result="text"),
    TextProduced(kind=TextKind.REASONING, text="hm"),
    StepCompleted(input_tokens=5, output_tokens=7),
    MemoryRecorded(type="gotcha", content="lock first", files=("a.py",), tags=("t",)),
    FileChanged(path="a.py"),
]
NOTE = MemoryRecorded(type="gotcha", content="lock first")


def said(number):
    return UserSaid(text=str(number))


def texts(sidecar):
    return [int(body.text) for body in sidecar.bodies()]


def names(batch):
    return [(batch.producer_id, event.sequence) for event in batch.events]


def test_everything_observed_arrives_in_order(sidecar, client):
    session = client.start_session(project_path="/p")
    for body in ALL_KINDS:
        session.observe(body)
    assert client.flush(5)
    assert sidecar.bodies(session.id) == ALL_KINDS
    assert client.dropped == client.rejected == 0


def test_the_start_brings_what_memory_has_for_the_first_prompt(sidecar, client):
    session = client.start_session(
        project_path="/p", project_name="n", session_type="insights", role="coder", task="do it"
    )
    assert (session.start.system.text, session.start.first_message.text) == ("[system]", "[first]")
    (request,) = sidecar.requests("StartSession")
    assert (request.session_id, request.task) == (session.id, "do it")
    assert (request.project.path, request.project.name) == ("/p", "n")
    assert (request.session_type, request.role) == ("insights", "coder")


def test_without_a_path_the_project_is_where_the_process_is(sidecar, client):
    client.start_session()
    assert sidecar.requests("StartSession")[0].project.path == os.getcwd()  # noqa: PTH109


DECISIONS = {
    "PrepareStep": lambda session: session.prepare_step(1),
    "AugmentToolResult": lambda session: session.augment_tool_result("1"),
    "Search": lambda session: session.search("q"),
    "Checkpoint": lambda session: session.checkpoint("unit"),
    "Record": lambda session: session.record(NOTE),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_what_is_not_acknowledged_travels_with_every_decision(sidecar, client, name):
    session = client.start_session(project_path="/p")
    expected = [*ALL_KINDS, NOTE] if name == "Record" else ALL_KINDS
    with undelivered(sidecar):
        for body in ALL_KINDS:
            session.observe(body)
        assert DECISIONS[name](session)
        assert sidecar.bodies() == expected
    assert client.flush(5)
    (decision,) = sidecar.requests(name)
    asked = names(decision.events)[: len(ALL_KINDS)]
    sent = [each for request in sidecar.requests("Ingest") for each in names(request.batches[0])]
    assert set(sent) == set(asked)
    assert len(set(asked)) == len(ALL_KINDS)
    assert sidecar.bodies() == expected


def test_what_is_acknowledged_does_not_travel_again(sidecar, client):
    session = client.start_session(project_path="/p")
    session.observe(said(1))
    assert client.flush(5)
    assert session.prepare_step(1).text == "[step]"
    assert names(sidecar.requests("PrepareStep")[0].events) == []


def test_a_decision_carries_the_events_of_its_own_session_alone(sidecar, client):
    mine, other = client.start_session(), client.start_session()
    with undelivered(sidecar):
        other.observe(said(1))
        mine.observe(said(2))
        mine.prepare_step(1)
    (request,) = sidecar.requests("PrepareStep")
    assert request.events.session_id == mine.id
    assert [event.user_said.text for event in request.events.events] == ["2"]


def test_a_sidecar_that_is_restarted_gets_everything_once(sidecar, client, eventually):
    session = client.start_session(project_path="/p")
    for number in range(400):
        if number in (50, 250):
            sidecar.stop()
        if number in (150, 350):
            sidecar.start()
        session.observe(said(number))
    assert client.flush(10)
    assert texts(sidecar) == list(range(400))
    assert client.dropped == client.rejected == 0
    assert len(sidecar.requests("StartSession")) == 1


def test_a_sidecar_with_a_new_data_directory_is_told_of_the_session(sidecar, client):
    session = client.start_session(project_path="/p")
    sidecar.forget_sessions()
    session.observe(said(1))
    assert client.flush(10)
    assert texts(sidecar) == [1]
    first, second = sidecar.requests("StartSession")
    assert first == second
    assert session.prepare_step(1).text == "[step]"


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_that_meets_an_unknown_session_is_followed_by_a_new_start(
    sidecar, client, eventually, name
):
    session = client.start_session(project_path="/p")
    sidecar.forget_sessions()
    DECISIONS[name](session)
    session.observe(said(1))
    assert client.flush(10)
    assert len(sidecar.requests("StartSession")) == 2
    assert DECISIONS[name](session)
    assert client.why_without_memory == ""


def test_a_tool_that_follows_such_a_decision_starts_the_session_itself(sidecar, client):
    session = client.start_session(project_path="/p")
    sidecar.forget_sessions()
    assert not session.prepare_step(1)
    assert session.search("q").text == "Nothing is known about this."
    assert session.prepare_step(2).text == "[step]"


def test_the_end_of_a_session_that_was_forgotten_starts_it_first(sidecar, client):
    session = client.start_session(project_path="/p")
    sidecar.forget_sessions()
    assert session.complete().state is SessionState.PENDING
    sidecar.forget_sessions()
    assert session.report_validation(True, "pytest").state is SessionState.CLOSED
    assert len(sidecar.requests("StartSession")) == 3


def test_the_end_comes_after_everything_that_was_reported(sidecar, client):
    session = client.start_session(project_path="/p")
    for number in range(600):
        session.observe(said(number))
    summary = session.complete(SessionOutcome.PARTIAL, validated=True)
    assert summary.state is SessionState.CLOSED
    assert str(summary) == "session closed"
    assert texts(sidecar) == list(range(600))
    (request,) = sidecar.requests("CompleteSession")
    assert request.outcome == wire.CompleteSessionRequest.OUTCOME_PARTIAL
    assert request.validation == wire.CompleteSessionRequest.VALIDATION_PASSED


def test_an_end_that_cannot_be_told_now_is_told_later(sidecar, eventually):
    client = sidecar.client(**PATIENT | {"close_deadline": 0.05})
    session = client.start_session(project_path="/p")
    sidecar.stop()
    session.observe(said(1))
    assert session.complete().line == DELIVERED_LATER
    assert session.report_validation(False, "pytest").line == DELIVERED_LATER
    sidecar.start()
    (request,) = eventually(lambda: sidecar.requests("ReportValidation"))
    assert (request.passed, request.detail) == (False, "pytest")
    assert len(sidecar.requests("CompleteSession")) == 1
    assert texts(sidecar) == [1]
    client.close(5)


def test_a_note_that_nobody_answered_is_delivered_later_under_the_same_name(sidecar, eventually):
    client = sidecar.client(**PATIENT | {"tool_deadline": 0.05})
    session = client.start_session(project_path="/p")
    sidecar.delay = 0.15
    assert session.record(NOTE) == NOTED_FOR_LATER
    sidecar.delay = 0.0
    assert client.flush(10)
    eventually(sidecar.bodies)
    (asked,) = sidecar.requests("Record")
    assert names(asked.events) in [names(each.batches[0]) for each in sidecar.requests("Ingest")]
    assert sidecar.bodies() == [NOTE]
    client.close(5)


def test_a_note_is_the_last_event_of_its_call(sidecar, client):
    session = client.start_session(project_path="/p")
    with undelivered(sidecar):
        for number in range(300):
            session.observe(said(number))
        assert session.record(NOTE) == "Noted."
    (request,) = sidecar.requests("Record")
    assert request.events.events[-1].memory_recorded.content == NOTE.content
    assert client.flush(5)
    assert len(sidecar.bodies()) == 301


def test_a_backlog_of_large_results_is_sent_in_pieces_that_a_server_takes(sidecar, client):
    session = client.start_session(project_path="/p")
    large = ToolReturned(call_id="1", outcome=Outcome.OK, result="x" * 100_000)
    with undelivered(sidecar):
        for _ in range(200):
            session.observe(large)
        assert session.prepare_step(1).text == "[step]"
        assert session.search("q").text
    assert client.flush(20)
    assert len(sidecar.bodies()) == 200
    assert client.rejected == client.dropped == 0
    largest = max(request.ByteSize() for request in sidecar.requests("Ingest"))
    assert largest < 2 * 1024 * 1024


def test_large_results_of_many_sessions_are_sent_in_pieces_too(sidecar, client):
    large = UserSaid(text="\U0001f600" * 60_000)
    sessions = [client.start_session(project_path="/p") for _ in range(20)]
    with undelivered(sidecar):
        for session in sessions:
            session.observe(said(1))
            session.observe(large)
    assert client.flush(20)
    assert [len(sidecar.bodies(session.id)) for session in sessions] == [2] * 20
    assert max(request.ByteSize() for request in sidecar.requests("Ingest")) < 2 * 1024 * 1024


def test_drops_are_counted_and_the_sidecar_sees_the_gap(sidecar):
    client = sidecar.client(buffer=10, **PATIENT)
    session, other = client.start_session(), client.start_session()
    with undelivered(sidecar):
        session.observe(said(0))
        in_flight(client)
        for number in range(1, 31):
            session.observe(said(number))
        assert (client.dropped, session.dropped, other.dropped) == (20, 20, 0)
    assert client.flush(10)
    session.observe(said(31))
    assert client.flush(10)
    assert texts(sidecar) == [*range(11), 31]
    last = sidecar.requests("Ingest")[-1].batches[0]
    assert last.dropped_count == 20
    assert last.events[0].sequence == 32
    assert session.dropped == 20
    client.close()


class Scripted(RecordingSidecar):
    """Gives the receipts it is told to, then those of a good sidecar."""

    def __init__(self, *receipts):
        super().__init__()
        self.script = list(receipts)

    def _ingest(self, request):
        if not self.script:
            return super()._ingest(request)
        receipt = self.script.pop(0)
        return wire.IngestResponse(receipts=[] if receipt is None else [receipt])


@pytest.mark.parametrize(
    "receipt",
    [
        None,
        wire.BatchReceipt(),
        wire.BatchReceipt(acknowledged_count=1),
        wire.BatchReceipt(acknowledged_count=1, rejected_count=1),
        wire.BatchReceipt(rejected_reason="UNKNOWN_SESSION"),
        wire.BatchReceipt(rejected_reason="WRONG_CAPABILITY"),
        wire.BatchReceipt(rejected_reason="OF_THE_FUTURE"),
    ],
)
def test_what_is_not_acknowledged_in_full_is_sent_again(receipt):
    with Scripted(receipt, receipt) as sidecar:
        client = sidecar.client(**PATIENT)
        session = client.start_session(project_path="/p")
        with undelivered(sidecar):
            for number in range(3):
                session.observe(said(number))
        assert client.flush(10)
        assert texts(sidecar) == [0, 1, 2]
        assert client.rejected == client.dropped == 0
        client.close()


@pytest.mark.parametrize(
    ("receipt", "rejected"),
    [
        (wire.BatchReceipt(acknowledged_count=1, rejected_count=2), 2),
        (wire.BatchReceipt(rejected_count=3, rejected_reason="SESSION_CLOSED"), 3),
        (wire.BatchReceipt(acknowledged_count=3), 0),
        (wire.BatchReceipt(acknowledged_count=2**32 - 1), 0),
        (wire.BatchReceipt(rejected_count=2**32 - 1), 3),
    ],
)
def test_what_is_refused_for_good_is_counted_and_not_sent_again(receipt, rejected):
    with Scripted(wire.BatchReceipt(acknowledged_count=1), receipt) as sidecar:
        client = sidecar.client(**PATIENT)
        session = client.start_session(project_path="/p")
        with undelivered(sidecar):
            session.observe(said(0))
            in_flight(client)
            for number in (1, 2, 3):
                session.observe(said(number))
        assert client.flush(10)
        assert client.rejected == rejected
        assert len(sidecar.requests("Ingest")[-1].batches[0].events) == 3
        assert sidecar.bodies() == []
        client.close()


def test_a_session_that_is_refused_does_not_hold_up_the_others(sidecar, client):
    good = client.start_session(project_path="/p")
    bad = client.resume_session(good.ticket)  # Not known yet to the sidecar, as it thinks.
    sidecar.refusal, sidecar.refused_call = "SESSION_OWNED", "StartSession"
    with client.outbox._moving:  # All in one batch.
        bad.observe(said(1))
        good.observe(said(2))
        bad.observe(said(3))
    assert client.flush(10)
    assert texts(sidecar) == [2]
    assert client.rejected == 2
    assert client.dropped == 0


def test_refused_events_are_counted_once_however_often_the_others_are_sent(
    sidecar, client, eventually
):
    good = client.start_session(project_path="/p")
    bad = client.resume_session(good.ticket)
    sidecar.refusal, sidecar.refused_call = "SESSION_OWNED", "StartSession"
    sidecar.garbage = True
    with client.outbox._moving:  # All in one batch.
        bad.observe(said(1))
        good.observe(said(2))
    eventually(lambda: len(sidecar.requests("Ingest")) > 2)
    sidecar.garbage = False
    assert client.flush(10)
    assert texts(sidecar) == [2]
    assert client.rejected == 1


def test_a_batch_that_the_sidecar_cannot_digest_is_given_up_in_the_end(
    sidecar, client, eventually, monkeypatch
):
    monkeypatch.setattr(outboxes, "LONGEST_BACKOFF", 0.01)
    session = client.start_session(project_path="/p")
    sidecar.refusal, sidecar.refused_call = "FAULT", "Ingest"
    session.observe(said(1))
    eventually(lambda: client.rejected == 1)
    assert len(sidecar.requests("Ingest")) == MOST_REFUSALS
    sidecar.refusal = ""
    session.observe(said(2))
    assert client.flush(10)
    assert texts(sidecar) == [2]


def test_a_full_disk_is_waited_out(sidecar, client, eventually, monkeypatch):
    """Refused with a reason that passes: nothing is given up."""

    monkeypatch.setattr(outboxes, "LONGEST_BACKOFF", 0.01)
    session = client.start_session(project_path="/p")
    sidecar.refusal, sidecar.refusal_code = "STORAGE_FULL", grpc.StatusCode.UNAVAILABLE
    session.observe(said(1))
    eventually(lambda: len(sidecar.requests("Ingest")) > 2 * MOST_REFUSALS)
    assert client.why_without_memory == "refused: STORAGE_FULL"
    sidecar.refusal = ""
    assert client.flush(10)
    assert texts(sidecar) == [1]
