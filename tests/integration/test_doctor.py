"""`seamark doctor` where something is really wrong, and where nothing is."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

import seamark
from seamark.spawn import SIDECAR_PACKAGES
from seamark_sidecar.cli.root import run
from seamark_sidecar.doctor import running
from tests.integration.sidecar.process import PATIENCE, Sidecar, Talk, wait_until
from tests.shared_model import SPEC, shared_model

NOBODY = 65534
MOUNT = ["mount", "-t", "tmpfs"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def home():
    """A short directory, and what is mounted in it taken away at the end."""
    root = Path(tempfile.mkdtemp(prefix="smd-")).resolve()
    yield root
    for mounted in [path for path in root.rglob("*") if path.is_mount()]:
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)
    shutil.rmtree(root)


@pytest.fixture
def sidecar(home):
    """A sidecar that is not started yet."""
    made = Sidecar(home, SEAMARK_AUTOSTART="1")
    yield made
    made.end()


@pytest.fixture
def data(sidecar):
    """Its data directory, empty."""
    sidecar.data.mkdir(mode=0o700)
    return sidecar.data


@pytest.fixture
def doctor(sidecar, monkeypatch, capsys):
    """Asks the doctor in this process; the findings by name."""
    for name in [*os.environ]:
        if name.startswith("SEAMARK_") or name in {"XDG_RUNTIME_DIR", "FORCE_COLOR"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("SEAMARK_DATA_DIR", "SEAMARK_AUTOSTART"):
        monkeypatch.setenv(name, sidecar.environ[name])

    def ask(**environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = run(["doctor", "--json"])
        said = capsys.readouterr()
        assert said.err == ""
        found = {each["name"]: each for each in json.loads(said.out)}
        assert code == any(each["state"] == "fail" for each in found.values())
        for each in found.values():
            assert set(each) == {"name", "state", "what", "todo"}
            assert each["what"]
            assert bool(each["todo"]) == (each["state"] != "ok")
        return found

    return ask


def failing(found):
    return sorted(name for name, each in found.items() if each["state"] == "fail")


def warned(found):
    return sorted(name for name, each in found.items() if each["state"] == "warn")


def snapshot(directory):
    """Everything that a look must not change."""
    return {
        str(path): (facts.st_size, facts.st_mtime_ns, facts.st_mode, facts.st_ino)
        for path in sorted(directory.rglob("*"))
        if (facts := path.lstat())
    }


# Nothing is wrong.


def test_on_a_new_machine_only_the_model_is_missing(doctor, sidecar):
    found = doctor()
    assert failing(found) == []
    assert warned(found) == ["embedding model"]
    assert found["embedding model"]["todo"] == "run: seamark models install"
    assert "dense search is off" in found["embedding model"]["what"]
    assert sys.executable in found["auto-start"]["what"]
    assert not sidecar.data.exists()


def test_a_sidecar_that_runs_is_well(doctor, sidecar):
    sidecar.start()
    talk = Talk(sidecar, project="shop")
    assert talk.start().capability
    wait_until(lambda: sidecar.status().index.ready)
    found = doctor()
    assert failing(found) == []
    assert warned(found) == ["embedding model"]
    pid = f"pid {sidecar.process.pid}"
    assert pid in found["lock"]["what"]
    assert pid in found["sidecar"]["what"]
    assert "same version" in found["sidecar"]["what"]
    assert found["agents"]["what"] == "1 session in use"
    assert "up to date" in found["index"]["what"]


def test_nothing_is_changed_by_looking(doctor, sidecar):
    sidecar.start()
    Talk(sidecar, project="shop")
    sidecar.stop()
    before = snapshot(sidecar.root)
    assert failing(doctor()) == []
    assert snapshot(sidecar.root) == before
    # After a crash as well, when there is something to replay.
    sidecar.start()
    Talk(sidecar, project="shop")
    sidecar.kill()
    before = snapshot(sidecar.root)
    assert "replayed" in doctor()["databases"]["what"]
    assert snapshot(sidecar.root) == before


@pytest.mark.slow
def test_it_is_quick(sidecar):
    sidecar.start()
    start = time.monotonic()
    asked = subprocess.run(
        [sys.executable, "-m", "seamark_sidecar", "doctor"],
        env=sidecar.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    # 0.4 s on an idle machine; others may be at work on this one.
    assert time.monotonic() - start < 10
    assert (asked.returncode, asked.stderr) == (0, "")


def test_people_get_three_columns_that_fit_the_terminal(doctor, sidecar, capsys, monkeypatch):
    doctor()
    assert run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Memory works; 1 warning."
    for line in lines[:-1]:
        mark, name, what = line[:2], line[2:19], line[19:]
        assert mark in {"✔ ", "! ", "✘ ", "  "}
        assert bool(mark.strip()) == bool(name.strip())
        assert what == what.strip() != ""
    assert any("→ run: seamark models install" in line for line in lines)


def test_a_terminal_without_such_characters_gets_others(sidecar):
    asked = subprocess.run(
        [sys.executable, "-m", "seamark_sidecar", "doctor"],
        env={**sidecar.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
        capture_output=True,
        check=False,
    )
    assert asked.stdout.isascii()
    assert b"\\u" not in asked.stdout
    assert b"+ Python" in asked.stdout
    assert b"-> run: seamark models install" in asked.stdout


# The data directory.


def test_a_directory_that_others_can_write_to_fails(doctor, data):
    data.chmod(0o777)
    found = doctor()
    assert found["data directory"]["state"] == "fail"
    assert "chmod 700" in found["data directory"]["todo"]


def test_a_directory_that_others_can_read_is_warned_of(doctor, data):
    data.chmod(0o755)
    assert doctor()["data directory"]["state"] == "warn"
    assert stat.S_IMODE(data.stat().st_mode) == 0o755


def test_a_file_in_the_place_of_the_directory_fails(doctor, sidecar):
    sidecar.data.write_text("notes")
    assert "is not a directory" in doctor()["data directory"]["what"]


@needs_root
def test_a_directory_of_somebody_else_fails(doctor, data):
    os.chown(data, NOBODY, NOBODY)
    assert f"another user (uid {NOBODY})" in doctor()["data directory"]["what"]


@needs_root
def test_files_of_somebody_else_fail(doctor, data):
    (data / "memory.db").touch()
    os.chown(data / "memory.db", NOBODY, NOBODY)
    assert "memory.db" in doctor()["data directory"]["what"]


@needs_root
def test_a_link_that_somebody_else_made_fails(doctor, sidecar, home):
    (home / "mine").mkdir(mode=0o700)
    sidecar.data.symlink_to(home / "mine")
    os.chown(sidecar.data, NOBODY, NOBODY, follow_symlinks=False)
    assert "a link that another user made" in doctor()["data directory"]["what"]


def test_a_disk_with_too_little_room_fails(doctor, data):
    found = doctor(SEAMARK_MIN_FREE_MB=str(1 << 20))
    assert failing(found) == ["disk space"]
    assert "nothing new is learnt" in found["disk space"]["what"]


def mounted(data, *options):
    command = [*MOUNT, "-o", ",".join(("mode=700", *options)), "tmpfs", str(data)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a file system needs more rights than this user has")


def test_a_disk_of_its_own_is_named(doctor, data):
    mounted(data, "size=500m")
    assert doctor()["file system"]["what"] == f"tmpfs at {data}"


def test_a_disk_that_is_read_only_fails(doctor, data):
    mounted(data, "ro")
    assert "read-only" in doctor()["disk space"]["what"]


def test_a_disk_that_can_hold_no_more_files_fails(doctor, data):
    mounted(data, "nr_inodes=20")
    assert "more files" in doctor()["disk space"]["what"]


# Databases and what else lies there.


@pytest.fixture
def used(sidecar):
    """A data directory in which a sidecar has been at work."""
    sidecar.start()
    Talk(sidecar, project="shop")
    wait_until(lambda: sidecar.status().index.ready)
    sidecar.stop()
    return sidecar.data


@pytest.mark.parametrize("name", ["memory.db", "journal.db"])
def test_a_damaged_database_fails_and_is_left_where_it_is(doctor, used, name):
    file = used / name
    file.write_bytes(file.read_bytes()[:1024] + os.urandom(file.stat().st_size - 1024))
    before = snapshot(used)
    found = doctor()
    assert failing(found) == ["databases"]
    assert f"{name} is damaged" in found["databases"]["what"]
    assert snapshot(used) == before


def test_what_is_no_database_at_all_fails(doctor, used):
    (used / "memory.db").write_bytes(b"nothing of the kind" * 500)
    assert "memory.db is damaged" in doctor()["databases"]["what"]


def test_a_database_of_a_newer_version_fails(doctor, used):
    with contextlib.closing(sqlite3.connect(used / "journal.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    found = doctor()["databases"]
    assert "newer version (schema 99" in found["what"]
    assert "backup" in found["todo"]


def test_a_database_of_an_older_version_is_warned_of(doctor, used):
    with contextlib.closing(sqlite3.connect(used / "journal.db")) as connection:
        connection.execute("PRAGMA user_version = 0")
    assert doctor()["databases"]["state"] == "warn"


def test_databases_that_were_put_aside_are_named(doctor, used):
    for name in ("memory.db.corrupt-20260101T000000Z", "memory.db.corrupt-20260101T000000Z-wal"):
        (used / name).write_text("damaged")
    (used / "memory.db.before-v2.bak").write_text("good")
    found = doctor()["put aside"]
    assert found["state"] == "warn"
    assert found["what"] == "damaged and kept: memory.db.corrupt-20260101T000000Z; 1 backup"
    assert ".recover" in found["todo"]


def test_a_log_that_nobody_cuts_is_warned_of(doctor, data):
    with (data / "sidecar.log").open("wb") as log:
        log.truncate(20_000_000)
    assert doctor()["log"]["state"] == "warn"


def test_an_index_at_rest_is_compared_with_the_record(doctor, used):
    assert doctor()["index"]["what"] == "at rest, 0 changes are in it"
    with contextlib.closing(sqlite3.connect(used / "memory.db")) as connection:
        connection.execute("UPDATE changes SET last_seq = 5")
        connection.commit()
    assert "0 of 5 changes" in doctor()["index"]["what"]
    (used / "index.json").write_text("{")
    assert "built anew" in doctor()["index"]["what"]
    shutil.rmtree(used / "index")
    assert "built when the sidecar starts" in doctor()["index"]["what"]


# Models.


def test_a_model_that_is_half_there_fails(doctor, data):
    (data / "models" / SPEC.id).mkdir(parents=True)
    found = doctor()
    assert failing(found) == ["embedding model"]
    assert "never finished" in found["embedding model"]["what"]


def test_a_model_is_read_to_the_last_byte(doctor, data):
    (data / "models").mkdir()
    copy = data / "models" / SPEC.id
    shutil.copytree(shared_model(), copy)
    found = doctor()["embedding model"]
    assert (found["state"], SPEC.id in found["what"]) == ("ok", True)
    weights = bytearray((copy / "model.onnx").read_bytes())
    weights[-1] ^= 1
    (copy / "model.onnx").write_bytes(weights)
    found = doctor()
    assert failing(found) == ["embedding model"]
    assert "sha256" in found["embedding model"]["what"]
    shutil.rmtree(copy)
    assert doctor()["embedding model"]["state"] == "warn"


def test_an_unfinished_installation_is_named(doctor, data):
    (data / "models" / ".staging-abc").mkdir(parents=True)
    found = doctor()["unfinished"]
    assert found["state"] == "warn"
    assert ".staging-abc" in found["what"]


# Lock and socket.


def test_what_a_dead_sidecar_left_is_said_and_does_not_hinder_the_next(doctor, sidecar):
    sidecar.start()
    dead = sidecar.process.pid
    sidecar.kill()
    found = doctor()
    assert failing(found) == []
    assert warned(found) == ["embedding model", "lock", "socket"]
    assert f"pid {dead}" in found["lock"]["what"]
    assert "left by a sidecar that is gone" in found["socket"]["what"]
    sidecar.start()
    wait_until(lambda: sidecar.status().index.ready)
    assert warned(doctor()) == ["embedding model"]


def test_a_socket_that_somebody_left_does_not_hinder_a_start(sidecar, data):
    with socket.socket(socket.AF_UNIX) as abandoned:
        abandoned.bind(str(data / "seamark.sock"))
    (data / "sidecar.lock").write_text(
        '{"pid": 999999, "address": "unix:/nowhere", "version": "0"}'
    )
    sidecar.start()
    assert sidecar.status().process_id == sidecar.process.pid


def test_a_lock_full_of_nonsense_is_survived(doctor, sidecar, data):
    (data / "sidecar.lock").write_bytes(b"\xff\0[" * 3000)
    assert doctor()["lock"]["state"] == "warn"
    sidecar.start()
    assert doctor()["lock"]["state"] == "ok"


def test_a_lock_that_is_no_file_fails(doctor, data):
    (data / "sidecar.lock").symlink_to("/etc/hostname")
    assert "lock" in failing(doctor())


def test_a_file_in_the_place_of_the_socket_fails(doctor, data):
    (data / "seamark.sock").write_text("notes")
    assert failing(doctor()) == ["socket"]


def test_a_socket_that_is_gone_while_its_sidecar_runs_fails(doctor, sidecar):
    sidecar.start()
    (sidecar.data / "seamark.sock").unlink()
    found = doctor()
    assert failing(found) == ["sidecar", "socket"]
    assert "is gone" in found["socket"]["what"]


def test_a_directory_that_others_can_open_is_no_place_for_the_socket(doctor, data, home):
    (home / "open").mkdir(mode=0o755)
    found = doctor(SEAMARK_ADDRESS=f"unix:{home}/open/s.sock")
    assert "socket" in failing(found)
    assert "chmod 700" in found["socket"]["todo"]


def test_a_path_that_is_too_long_is_a_wrong_setting(doctor, home):
    found = doctor(SEAMARK_ADDRESS=f"unix:{home}/{'long' * 30}/s.sock")
    assert failing(found) == ["settings"]
    assert "longer than 103 bytes" in found["settings"]["what"]


@needs_root
def test_a_socket_of_somebody_else_is_refused_by_agents_and_told_by_the_doctor(doctor, sidecar):
    sidecar.start()
    path = sidecar.data / "seamark.sock"
    os.chown(path, NOBODY, NOBODY)
    found = doctor()
    assert "is not a socket of this user" in found["socket"]["what"]
    client = sidecar.client()
    session = client.start_session(project_name="shop")
    assert not session.is_established
    assert "is not a socket of this user" in client.why_without_memory
    assert session.prepare_step(5).text == ""
    os.chown(path, 0, 0)
    assert sidecar.client().start_session(project_name="shop").is_established


@needs_root
def test_a_socket_in_a_directory_of_somebody_else_is_refused(doctor, data, home):
    place = home / "theirs"
    place.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(place / "s.sock"))
        theirs.listen()
        os.chown(place, NOBODY, NOBODY)
        found = doctor(SEAMARK_ADDRESS=f"unix:{place}/s.sock")
        assert "not this user's own directory" in found["socket"]["what"]
        client = seamark.Client(seamark.Settings(address=f"unix:{place}/s.sock"))
        assert not client.start_session(project_name="shop").is_established
        client.close(0)
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):  # Nobody even knocked.
            theirs.accept()


# The sidecar that runs.


def test_a_sidecar_that_hangs_fails_soon(doctor, sidecar):
    sidecar.start()
    sidecar.process.send_signal(signal.SIGSTOP)
    try:
        start = time.monotonic()
        found = doctor()
        # 1 s on an idle machine; others may be at work on this one.
        assert time.monotonic() - start < 5
    finally:
        sidecar.process.send_signal(signal.SIGCONT)
    assert failing(found) == ["sidecar"]
    assert "did not answer" in found["sidecar"]["what"]
    assert "--force" in found["sidecar"]["todo"]


def test_a_sidecar_of_another_version_is_warned_of(doctor, sidecar, monkeypatch):
    sidecar.start()
    monkeypatch.setattr(running, "__version__", "99.0.0")
    found = doctor()
    assert found["sidecar"]["state"] == "warn"
    assert "99.0.0" in found["sidecar"]["what"]
    monkeypatch.setattr(running, "WIRE", 99)
    found = doctor()
    assert failing(found) == ["sidecar"]
    assert "speaks wire 1 to 1" in found["sidecar"]["what"]


def test_a_sidecar_at_another_address_is_pointed_to(doctor, sidecar, home):
    elsewhere = f"unix:{sidecar.data}/other.sock"
    process = sidecar.launch(environ={"SEAMARK_ADDRESS": elsewhere})
    wait_until((sidecar.data / "other.sock").exists)
    found = doctor()
    assert failing(found) == ["sidecar"]
    assert f"SEAMARK_ADDRESS={elsewhere}" in found["sidecar"]["todo"]
    assert process.poll() is None


def test_a_sidecar_of_another_data_directory_fails(doctor, sidecar, home):
    sidecar.start()
    (home / "other").mkdir(mode=0o700)
    found = doctor(SEAMARK_ADDRESS=sidecar.address, SEAMARK_DATA_DIR=str(home / "other"))
    assert failing(found) == ["sidecar"]


def test_learning_that_stopped_fails(doctor, sidecar):
    sidecar.environ["SEAMARK_MIN_FREE_MB"] = str(1 << 20)
    sidecar.start()
    found = doctor(SEAMARK_MIN_FREE_MB=str(1 << 20))
    assert failing(found) == ["disk space", "learning"]
    assert "SEAMARK_MIN_FREE_MB" in found["learning"]["what"]


def test_agents_that_lose_events_or_skip_calls_are_warned_of(doctor, sidecar):
    talk = Talk(sidecar.start(), project="shop")
    talk.ingest(talk.batch(dropped_count=7))
    assert "7 events" in doctor()["agents"]["what"]
    talk.ingest(talk.batch(breaker_open=True))
    assert "skip calls" in doctor()["agents"]["what"]


def test_a_worker_that_keeps_dying_is_warned_of(doctor, sidecar):
    sidecar.start()
    for count in range(1, 4):
        wait_until(lambda: sidecar.status().processes[1].process_id)
        with contextlib.suppress(psutil.Error):
            psutil.Process(sidecar.status().processes[1].process_id).kill()

        def is_counted(count=count):
            return sidecar.status().processes[1].restart_count >= count

        wait_until(is_counted)
    found = doctor()["processes"]
    assert found["state"] == "warn"
    assert "restarted" in found["what"]


# Starting one.


def test_a_python_that_is_not_there_is_warned_of(doctor):
    found = doctor(SEAMARK_SIDECAR_PYTHON="/nowhere/python")
    assert warned(found) == ["auto-start", "embedding model"]
    assert "/nowhere/python" in found["auto-start"]["what"]


@pytest.mark.parametrize(
    ("script", "told"), [("echo 9.9.9", "seamark 9.9.9"), ("exit 1", "no seamark")]
)
def test_a_python_with_another_sidecar_is_warned_of(doctor, home, script, told):
    program = home / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    found = doctor(SEAMARK_SIDECAR_PYTHON=str(program))
    assert found["auto-start"]["state"] == "warn"
    assert told in found["auto-start"]["what"]


def test_with_autostart_off_and_no_sidecar_it_says_how_to_start_one(doctor, sidecar):
    found = doctor(SEAMARK_AUTOSTART="0")
    assert found["auto-start"]["todo"] == "start it: seamark up -d"
    sidecar.start()
    assert doctor()["auto-start"]["state"] == "ok"


def test_wrong_settings_of_agents_do_not_end_the_examination(doctor):
    found = doctor(SEAMARK_STEP_MS="soon")
    assert failing(found) == ["settings"]
    assert found["databases"]["state"] == "ok"


def test_a_package_that_is_missing_is_named_by_the_doctor_itself(home):
    site = home / "site"
    site.mkdir()
    for name in ("seamark", "seamark_sidecar", "grpc", "google", *SIDECAR_PACKAGES):
        spec = find_spec(name)
        assert spec
        assert spec.origin or spec.submodule_search_locations
        found = spec.submodule_search_locations
        path = Path(found[0] if found else str(spec.origin))
        (site / path.name).symlink_to(path)
    for name in ("pygments", "markdown_it", "mdurl", "typing_extensions"):
        if (spec := find_spec(name)) is not None and spec.origin:
            path = Path(spec.origin)
            path = path.parent if path.name == "__init__.py" else path
            (site / path.name).symlink_to(path)
    (site / "onnxruntime").unlink()
    asked = subprocess.run(
        [sys.executable, "-S", "-m", "seamark_sidecar", "doctor", "--json"],
        env={"PYTHONPATH": str(site), "HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (asked.returncode, asked.stderr) == (1, "")
    found_ = {each["name"]: each for each in json.loads(asked.stdout)}
    assert found_["packages"]["state"] == "fail"
    assert found_["sidecar"]["state"] == "ok"


# Two users.

# Everything is imported before the right to read it may be gone.
AS_NOBODY = f"""
import asyncio, concurrent.futures.thread, json, os, sys
import grpc, psutil, seamark
import seamark_sidecar.app
from seamark_sidecar.cli.root import run
from seamark_sidecar.settings import Settings
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""


@pytest.fixture
def other(home):
    """Begins programs of another user, in the same environment but for their own directory."""
    begun = []
    home.chmod(0o755)
    (home / "other").mkdir(mode=0o700)
    os.chown(home / "other", NOBODY, NOBODY)

    def begin(program, environ):
        process = subprocess.Popen(
            [sys.executable, "-c", AS_NOBODY + program],
            env={**environ, "HOME": str(home / "other")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@needs_root
def test_two_users_have_a_sidecar_each_and_do_not_meet(sidecar, other, home):
    sidecar.start()
    theirs = Sidecar(home / "other")
    process = other(
        "asyncio.run(seamark_sidecar.app.serve(Settings.from_env(os.environ)))", theirs.environ
    )
    try:
        wait_until(lambda: process.poll() is not None or theirs._answers())
        assert process.poll() is None
        assert sidecar.status().process_id == sidecar.process.pid
        assert theirs.status().process_id == process.pid
        assert theirs.status().data_dir != sidecar.status().data_dir
    finally:
        theirs.end()
        process.terminate()
        process.wait(PATIENCE)


@needs_root
def test_another_user_cannot_reach_a_sidecar_nor_look_at_its_files(sidecar, other):
    sidecar.start()
    before = sidecar.status().open_session_count
    program = """
client = seamark.Client()
session = client.start_session(project_name="shop")
print(json.dumps([session.is_established, client.why_without_memory]))
for path in (os.environ["SEAMARK_DATA_DIR"], os.environ["SEAMARK_DATA_DIR"] + "/memory.db"):
    try:
        os.listdir(path) if path.endswith("/d") else open(path)
        print("seen")
    except PermissionError:
        print("hidden")
print(run(["doctor", "--json"]))
"""
    asked = other(program, {**sidecar.environ, "SEAMARK_AUTOSTART": "0"})
    out, err = asked.communicate(timeout=PATIENCE)
    assert asked.returncode == 0, err
    assert "Traceback" not in err
    first, *hidden, findings, code = out.splitlines()
    established, why = json.loads(first)
    assert not established
    assert why
    assert hidden == ["hidden", "hidden"]
    found = {each["name"]: each for each in json.loads(findings)}
    assert code == "1"
    assert "another user (uid 0)" in found["data directory"]["what"]
    assert sidecar.status().open_session_count == before


@needs_root
def test_a_directory_that_cannot_be_written_fails(home, sidecar, other):
    sidecar.data.mkdir(mode=0o500)
    os.chown(sidecar.data, NOBODY, NOBODY)
    asked = other('print(run(["doctor", "--json"]))', sidecar.environ)
    out, err = asked.communicate(timeout=PATIENCE)
    findings, code = out.splitlines()
    found = {each["name"]: each for each in json.loads(findings)}
    assert code == "1", err
    assert "cannot be written (mode 500)" in found["data directory"]["what"]
