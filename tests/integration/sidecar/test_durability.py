"""What was acknowledged is there, whatever happens to the process."""

import random
import sqlite3
import threading
import time

import grpc
import pytest

from seamark.events import MemoryRecorded, Outcome, ToolCalled, ToolReturned, UserSaid
from seamark.injections import SessionState
from seamark.wire.v1 import sidecar_pb2 as wire

from .process import Talk, wait_until

CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.", files=("src/cart.py",))
READ = (
    ToolCalled(call_id="r1", tool="read_file", arguments_json='{"path": "src/cart.py"}'),
    ToolReturned(call_id="r1", outcome=Outcome.OK, result="..."),
)
PASSED = wire.CompleteSessionRequest.VALIDATION_PASSED


def test_a_sidecar_that_is_told_to_stop_is_gone_in_time_and_loses_nothing(own):
    sidecar = own().start()
    talk = Talk(sidecar, project="shop")
    acknowledged: list[int] = []
    going = threading.Event()

    def report():
        for first in range(1, 10_000, 10):
            try:
                (receipt,) = talk.ingest(talk.batch(*[UserSaid(text="x")] * 10, first=first))
            except grpc.RpcError:
                return
            assert receipt.acknowledged_count == 10
            acknowledged.extend(range(first, first + 10))
            going.set()

    reporter = threading.Thread(target=report)
    reporter.start()
    assert going.wait(10)
    assert sidecar.stop() < 5
    reporter.join(20)
    assert not (sidecar.data / "seamark.sock").exists()
    # The files are closed properly: nothing has to be recovered.
    assert not list(sidecar.data.glob("*-wal"))
    stored = sidecar.stored(talk.id)
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert "stopped" in sidecar.said()


def test_a_call_under_way_does_not_keep_the_sidecar_from_stopping(own):
    sidecar = own().start()
    talk = Talk(sidecar, project="shop")
    hanging = sidecar.channel.unary_unary("/grpc.health.v1.Health/Watch")
    threading.Thread(target=lambda: _ignore(hanging), daemon=True).start()
    assert talk.ingest(talk.batch(CENTS))[0].acknowledged_count == 1
    assert sidecar.stop() < 5


def _ignore(call):
    try:
        call(b"", timeout=10)
    except grpc.RpcError:
        return


def test_what_was_acknowledged_survives_kill_9_and_is_stored_once(own):
    """A client of the SDK reports while its sidecar is killed and started again."""
    sidecar = own().start()
    chance = random.Random(7)
    client = sidecar.client(buffer=100_000)
    sessions = [client.start_session(project_name="shop") for _ in range(3)]
    stop = threading.Event()
    reported = dict.fromkeys(range(3), 0)

    def report(index):
        while not stop.is_set():
            sessions[index].observe(UserSaid(text=f"event {reported[index] + 1}"))
            reported[index] += 1
            time.sleep(0.0005)

    reporters = [threading.Thread(target=report, args=(index,)) for index in range(3)]
    for reporter in reporters:
        reporter.start()
    for _ in range(3):
        time.sleep(chance.uniform(0.05, 0.4))
        sidecar.kill()
        sidecar.start()
    time.sleep(0.2)
    stop.set()
    for reporter in reporters:
        reporter.join()
    # Everything is acknowledged in the end, so everything must be there.
    assert client.flush(20)
    assert (client.dropped, client.rejected) == (0, 0)
    for index, session in enumerate(sessions):
        stored = sidecar.stored(session.id)
        assert sorted(stored) == list(range(1, reported[index] + 1))


def test_each_acknowledgement_is_true_at_the_moment_of_a_kill(own):
    """By raw calls, which know exactly what was acknowledged before the kill."""
    sidecar = own().start()
    chance = random.Random(11)
    talk = Talk(sidecar, project="shop")
    first = 1
    acknowledged: set[int] = set()
    for _ in range(3):
        killer = threading.Timer(chance.uniform(0.02, 0.2), sidecar.kill)
        killer.start()
        while True:
            batch = talk.batch(*[UserSaid(text="x" * 500)] * 20, first=first)
            try:
                (receipt,) = talk.ingest(batch)
            except grpc.RpcError:
                break
            assert receipt.acknowledged_count == 20
            acknowledged.update(range(first, first + 20))
            first += 20
        killer.join()
        stored = sidecar.stored(talk.id)
        assert acknowledged <= set(stored)
        assert len(stored) == len(set(stored))
        sidecar.start()
    assert acknowledged


def test_a_session_survives_a_restart_of_the_sidecar(own):
    sidecar = own().start()
    taught = Talk(sidecar, project="shop")
    taught.complete(CENTS, validation=PASSED)
    talk = Talk(sidecar, project="shop")
    talk.ingest(talk.batch(*READ, MemoryRecorded(type="gotcha", content="Tax is rounded last.")))
    before = talk.prepare(5)
    (citation,) = before.citations
    # A write that nobody waits for; the kill must not come before it.
    wait_until(lambda: sidecar.rows("memory.db", "SELECT 1 FROM injections"))

    sidecar.kill()
    sidecar.start()
    # The same capability, the same files in sight, the same block, and nothing decided twice.
    after = talk.prepare(6)
    assert list(after.citations) == [citation]
    assert "Prices are in cents." in after.text
    assert "[you recorded in this session] Tax is rounded last." in after.text
    request = wire.AugmentToolResultRequest(events=talk.batch(), call_id="r1")
    assert sidecar.ask("AugmentToolResult", request).injection.text == ""
    assert len(sidecar.explain(talk.id).injections) == 1
    found = sidecar.ask("Search", wire.SearchRequest(events=talk.batch(), query="prices"))
    assert found.hits[0].shown

    # What it found before the restart is learnt after it.
    summary = talk.complete(validation=PASSED)
    assert [each.label for each in summary.learnt] == ["gotcha: Tax is rounded last."]
    assert [each.memory_id for each in summary.used] == [citation.memory_id]


def test_a_session_that_starts_again_after_a_restart_is_told_the_same(own):
    sidecar = own().start()
    Talk(sidecar, project="shop").complete(CENTS, validation=PASSED)
    talk = Talk(sidecar, project="shop")
    sidecar.stop()
    sidecar.start()
    again = talk.start()
    assert again.capability == talk.capability
    assert _lines(again.system.text) == _lines(talk.welcome.system.text)


def _lines(block):
    """A block without its nonce."""
    return block.splitlines()[1:-1]


def test_a_pending_session_waits_through_a_restart(own):
    sidecar = own().start()
    client = sidecar.client()
    session = client.start_session(project_name="shop")
    session.record(CENTS)
    assert session.complete().state is SessionState.PENDING
    sidecar.kill()
    sidecar.start()
    # Another process has only the ticket.
    resumed = sidecar.client().resume_session(session.ticket)
    told = resumed.report_validation(True)
    assert [each.label for each in told.learnt] == ["gotcha: Prices are in cents."]
    assert len(sidecar.memories("shop")) == 1
    # The gate has closed: what was reported is gone.
    assert sidecar.stored(session.id) == []


def test_events_left_by_a_crash_at_the_gate_are_tidied_up(own):
    sidecar = own().start()
    talk = Talk(sidecar, project="shop")
    talk.complete(CENTS, validation=PASSED)
    open_ = Talk(sidecar, project="shop")
    open_.ingest(open_.batch(CENTS))
    sidecar.kill()
    # As if the crash had come between the two commits.
    with sqlite3.connect(sidecar.data / "journal.db") as connection:
        connection.execute(
            "INSERT INTO events (session_id, producer_id, sequence, time, message) "
            "VALUES (?, 'p', 1, 0, x'')",
            (talk.id,),
        )
    connection.close()
    sidecar.start()
    wait_until(lambda: sidecar.stored(talk.id) == [])
    assert sidecar.stored(open_.id) == [1]


@pytest.mark.parametrize("ended", ["killed", "stopped"])
def test_the_socket_of_a_sidecar_that_is_gone_is_replaced(own, ended):
    sidecar = own().start()
    if ended == "killed":
        sidecar.kill()
        assert (sidecar.data / "seamark.sock").exists()
    else:
        sidecar.stop()
    sidecar.start()
    assert sidecar.status().process_id == sidecar.process.pid
