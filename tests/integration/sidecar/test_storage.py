"""Disks that are full, closed or damaged."""

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from seamark.events import MemoryRecorded, UserSaid
from seamark.injections import SessionState
from seamark.wire.v1 import sidecar_pb2 as wire

from . import unprivileged
from .process import COMMAND, PATIENCE, Talk, reason_of

CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.")
PASSED = wire.CompleteSessionRequest.VALIDATION_PASSED


def fails(sidecar, *command, environ=None):
    """Starts it where it cannot start; returns what it says."""
    before = sidecar.said() if sidecar.log.exists() else ""
    process = sidecar.launch(command or COMMAND, environ=environ)
    assert process.wait(PATIENCE) == 1
    said = sidecar.said().removeprefix(before)
    assert "Traceback" not in said
    return said


def test_a_data_directory_that_is_read_only_is_a_clear_error(own):
    sidecar = own()
    sidecar.data.mkdir(mode=0o500)
    sidecar.root.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(sidecar.data, unprivileged.NOBODY, unprivileged.NOBODY)
    said = fails(sidecar, sys.executable, str(Path(unprivileged.__file__)))
    assert f"the data directory {sidecar.data} is read-only" in said
    assert "SEAMARK_DATA_DIR" in said
    assert list(sidecar.data.iterdir()) == []


def limit_files(process, size):
    """Lets the process write no file beyond this size, as a quota would; None lifts it."""
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def fill(talk):
    """Reports until the disk is full; returns what was acknowledged, and what was said then."""
    acknowledged: list[int] = []
    for first in range(1, 4000, 20):
        batch = talk.batch(*[UserSaid(text="x" * 2000)] * 20, first=first)
        try:
            (receipt,) = talk.ingest(batch)
        except grpc.RpcError as refusal:
            error: Any = refusal
            break
        assert receipt.acknowledged_count == 20
        acknowledged.extend(range(first, first + 20))
    assert reason_of(error) == "STORAGE_FULL"
    return acknowledged, error.details()


def test_a_full_disk_stops_learning_with_a_reason_and_loses_nothing(own):
    sidecar = own().start()
    Talk(sidecar, project="shop").complete(CENTS, validation=PASSED)
    talk = Talk(sidecar, project="shop")
    limit_files(sidecar.process, 400 * 1024)
    acknowledged, said = fill(talk)
    assert "there is no room to write" in said
    assert "free some space" in said
    assert acknowledged
    assert set(acknowledged) <= set(sidecar.stored(talk.id))

    # Asking still works: what was learnt is in memory.
    assert talk.prepare(5).text == ""
    found = sidecar.ask("Search", wire.SearchRequest(events=talk.batch(), query="prices"))
    assert [each.content for each in found.hits] == ["Prices are in cents."]
    assert sidecar.status().memory_count == 1

    # With room again it goes on where it was.
    limit_files(sidecar.process, None)
    again = talk.batch(*[UserSaid(text="x")] * 20, first=len(acknowledged) + 1)
    assert talk.ingest(again)[0].acknowledged_count == 20
    assert sorted(sidecar.stored(talk.id)) == list(range(1, len(acknowledged) + 21))
    assert sidecar.stop() < 5
    sidecar.start()
    assert len(sidecar.stored(talk.id)) == len(acknowledged) + 20


def test_an_end_that_found_no_room_is_delivered_later(own):
    sidecar = own().start()
    client = sidecar.client(close_deadline=1.0)
    session = client.start_session(project_name="shop")
    assert session.record(CENTS).startswith("Noted")
    limit_files(sidecar.process, 8 * 1024)
    told = session.complete(validated=True)
    assert told.state is SessionState.UNKNOWN
    assert "there is no room" in client.why_without_memory
    # Looking at what there is needs no room.
    assert sidecar.memories("shop") == []
    limit_files(sidecar.process, None)
    assert client.flush(PATIENCE)
    assert [each.content for each in sidecar.memories("shop")] == ["Prices are in cents."]


@pytest.fixture
def tiny_disk(own):
    """A file system of a few hundred kilobytes, where it can be mounted."""
    sidecar = own(SEAMARK_MIN_FREE_MB="0")
    sidecar.data.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", str(sidecar.data)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a file system needs more rights than this user has")
    yield sidecar
    sidecar.end()
    subprocess.run(["umount", "--lazy", str(sidecar.data)], check=True)


def test_a_disk_without_any_room_is_a_clear_error(tiny_disk):
    ballast = tiny_disk.data / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    said = fails(tiny_disk)
    assert "no room" in said
    ballast.unlink()
    tiny_disk.start()
    assert tiny_disk.status().memory_count == 0


def test_a_disk_that_fills_up_is_survived(tiny_disk):
    tiny_disk.start()
    talk = Talk(tiny_disk, project="shop")
    acknowledged, said = fill(talk)
    assert "there is no room to write" in said
    # A crash on top of it loses nothing either.
    tiny_disk.kill()
    assert set(acknowledged) <= set(tiny_disk.stored(talk.id))


@pytest.mark.parametrize("name", ["memory.db", "journal.db"])
def test_a_damaged_database_is_kept_aside_and_the_next_start_works(own, name):
    sidecar = own().start()
    talk = Talk(sidecar, project="shop")
    talk.complete(CENTS, validation=PASSED)
    Talk(sidecar, project="shop").ingest(talk.batch())
    sidecar.stop()
    file = sidecar.data / name
    damaged = file.read_bytes()[:1024] + os.urandom(len(file.read_bytes()) - 1024)
    file.write_bytes(damaged)

    said = fails(sidecar)
    assert f"{file} is damaged" in said
    assert "nothing was overwritten" in said
    (aside,) = sidecar.data.glob(f"{name}.corrupt-*Z")
    assert aside.read_bytes() == damaged
    assert not file.exists()

    sidecar.start()
    assert sidecar.status().memory_count == (0 if name == "memory.db" else 1)
    assert aside.read_bytes() == damaged
    fresh = Talk(sidecar, project="shop")
    assert fresh.ingest(fresh.batch(CENTS))[0].acknowledged_count == 1


@pytest.mark.parametrize("name", ["memory.db", "journal.db"])
def test_a_database_of_a_newer_version_is_refused_and_left_alone(own, name):
    sidecar = own().start()
    Talk(sidecar, project="shop").complete(CENTS, validation=PASSED)
    sidecar.stop()
    file = sidecar.data / name
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = file.read_bytes()
    said = fails(sidecar)
    assert f"{file} was written by a newer version" in said
    assert file.read_bytes() == before
    assert not list(sidecar.data.glob("*.corrupt-*"))


def test_a_second_sidecar_on_one_data_directory_is_told_who_holds_it(own):
    sidecar = own().start()
    first = sidecar.process
    said = fails(sidecar)
    assert f"pid {first.pid}" in said
    assert "seamark down" in said
    assert sidecar.status().process_id == first.pid


def test_a_second_sidecar_at_one_address_does_not_take_it(own):
    sidecar, other = own().start(), own()
    said = fails(other, environ={"SEAMARK_ADDRESS": sidecar.address})
    assert "another sidecar, of another data directory, listens at" in said
    assert sidecar.status().process_id == sidecar.process.pid


def test_a_file_in_the_place_of_the_socket_is_not_deleted(own):
    sidecar = own()
    sidecar.data.mkdir(mode=0o700)
    precious = sidecar.data / "seamark.sock"
    precious.write_text("notes")
    assert "is not a socket; move it away" in fails(sidecar)
    assert precious.read_text() == "notes"


def test_a_directory_that_others_can_open_is_no_place_for_the_socket(own):
    sidecar = own()
    sidecar.root.chmod(0o755)
    said = fails(sidecar, environ={"SEAMARK_ADDRESS": f"unix:{sidecar.root}/s.sock"})
    assert "must be yours alone: chmod 700" in said


def test_the_socket_and_all_files_are_the_users_alone(shared):
    for path in (shared.data, *shared.data.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_marks_file_that_cannot_be_used_is_a_clear_error(own):
    sidecar = own()
    (sidecar.data / "crash.marks").mkdir(parents=True)
    sidecar.data.chmod(0o700)
    assert "crash.marks cannot be used" in fails(sidecar)


def test_events_of_sessions_that_never_end_are_deleted_in_time(own):
    sidecar = own(SEAMARK_JOURNAL_DAYS=str(1 / 86_400)).start()
    talk = Talk(sidecar, project="shop")
    talk.ingest(talk.batch(CENTS))
    time.sleep(1.1)
    sidecar.kill()
    sidecar.start()
    end = time.monotonic() + PATIENCE
    while sidecar.stored(talk.id):
        assert time.monotonic() < end
        time.sleep(0.05)
