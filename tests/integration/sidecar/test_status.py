"""What the sidecar says of itself, and how the command shows it."""

import json
import subprocess
import sys

import psutil
import pytest

from seamark.events import MemoryRecorded, UserSaid
from seamark.testing import RecordingSidecar
from seamark.wire.v1 import sidecar_pb2 as wire

from .process import Talk, wait_until

HELLO = UserSaid(text="hello")
CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.")
PASSED = wire.CompleteSessionRequest.VALIDATION_PASSED


def of(sidecar, talk):
    """What the status says of one session."""
    return next(each for each in sidecar.status().sessions if each.session_id == talk.id)


def test_every_process_is_listed_with_the_memory_it_occupies(shared):
    wait_until(lambda: all(each.resident_bytes for each in shared.status().processes))
    processes = shared.status().processes
    assert [each.name for each in processes] == ["sidecar", "index"]
    assert processes[0].process_id == shared.process.pid
    for each in processes:
        real = psutil.Process(each.process_id).memory_info().rss
        assert 0.5 * real < each.resident_bytes < 2 * real


def test_a_worker_that_was_restarted_says_how_often(own):
    sidecar = own().start()
    wait_until(lambda: sidecar.status().processes[1].process_id)
    first = sidecar.status().processes[1].process_id
    psutil.Process(first).kill()
    wait_until(lambda: sidecar.status().processes[1].restart_count == 1)
    wait_until(lambda: sidecar.status().processes[1].process_id not in {0, first})


def test_files_are_listed_with_what_they_take_on_the_disk(own):
    sidecar = own().start()
    talk = Talk(sidecar, project="shop")
    sizes = {each.name: each.size_bytes for each in sidecar.status().files}
    assert list(sizes) == ["memory.db", "journal.db", "index", "models", "sidecar.log"]
    assert sizes["memory.db"] > 0
    for first in range(1, 40):
        talk.ingest(talk.batch(UserSaid(text="x" * 50_000), first=first))

    def has_grown():
        now = {each.name: each.size_bytes for each in sidecar.status().files}
        return now["journal.db"] - sizes["journal.db"] > 1_900_000

    wait_until(has_grown)


def test_the_index_is_told_with_how_far_it_has_come(own):
    sidecar = own().start()
    Talk(sidecar, project="shop").complete(CENTS, validation=PASSED)

    def is_followed():
        index = sidecar.status().index
        told = (index.ready, index.applied_seq, index.last_seq, index.model, index.fault)
        return told == (True, 1, 1, "", "")

    wait_until(is_followed)


def test_a_session_in_use_is_listed_with_its_counts(shared, talk):
    talk.ingest(talk.batch(HELLO, HELLO), talk.batch(HELLO, first=7, producer_id="other"))
    told = of(shared, talk)
    assert (told.state, told.event_count, told.missing_count) == ("open", 3, 6)
    assert told.project_id
    assert told.last_seen_time.seconds > 0


def test_what_producers_say_of_themselves_is_added_up(shared, talk):
    talk.ingest(talk.batch(HELLO, queued_count=5, dropped_count=2))
    talk.ingest(talk.batch(HELLO, producer_id="other", queued_count=7, breaker_open=True))
    told = of(shared, talk)
    assert (told.queued_count, told.dropped_count, told.breaker_open) == (12, 2, True)
    # The last word counts; what was dropped stays dropped.
    talk.prepare(5, producer_id="other", queued_count=1)
    talk.ingest(talk.batch(queued_count=0, dropped_count=1))
    told = of(shared, talk)
    assert (told.queued_count, told.dropped_count, told.breaker_open) == (1, 2, False)


def test_numbers_beyond_all_measure_are_cut(shared, talk):
    for producer in "abc":
        talk.ingest(
            talk.batch(
                HELLO,
                first=2**63 - 1,
                producer_id=producer,
                queued_count=2**32 - 1,
                dropped_count=2**64 - 1,
            )
        )
    told = of(shared, talk)
    assert (told.queued_count, told.dropped_count) == (2**32 - 1, 2**63 - 1)
    assert told.missing_count == 2**63 - 1


def test_producers_with_impossible_names_are_not_kept(shared, talk):
    talk.ingest(talk.batch(HELLO, producer_id="x" * 1000, queued_count=9))
    assert of(shared, talk).queued_count == 0


def test_the_latest_session_comes_first_and_a_closed_one_not_at_all(own):
    sidecar = own().start()
    first, second, done = (Talk(sidecar, project="shop") for _ in range(3))
    done.complete(validation=PASSED)
    second.ingest(second.batch(HELLO))
    first.ingest(first.batch(HELLO))
    assert [each.session_id for each in sidecar.status().sessions] == [first.id, second.id]
    first.complete()
    assert of(sidecar, first).state == "pending"


def test_a_client_says_how_much_waits_in_its_buffer():
    with RecordingSidecar() as recording:
        recording.refusal, recording.refused_call = "BUSY", "Ingest"
        client = recording.client(step_deadline=5.0, close_deadline=0.1)
        session = client.start_session(project_name="shop")
        for _ in range(40):
            session.observe(HELLO)
        wait_until(lambda: recording.requests("Ingest"))
        for _ in range(30):
            session.observe(HELLO)
        session.prepare_step(1)
        (asked,) = recording.requests("PrepareStep")
        assert asked.events.queued_count >= 30
        client.close(0.1)


def test_a_client_says_that_it_skips_calls():
    with RecordingSidecar() as recording:
        client = recording.client(step_deadline=0.01)
        session = client.start_session(project_name="shop")
        recording.delay = 0.1
        for step in (1, 2, 3):
            session.prepare_step(step)
        recording.delay = 0.0
        session.observe(HELLO)
        wait_until(lambda: recording.bodies())
        (batch,) = recording.requests("Ingest")[-1].batches
        assert batch.breaker_open
        assert not recording.requests("PrepareStep")[0].events.breaker_open
        client.close(1)


@pytest.fixture
def ask(shared):
    """Runs `seamark status` beside the shared sidecar."""

    def ask(*arguments):
        asked = subprocess.run(
            [sys.executable, "-m", "seamark_sidecar", "status", *arguments],
            env={**shared.environ, "COLUMNS": "80"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (asked.returncode, asked.stderr) == (0, "")
        return asked.stdout

    return ask


def test_the_command_shows_processes_files_index_and_sessions(shared, talk, ask):
    talk.ingest(talk.batch(HELLO, queued_count=5, dropped_count=2, breaker_open=True))
    lines = ask().splitlines()
    (line,) = [line for line in lines if talk.id[:8] in line]
    for fact in ("open", "1 event", "5 queued", "0 missing", "2 dropped", "skips calls"):
        assert fact in line
    assert talk.id not in line
    sections = [line for line in lines[1:] if not line.startswith(" ")]
    assert sections == ["Processes", "Files", "Sessions in use"]
    assert any(f"pid {shared.process.pid}" in line and " MB" in line for line in lines)
    assert any(line.startswith("  journal.db") for line in lines)
    assert any(line.startswith("  index ") and "no embedding model" in line for line in lines)


def test_as_json_everything_is_told(shared, talk, ask):
    talk.ingest(talk.batch(HELLO, queued_count=5))
    told = json.loads(ask("--json"))
    assert told["learning_stop_reason"] == ""
    assert {each["name"] for each in told["processes"]} == {"sidecar", "index"}
    assert {"ready", "applied_seq", "last_seq", "rebuild_count", "model", "fault"} == set(
        told["index"]
    )
    (session,) = [each for each in told["sessions"] if each["session_id"] == talk.id]
    assert session["queued_count"] == 5
    assert session["breaker_open"] is False
    # Whatever the wire says is there.
    answered = wire.StatusResponse.DESCRIPTOR.fields_by_name
    renamed = {"sidecar_version": "version", "process_id": "pid"}
    assert {renamed.get(name, name) for name in answered} <= set(told)


def test_learning_that_stopped_is_said_first(own):
    sidecar = own(SEAMARK_MIN_FREE_MB=str(1 << 20)).start()
    asked = subprocess.run(
        [sys.executable, "-m", "seamark_sidecar", "status"],
        env={**sidecar.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "It learns nothing: only " in asked.stdout.splitlines()[1]
