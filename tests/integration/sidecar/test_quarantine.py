"""An event that takes the sidecar down is not looked at for ever."""

import sys
from pathlib import Path

import grpc
import pytest

from seamark.events import MemoryRecorded, UserSaid
from seamark.wire.v1 import sidecar_pb2 as wire

from . import poisoned
from .process import Talk, wait_until

COMMAND = (sys.executable, str(Path(poisoned.__file__)))
POISONS = [poisoned.REDACTION, poisoned.OBSERVER]


def record(content):
    return MemoryRecorded(type="gotcha", content=content)


def crashes(sidecar, work):
    """Does the work, which takes the sidecar down; then starts it again."""
    with pytest.raises(grpc.RpcError):
        work()
    wait_until(lambda: not sidecar.is_running)
    sidecar.start(COMMAND)


@pytest.mark.parametrize("poison", POISONS)
def test_a_batch_that_crashes_the_sidecar_twice_is_quarantined(own, poison):
    sidecar = own().start(COMMAND)
    talk = Talk(sidecar, project="shop")
    batch = talk.batch(record("one"), record(poison), record("three"))
    crashes(sidecar, lambda: talk.ingest(batch))
    crashes(sidecar, lambda: talk.ingest(batch))

    (receipt,) = talk.ingest(batch)
    assert (receipt.acknowledged_count, receipt.rejected_count) == (2, 1)
    assert receipt.rejected_reason == "QUARANTINED"
    assert sidecar.status().quarantined_event_count == 1
    # Its neighbours are stored, and later ones go on.
    assert {1, 3} <= set(sidecar.stored(talk.id))
    assert talk.ingest(talk.batch(UserSaid(text="later"), first=4))[0].acknowledged_count == 1
    summary = talk.complete(validation=wire.CompleteSessionRequest.VALIDATION_PASSED)
    assert [each.label for each in summary.learnt] == ["gotcha: one", "gotcha: three"]
    assert sidecar.rows("journal.db", "SELECT * FROM suspects") == []


def test_an_event_that_is_stored_and_then_crashes_does_not_crash_every_restart(own):
    sidecar = own().start(COMMAND)
    talk = Talk(sidecar, project="shop")
    crashes(sidecar, lambda: talk.ingest(talk.batch(record("one"), record(poisoned.OBSERVER))))
    # It is in the journal, so restoring the session meets it again: that is the second crash.
    crashes(sidecar, lambda: talk.prepare(5))
    assert talk.prepare(5).text.count("you recorded") == 1


def test_a_poisoned_question_is_quarantined_too(own):
    sidecar = own().start(COMMAND)
    talk = Talk(sidecar, project="shop")
    for _ in range(2):
        crashes(sidecar, lambda: talk.prepare(5, record(poisoned.REDACTION), record("two")))
    assert "two" in talk.prepare(5, record(poisoned.REDACTION), record("two")).text


def test_the_sdk_gets_past_a_poisoned_event(own):
    sidecar = own().start(COMMAND)
    client = sidecar.client()
    session = client.start_session(project_name="shop")
    session.observe(record("one"))
    session.observe(record(poisoned.REDACTION))
    session.observe(record("three"))
    for _ in range(2):
        wait_until(lambda: not sidecar.is_running)
        sidecar.start(COMMAND)
    assert client.flush(20)
    assert client.rejected == 1
    assert len(session.complete(validated=True).learnt) == 2


def test_other_sessions_are_not_concerned(own):
    sidecar = own().start(COMMAND)
    talk, other = Talk(sidecar, project="shop"), Talk(sidecar, project="shop")
    other.ingest(other.batch(record("before")))
    for _ in range(2):
        crashes(sidecar, lambda: talk.ingest(talk.batch(record(poisoned.REDACTION))))
    assert other.ingest(other.batch(record("after"), first=2))[0].acknowledged_count == 1
    assert sidecar.stored(other.id) == [1, 2]
