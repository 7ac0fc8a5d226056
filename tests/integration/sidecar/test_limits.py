"""Quotas, retention, and disks that have little room or none."""

import shutil
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from datetime import timedelta

import grpc
import pytest

from seamark.events import MemoryRecorded, SessionOutcome, UserSaid
from seamark.injections import SessionState
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.limits.housekeeper import Housekeeper
from seamark_sidecar.limits.log_file import LogFile
from seamark_sidecar.limits.quota import IN_USE, WHY, Quota
from seamark_sidecar.limits.room import Room
from seamark_sidecar.model.errors import StorageFull, StorageUnwritable
from seamark_sidecar.store.sqlite_file import SqliteFile
from seamark_sidecar.store.sqlite_journal import MOST_CHECKPOINTS

from .engine import Engine
from .process import PATIENCE, Talk, refused, wait_until

MB = 1 << 20
# The index alone takes some tens of megabytes in advance.
SMALL = "160m"
CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.")
LONG = UserSaid(text="x" * 50_000)
PASSED = wire.CompleteSessionRequest.VALIDATION_PASSED


@pytest.fixture
def engine(tmp_path):
    engine = Engine(tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def file(tmp_path):
    """A database with a table for anything."""
    made = SqliteFile(
        tmp_path / "x.db", migrations=["CREATE TABLE things (thing)"], synchronous="NORMAL"
    )
    made.open()
    yield made
    assert made.close(5.0)


def insert(size):
    return lambda connection: connection.execute("INSERT INTO things VALUES (zeroblob(?))", (size,))


def occupied(file):
    names = (file.path, file.path.with_name(file.path.name + "-wal"))
    return sum(path.stat().st_size for path in names if path.exists())


# One file.


async def test_what_a_file_holds_is_known_without_asking(file):
    before = file.used
    await file.write(insert(MB))
    assert 0.9 * MB < file.used - before < 1.1 * MB
    await file.write(lambda connection: connection.execute("DELETE FROM things"))
    assert file.used <= before + 4096


async def test_free_pages_are_given_back_to_the_disk(file):
    for _ in range(8):
        await file.write(insert(MB))
    await file.write(lambda connection: connection.execute("DELETE FROM things"))
    large = occupied(file)
    assert await file.give_back() > 7 * MB
    assert occupied(file) < large / 10
    assert await file.give_back() == 0


async def test_the_log_of_a_database_does_not_grow_with_what_is_written(file):
    log = file.path.with_name(file.path.name + "-wal")
    for _ in range(40):
        await file.write(insert(MB))
    assert file.path.stat().st_size > 30 * MB
    assert log.stat().st_size < 16 * MB


async def test_a_probe_leaves_no_trace(file):
    await file.write(insert(10))
    await file.probe()
    names = await file.read(
        lambda connection: connection.execute("SELECT name FROM sqlite_schema").fetchall()
    )
    assert names == [("things",)]
    assert file.fault == ""


async def test_a_fault_is_remembered_until_a_write_succeeds(file):
    limit = "PRAGMA max_page_count=%d"
    await file.read(lambda connection: connection.execute(limit % 4).fetchone())
    with pytest.raises(StorageFull):
        await file.write(insert(MB))
    assert "there is no room to write" in file.fault
    with pytest.raises(StorageFull):
        await file.probe()
    assert file.fault
    await file.read(lambda connection: connection.execute(limit % 100_000).fetchone())
    await file.probe()
    assert file.fault == ""


async def test_a_mistake_of_a_job_is_no_fault_of_storage(file):
    with pytest.raises(sqlite3.OperationalError):
        await file.write(lambda connection: connection.execute("INSERT INTO nothing VALUES (1)"))
    assert file.fault == ""


async def test_the_oldest_checkpoints_of_a_session_make_room_for_the_newest(tmp_path, engine):
    for number in range(MOST_CHECKPOINTS + 5):
        await engine.journal.checkpoint("busy", f"unit {number}", number, engine.now)
    await engine.journal.checkpoint("other", "unit", 1, engine.now)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        rows = connection.execute("SELECT session_id, event_count FROM checkpoints").fetchall()
    kept = [count for session_id, count in rows if session_id == "busy"]
    assert kept == list(range(5, MOST_CHECKPOINTS + 5))
    assert ("other", 1) in rows


# Room on the disk.


def room_of(engine, *, free, least=200 * MB, journal_size=512 * MB):
    return Room(
        engine.directory,
        engine.memories.file,
        engine.journal.file,
        least_free=least,
        journal_size=journal_size,
        free=lambda _: free(),
    )


async def test_events_are_refused_while_less_is_free_than_must_stay_so(engine):
    free = [300 * MB]
    room = room_of(engine, free=lambda: free[0])
    room.require()
    assert (room.reason, room.is_scarce) == ("", False)
    free[0] = 199 * MB
    with pytest.raises(StorageFull, match="only 199 MB are free") as refusal:
        room.require()
    assert str(refusal.value) == room.reason
    assert "SEAMARK_MIN_FREE_MB" in room.reason
    assert room.is_scarce
    free[0] = 200 * MB
    room.require()
    assert room.reason == ""


async def test_a_disk_that_cannot_be_asked_refuses_nothing(engine):
    def lost():
        raise OSError("stale file handle")

    room = room_of(engine, free=lost)
    room.require()
    assert room.reason == ""


async def test_a_fault_of_a_file_stops_nobody_but_is_told(engine):
    room = room_of(engine, free=lambda: 300 * MB)
    engine.journal.file.fault = "there is no room to write journal.db"
    assert room.reason == "there is no room to write journal.db"
    room.require()


async def test_a_journal_above_its_quota_takes_nothing_more(engine):
    room = room_of(engine, free=lambda: 300 * MB, journal_size=MB)
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(*[LONG] * 30))
    with pytest.raises(StorageFull, match="more than its 1 MB"):
        room.require()
    assert "SEAMARK_JOURNAL_MB" in room.reason
    assert not room.is_scarce


# The quota of the journal.


def quota_of(engine, size=MB):
    return Quota(
        engine.memories,
        engine.journal,
        engine.sessions,
        engine.ending,
        engine.clock,
        size=size,
    )


async def reporting(engine, session_id, *, events=8):
    """A session that reported some hundred kilobytes."""
    live = await engine.start(session_id)
    await engine.sessions.accept(live, engine.events(*[LONG] * events))
    return live


async def state_of(engine, session_id):
    return (await engine.memories.session(session_id)).state


async def test_the_longest_silent_sessions_are_ended_until_there_is_room(engine):
    for number in range(4):
        await reporting(engine, f"session-{number}")
        engine.now += timedelta(minutes=1)
    engine.now += IN_USE
    await quota_of(engine).free()
    assert engine.journal.file.used <= 0.8 * MB
    states = [await state_of(engine, f"session-{number}") for number in range(4)]
    # Two are enough.
    assert states == [SessionState.CLOSED] * 2 + [SessionState.OPEN] * 2
    assert await engine.journal.session_ids() == {"session-2", "session-3"}
    told = (await engine.memories.session("session-0")).summary
    assert told.state is SessionState.CLOSED
    assert (await engine.memories.session("session-0")).outcome.value == "cancelled"


async def test_a_session_that_is_in_use_is_never_ended_for_room(engine):
    await reporting(engine, "session-old", events=30)
    engine.now += IN_USE
    await quota_of(engine).free()
    assert await state_of(engine, "session-old") is SessionState.OPEN
    assert engine.journal.file.used > MB


async def test_a_session_that_nobody_asked_for_since_a_restart_counts_by_its_events(tmp_path):
    first = Engine(tmp_path)
    live = await reporting(first, "session-live", events=30)
    assert live.record.id == "session-live"
    first.close()
    second = Engine(tmp_path)
    second.now += IN_USE - timedelta(seconds=1)
    await quota_of(second).free()
    assert await state_of(second, "session-live") is SessionState.OPEN
    second.now += timedelta(seconds=2)
    await quota_of(second).free()
    assert await state_of(second, "session-live") is SessionState.CLOSED
    second.close()


async def test_a_session_that_waits_for_validation_can_be_ended_for_room(engine):
    live = await reporting(engine, "session-done", events=30)
    await engine.sessions.accept(live, engine.events(CENTS, first=31))
    told = await engine.ending.complete(live, SessionOutcome.SUCCESS, None)
    assert told.state is SessionState.PENDING
    engine.now += IN_USE + timedelta(seconds=1)
    await quota_of(engine).free()
    assert await state_of(engine, "session-done") is SessionState.CLOSED
    (verdict,) = await engine.memories.verdicts("session-done")
    assert verdict.reason == WHY
    assert await engine.journal.session_ids() == set()


async def test_one_that_cannot_be_ended_does_not_keep_the_others(engine, monkeypatch):
    for number in range(4):
        await reporting(engine, f"session-{number}")
    engine.now += IN_USE + timedelta(seconds=1)
    real = engine.memories.finish

    async def finish(session, *rest, **more):
        if session.id == "session-0":
            raise StorageUnwritable("not today")
        return await real(session, *rest, **more)

    monkeypatch.setattr(engine.memories, "finish", finish)
    await quota_of(engine).free()
    assert await state_of(engine, "session-0") is SessionState.OPEN
    assert engine.journal.file.used <= 0.8 * MB


def test_learning_stops_at_the_quota_and_goes_on_when_a_session_ends(own):
    sidecar = own(SEAMARK_JOURNAL_MB="1").start()
    busy = Talk(sidecar, project="shop")
    other = Talk(sidecar, project="shop")
    with refused("STORAGE_FULL", grpc.StatusCode.UNAVAILABLE) as said:
        for number in range(1, 60):
            busy.ingest(busy.batch(LONG, first=number))
    assert "SEAMARK_JOURNAL_MB" in said[0]
    assert "SEAMARK_JOURNAL_MB" in sidecar.status().learning_stop_reason
    stored = len(sidecar.stored(busy.id))
    assert 15 <= stored <= 30
    with refused("STORAGE_FULL"):
        other.ingest(other.batch(CENTS))
    # Agents go on meanwhile.
    assert other.prepare(5).text == ""
    busy.complete(outcome=wire.CompleteSessionRequest.OUTCOME_FAILURE)
    assert sidecar.status().learning_stop_reason == ""
    assert other.ingest(other.batch(CENTS))[0].acknowledged_count == 1
    wait_until(lambda: "learning_resumed" in sidecar.said())


# Disks that are really small.


@pytest.fixture
def disk(own):
    """Makes a sidecar on a file system of its own, of this size, where one can be mounted."""
    mounted = []

    def make(size, **environ):
        sidecar = own(**environ)
        sidecar.data.mkdir(mode=0o700)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "t", str(sidecar.data)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("mounting a file system needs more rights than this user has")
        mounted.append(sidecar)
        return sidecar

    yield make
    for sidecar in mounted:
        sidecar.end()
        subprocess.run(["umount", "--lazy", str(sidecar.data)], check=True)


def fill(sidecar, *, leave=0):
    """Takes all room on the sidecar's disk but so many bytes."""
    wait_until(lambda: sidecar.status().index.ready)
    block = bytes(64 * 1024)
    with suppress(OSError), (sidecar.data / "ballast").open("ab", buffering=0) as ballast:
        while shutil.disk_usage(sidecar.data).free > leave:
            ballast.write(block)


def empty(sidecar):
    (sidecar.data / "ballast").unlink()


def test_a_full_disk_stops_learning_and_says_so_until_there_is_room(disk):
    sidecar = disk(SMALL, SEAMARK_MIN_FREE_MB="0").start()
    Talk(sidecar, project="shop").complete(CENTS, validation=PASSED)
    talk = Talk(sidecar, project="shop")
    assert sidecar.status().learning_stop_reason == ""
    fill(sidecar)
    acknowledged: list[int] = []
    with refused("STORAGE_FULL", grpc.StatusCode.UNAVAILABLE):
        for number in range(1, 1000):
            (receipt,) = talk.ingest(talk.batch(LONG, first=number))
            acknowledged += [number] * receipt.acknowledged_count
    assert "there is no room to write" in sidecar.status().learning_stop_reason
    assert talk.prepare(5).text == ""
    found = sidecar.ask("Search", wire.SearchRequest(events=talk.batch(), query="prices"))
    assert [each.content for each in found.hits] == ["Prices are in cents."]
    # Nobody writes; the sidecar finds out by itself that there is room again.
    time.sleep(2.5)
    assert sidecar.status().learning_stop_reason
    empty(sidecar)
    wait_until(lambda: not sidecar.status().learning_stop_reason)
    wait_until(lambda: "learning_resumed" in sidecar.said())
    assert "learning_stopped" in sidecar.said()
    assert talk.ingest(talk.batch(LONG, first=2000))[0].acknowledged_count == 1
    assert sorted(sidecar.stored(talk.id)) == [*acknowledged, 2000]


def test_with_little_room_events_are_refused_before_the_disk_is_full(disk):
    sidecar = disk(SMALL, SEAMARK_MIN_FREE_MB="32").start()
    talk = Talk(sidecar, project="shop")
    assert talk.ingest(talk.batch(LONG))[0].acknowledged_count == 1
    fill(sidecar, leave=31 * MB)
    with refused("STORAGE_FULL", grpc.StatusCode.UNAVAILABLE) as said:
        talk.ingest(talk.batch(LONG, first=2))
    assert "are to stay free (SEAMARK_MIN_FREE_MB)" in said[0]
    assert "are to stay free" in sidecar.status().learning_stop_reason
    # What is there can still be brought to its end, and stays sound.
    assert talk.prepare(5).text == ""
    told = talk.complete(validation=PASSED)
    assert told.state == wire.SessionSummary.STATE_CLOSED
    assert sidecar.stop() < 5
    empty(sidecar)
    sidecar.start()
    again = Talk(sidecar, project="shop")
    assert again.ingest(again.batch(LONG))[0].acknowledged_count == 1
    assert sidecar.status().learning_stop_reason == ""


def test_an_agent_works_on_while_the_disk_is_full_and_nothing_is_lost(disk, caplog):
    sidecar = disk(SMALL, SEAMARK_MIN_FREE_MB="0").start()
    client = sidecar.client(step_deadline=0.5, close_deadline=0.5)
    session = client.start_session(project_name="shop")
    fill(sidecar)
    slowest = 0.0
    for number in range(300):
        began = time.monotonic()
        session.observe(UserSaid(text=f"{number} " + "x" * 5000))
        if number % 50 == 0:
            session.prepare_step(number)
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 1
    wait_until(lambda: sidecar.status().learning_stop_reason)
    assert "there is no room to write" in caplog.text
    assert client.dropped == 0
    empty(sidecar)
    assert client.flush(PATIENCE)
    assert sidecar.stored(session.id) == list(range(1, 301))


def test_without_enough_room_from_the_start_the_sidecar_serves_and_learns_nothing(own):
    sidecar = own(SEAMARK_MIN_FREE_MB=str(1 << 20)).start()
    talk = Talk(sidecar, project="shop")
    with refused("STORAGE_FULL"):
        talk.ingest(talk.batch(CENTS))
    assert talk.prepare(5).text == ""
    assert "are to stay free" in sidecar.status().learning_stop_reason


# Housekeeping.


async def test_cleaning_gives_back_space_and_removes_old_backups(engine, tmp_path):
    live = await reporting(engine, "session-long", events=100)
    for number in range(2, 7):
        (tmp_path / f"memory.db.before-v{number}.bak").write_text("old")
    aside = tmp_path / "memory.db.corrupt-20260101T000000Z"
    aside.write_text("damaged")
    await engine.journal.delete(live.record.id)
    large = occupied(engine.journal.file)
    housekeeper = Housekeeper(
        tmp_path,
        (engine.memories.file, engine.journal.file),
        LogFile(tmp_path / "sidecar.log"),
        room_of(engine, free=lambda: 300 * MB),
        engine.clock,
        journal_age=timedelta(days=7),
    )
    await housekeeper.clean()
    assert occupied(engine.journal.file) < large / 5
    assert len(list(tmp_path.glob("*.bak"))) == 3
    assert aside.read_text() == "damaged"


def test_the_log_of_a_sidecar_in_the_background_is_cut_while_it_runs(own):
    sidecar = own()
    sidecar.data.mkdir(mode=0o700)
    log = sidecar.data / "sidecar.log"
    log.write_bytes(b"x" * (8 * MB - 1000) + b"\n")
    with log.open("ab") as stream:
        sidecar.start(stderr=stream.fileno())
    talk = Talk(sidecar, project="shop")

    def is_cut():
        # Each refusal is a line.
        with suppress(grpc.RpcError):
            sidecar.ask("Checkpoint", wire.CheckpointRequest(events=talk.batch(capability=b"no")))
        return log.stat().st_size < MB

    wait_until(is_cut)
    old = sidecar.data / "sidecar.log.1"
    assert 8 * MB <= old.stat().st_size < 9 * MB
    assert old.stat().st_mode & 0o077 == 0
    wait_until(lambda: b"log_rotated" in log.read_bytes())
    assert b"\0" not in log.read_bytes()
