"""Whatever is wrong with the sidecar, the agent goes on in time and is told why once."""

import logging
import threading
import time
from typing import Any

import pytest

from seamark import (
    Client,
    MemoryRecorded,
    Outcome,
    SearchResult,
    SessionStart,
    SessionState,
    SessionSummary,
    Settings,
    TextProduced,
    ToolReturned,
    UserSaid,
)
from seamark.injections import NOTHING
from seamark.session import NOT_RECORDED, NOT_TAKEN, NOTED_FOR_LATER, WITHOUT_MEMORY
from tests.integration.sdk.conftest import PATIENT, undelivered

NOTE = MemoryRecorded(type="gotcha", content="c")
QUICK: dict[str, Any] = {"tool_deadline": 0.3, "close_deadline": 0.1}


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.INFO, logger="seamark")

    def texts(level=logging.WARNING):
        return [
            record.getMessage()
            for record in caplog.records
            if record.name == "seamark" and record.levelno == level
        ]

    return texts


def everything(session):
    """Each call once; what they answer without memory is always the same."""
    session.observe(UserSaid(text="hello"))
    assert session.prepare_step(1) == NOTHING
    assert session.augment_tool_result("c") == NOTHING
    assert session.search("q") == SearchResult(text=WITHOUT_MEMORY)
    assert session.record(NOTE) == NOTED_FOR_LATER
    assert session.checkpoint("unit") is False
    for summary in (session.complete(), session.report_validation(True)):
        assert summary.state is SessionState.UNKNOWN
        assert summary.line


def test_without_a_sidecar_every_call_answers_and_one_warning_says_why(tmp_path, warnings):
    client = Client(Settings(address=f"unix:{tmp_path}/s.sock", **QUICK))
    session = client.start_session()
    assert session.start == SessionStart()
    everything(session)
    (warning,) = warnings()
    assert "no sidecar listens" in warning
    assert "start it: seamark up" in warning
    assert client.why_without_memory in warning
    client.close()
    assert client.dropped == 2
    assert len(warnings()) == 1


def test_without_a_sidecar_nothing_waits_for_one(tmp_path):
    client = Client(Settings(address=f"unix:{tmp_path}/s.sock"))
    began = time.monotonic()
    session = client.start_session()
    for step in range(100):
        session.prepare_step(step)
        session.augment_tool_result("c")
    session.search("q")
    assert time.monotonic() - began < 0.5
    client.close(0)


def test_garbage_for_an_answer_is_no_memory(sidecar, warnings, caplog):
    sidecar.garbage = True
    client = sidecar.client(**QUICK)
    everything(client.start_session())
    (warning,) = warnings()
    assert "makes no sense" in warning
    sidecar.garbage = False
    client.close(5)
    assert client.dropped == 0
    assert {record.name for record in caplog.records} == {"seamark"}


@pytest.mark.parametrize("reason", ["WIRE_TOO_NEW", "WIRE_TOO_OLD"])
def test_another_version_is_told_so_politely_and_runs_without_memory(sidecar, warnings, reason):
    sidecar.refusal = reason
    client = sidecar.client(**QUICK)
    everything(client.start_session())
    assert warnings() == [f"seamark runs without memory: refused: {reason}"]
    # An upgraded sidecar gets what was kept.
    sidecar.refusal = ""
    client.close(5)
    assert sidecar.bodies() == [UserSaid(text="hello"), NOTE]


def test_a_refused_end_is_not_promised_for_later(sidecar, client, warnings):
    session = client.start_session()
    sidecar.refusal, sidecar.refused_call = "NOT_TODAY", "CompleteSession"
    assert session.complete().line == f"{NOT_TAKEN}: refused: NOT_TODAY"
    assert client.flush(5)
    assert len(sidecar.requests("CompleteSession")) == 1


def test_a_hung_sidecar_costs_each_call_its_deadline_and_no_more(sidecar):
    sidecar.delay = 0.6
    client = sidecar.client(session_start_deadline=0.2, tool_deadline=0.3, close_deadline=0.1)
    began = time.monotonic()
    session = client.start_session()
    assert 0.15 < time.monotonic() - began < 0.5
    for call, most in (
        (lambda: session.search("q"), 0.3),
        (lambda: session.checkpoint(), 0.3),
        (lambda: session.complete(), 0.1),
    ):
        began = time.monotonic()
        call()
        assert time.monotonic() - began < most + 0.25
    sidecar.delay = 0.0
    client.close(5)


@pytest.mark.parametrize("start", [0.3, 2.0])
def test_starting_the_session_first_is_no_excuse_for_taking_longer(sidecar, start):
    sidecar.delay = 0.25
    client = sidecar.client(session_start_deadline=start, tool_deadline=0.4)
    session = client.resume_session(Client(Settings(address="")).start_session().ticket)
    began = time.monotonic()
    assert session.search("q").text == WITHOUT_MEMORY
    assert time.monotonic() - began < 0.65
    sidecar.delay = 0.6
    began = time.monotonic()
    client.resume_session(session.ticket).search("q")
    assert time.monotonic() - began < 0.65
    sidecar.delay = 0.0
    client.close(5)


def test_a_hung_sidecar_costs_an_agent_few_steps(sidecar, warnings):
    client = sidecar.client(step_deadline=0.05, tool_result_deadline=0.05)
    session = client.start_session()
    assert session.prepare_step(1).text == "[step]"
    sidecar.delay = 0.3
    began = time.monotonic()
    for step in range(2, 100):
        assert session.prepare_step(step) == NOTHING
        for _ in range(5):
            assert session.augment_tool_result("c") == NOTHING
    assert time.monotonic() - began < 1.0
    asked = len(sidecar.requests("PrepareStep")) + len(sidecar.requests("AugmentToolResult"))
    assert 3 <= asked <= 5, "two timeouts, and a probe now and then"
    assert warnings() == ["seamark runs without memory: the sidecar did not answer in time"]
    sidecar.delay = 0.0
    client.close(5)


def test_one_timeout_skips_the_other_calls_of_its_step(sidecar):
    client = sidecar.client(step_deadline=0.05, tool_result_deadline=0.05)
    session = client.start_session()
    sidecar.delay = 0.2
    session.prepare_step(1)
    sidecar.delay = 0.0
    assert session.augment_tool_result("c") == NOTHING
    assert sidecar.requests("AugmentToolResult") == []
    client.close(5)


def test_memory_comes_back_and_a_line_says_so(sidecar, client, warnings, eventually):
    session = client.start_session()
    sidecar.stop()
    session.observe(UserSaid(text="1"))
    assert session.prepare_step(1) == NOTHING
    assert client.why_without_memory
    sidecar.start()
    assert client.flush(10)
    assert client.why_without_memory == ""
    assert session.prepare_step(2).text == "[step]"
    assert "seamark has memory again" in warnings(logging.INFO)
    # The same kind of trouble is not told twice.
    sidecar.stop()
    session.prepare_step(3)
    assert len(warnings()) == 1
    sidecar.start()


def test_each_kind_of_reason_is_told_once(sidecar, warnings):
    client = sidecar.client(**QUICK, step_deadline=0.05)
    session = client.start_session()
    for _ in range(3):
        sidecar.refusal = "ONE"
        session.search("q")
        sidecar.refusal = "OTHER"
        session.search("q")
        sidecar.refusal = ""
        sidecar.garbage = True
        session.search("q")
        sidecar.garbage = False
        session.search("q")
    told = warnings()
    assert len(told) == 3
    assert told[0].endswith("refused: ONE")
    assert told[1].endswith("refused: OTHER")
    client.close(5)


def test_switched_off_it_does_nothing_at_all(sidecar, warnings, monkeypatch):
    monkeypatch.setenv("SEAMARK_DISABLED", "1")
    monkeypatch.setenv("SEAMARK_ADDRESS", sidecar.address)
    before = threading.active_count()
    client = Client()
    assert client.disabled
    session = client.start_session()
    for _ in range(10_000):
        session.observe(UserSaid(text="hello"))
    assert session.prepare_step(1) == NOTHING
    assert session.augment_tool_result("c") == NOTHING
    assert session.search("q").text == WITHOUT_MEMORY
    assert session.record(NOTE) == WITHOUT_MEMORY
    assert session.checkpoint() is False
    assert session.complete() == session.report_validation(True) == SessionSummary()
    assert client.flush(0)
    client.close()
    assert threading.active_count() == before
    assert sidecar.requests("StartSession") == []
    assert client.dropped == 0
    assert client.why_without_memory == ""
    assert warnings() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SEAMARK_ADDRESS", "example.org:443"),
        ("SEAMARK_ADDRESS", "unix:/" + "x" * 200),
        ("SEAMARK_BUFFER", "lots"),
        ("SEAMARK_STEP_MS", "-1"),
        ("SEAMARK_DISABLED", "perhaps"),
        ("SEAMARK_DATA_DIR", "~nobody-of-this-name"),
    ],
)
def test_a_wrong_setting_is_a_warning_and_no_memory(monkeypatch, warnings, name, value):
    monkeypatch.delenv("SEAMARK_ADDRESS", raising=False)
    monkeypatch.setenv(name, value)
    client = Client()
    session = client.start_session()
    session.observe(UserSaid(text="hello"))
    assert session.prepare_step(1) == NOTHING
    assert session.search("q").text == WITHOUT_MEMORY
    (warning,) = warnings()
    assert name in warning or value.removeprefix("unix:") in warning
    assert client.why_without_memory in warning
    client.close()


def test_a_wrong_address_in_settings_is_a_warning_too(warnings):
    client = Client(Settings(address="example.org:443", **QUICK))
    everything(client.start_session())
    assert len(warnings()) == 1
    assert "unix:/absolute" in warnings()[0]
    client.close()


class Trap:
    """Fails whatever is done with it."""

    def __getattribute__(self, name):
        raise RuntimeError("a trap")


WRONG = [
    None,
    "text",
    42,
    UserSaid(text=None),  # type: ignore[arg-type]
    UserSaid(text=b"\xff"),  # type: ignore[arg-type]
    UserSaid(text=["a"]),  # type: ignore[arg-type]
    UserSaid(text=Trap()),  # type: ignore[arg-type]
    ToolReturned(call_id="c", outcome="ok", result="r"),  # type: ignore[arg-type]
    ToolReturned(call_id="c", outcome=Outcome.OK, result={"a": 1}),  # type: ignore[arg-type]
    TextProduced(kind=[], text="t"),  # type: ignore[arg-type]
    MemoryRecorded(type="t", content="c", files=7),  # type: ignore[arg-type]
    MemoryRecorded(type="t", content="c", tags=(1, 2)),  # type: ignore[arg-type]
]


def test_what_is_no_event_is_counted_and_the_others_arrive(sidecar, client, warnings):
    session = client.start_session()
    with undelivered(sidecar):
        session.observe(UserSaid(text="before"))
        for body in WRONG:
            session.observe(body)
        session.observe(UserSaid(text="after"))
        # Neither a decision nor a second attempt counts them again.
        assert session.prepare_step(1).text == "[step]"
        sidecar.garbage = True
    time.sleep(0.1)
    sidecar.garbage = False
    assert client.flush(10)
    assert sidecar.bodies() == [UserSaid(text="before"), UserSaid(text="after")]
    # None is what a newer sender's event looks like, and is sent as such.
    assert client.rejected == len(WRONG) - 1
    assert client.outbox.faults == client.dropped == 0
    told = [text for text in warnings() if "cannot report" in text]
    assert len(told) == len({text.split(":")[0] for text in told}) == 6


CALLS = {
    "a negative step": lambda session: session.prepare_step(-1) == NOTHING,
    "a huge step": lambda session: session.prepare_step(2**40) == NOTHING,
    "a step in words": lambda session: session.prepare_step("one") == NOTHING,
    "a call without id": lambda session: session.augment_tool_result(None) == NOTHING,
    "no types": lambda session: session.search("q", types=None).text == WITHOUT_MEMORY,
    "a limit in words": lambda session: session.search("q", limit="x").text == WITHOUT_MEMORY,
    "no label": lambda session: session.checkpoint(None) is False,
    "no note": lambda session: session.record("note") == NOT_RECORDED,
    "a note without text": lambda session: (
        session.record(MemoryRecorded(type="t", content=None)) == NOT_RECORDED  # type: ignore[arg-type]
    ),
    "an outcome in words": lambda session: "did not take" in session.complete("fine").line,
    "a detail that is none": lambda session: (
        "did not take" in session.report_validation(True, 5).line
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_argument_that_makes_no_sense_is_not_the_agents_problem(sidecar, client, call):
    session = client.start_session()
    assert call(session)
    assert session.prepare_step(1).text == "[step]"
    assert client.flush(5)
    assert sidecar.bodies() == []


def test_text_that_is_no_text_is_sent_all_the_same(sidecar, client):
    session = client.start_session(project_path="/\udcff", role="\ud800", task="\udcff" * 5)
    assert session.start.system.text == "[system]"
    session.observe(ToolReturned(call_id="\udcff", outcome=Outcome.OK, result="a\0\udcff"))
    assert session.augment_tool_result("\udcff").text == "[tool]"
    assert session.search("\udcff", types=["\udcff"], files=["\udcff"]).text
    assert session.checkpoint("\udcff")
    assert session.record(MemoryRecorded(type="\ud800", content="\udcff")) == "Noted."
    assert session.report_validation(True, "\udcff").state is SessionState.CLOSED
    assert client.flush(5)
    assert len(sidecar.bodies()) == 2
    assert client.rejected == 0


def test_a_closed_client_answers_at_once_and_in_silence(sidecar, client, warnings):
    session = client.start_session()
    session.observe(UserSaid(text="1"))
    client.close()
    assert sidecar.bodies() == [UserSaid(text="1")]
    began = time.monotonic()
    session.observe(UserSaid(text="2"))
    assert session.prepare_step(1) == NOTHING
    assert session.search("q").text == WITHOUT_MEMORY
    assert session.record(NOTE) == WITHOUT_MEMORY
    assert "the client was closed" in session.complete().line
    assert client.start_session().start == SessionStart()
    assert time.monotonic() - began < 0.5
    assert client.why_without_memory == "the client was closed"
    assert client.dropped == 2
    assert len(sidecar.bodies()) == 1
    assert warnings() == []
    client.close()


def test_closing_while_the_sidecar_hangs_is_bounded_and_quiet(sidecar, warnings):
    client = sidecar.client(**PATIENT)
    session = client.start_session()
    sidecar.delay = 1.0
    session.observe(UserSaid(text="1"))
    began = time.monotonic()
    client.close(0.1)
    assert time.monotonic() - began < 0.6
    assert client.dropped == 1
    assert warnings() == []
    sidecar.delay = 0.0


def test_a_socket_that_nobody_serves_any_more_is_no_memory(sidecar, client):
    session = client.start_session()
    sidecar.stop()
    for step in range(20):
        assert session.prepare_step(step) == NOTHING
    assert "sidecar" in client.why_without_memory
    sidecar.start()
