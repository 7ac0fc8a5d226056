"""The command line with the real sidecar process, in a data directory of its own."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import seamark

COMMAND = [sys.executable, "-m", "seamark_sidecar"]


@pytest.fixture
def place():
    """A short directory with a project in it, and the environment that belongs to it."""
    with tempfile.TemporaryDirectory(prefix="sm") as directory:
        root = Path(directory)
        project = root / "shop"
        project.mkdir()
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("SEAMARK_") and name not in {"XDG_RUNTIME_DIR", "FORCE_COLOR"}
        }
        environ = {**inherited, "SEAMARK_DATA_DIR": str(root / "data"), "COLUMNS": "80"}

        def ask(*arguments, **changes):
            return subprocess.run(
                [*COMMAND, *arguments],
                env={**environ, **changes},
                cwd=project,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

        def told(*arguments, **changes):
            asked = ask(*arguments, "--json", **changes)
            assert asked.returncode == 0, asked.stderr
            return json.loads(asked.stdout)

        yield SimpleNamespace(
            ask=ask,
            told=told,
            environ=environ,
            data=root / "data",
            address=f"unix:{root / 'data' / 'seamark.sock'}",
            project=project,
        )
        ask("down", "--force")


def failure(asked):
    """The error of a command that failed as commands should."""
    assert asked.returncode == 1
    assert asked.stderr.startswith("seamark: ")
    assert asked.stderr.count("\n") == 1
    assert "Traceback" not in asked.stderr
    return json.loads(asked.stdout)["error"]


def wait_until(happened, seconds=10.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_from_the_first_start_to_the_stop(place):
    started = place.ask("up", "--detach")
    assert started.returncode == 0, started.stderr
    assert started.stdout.count("\n") == 1
    status = place.told("status")
    pid = status["pid"]
    for fact in (place.address, str(place.data), f"pid {pid}", "seamark down"):
        assert fact in started.stdout
    assert (status["address"], status["data_dir"]) == (place.address, str(place.data))
    assert status["memory_count"] == 0

    stored = place.told("remember", "Prices are in cents, never in euros", "--file", "cart.py")
    assert stored["interactive"] is False
    assert stored["memory"]["source"] == "agent_explicit"
    assert stored["memory"]["needs_review"] is True

    (hit,) = place.told("search", "price", "cents")["hits"]
    assert hit["memory_id"] == stored["memory"]["memory_id"]
    (listed,) = place.told("memories")["memories"]
    assert listed["content"] == "Prices are in cents, never in euros"
    assert listed["files"] == ["cart.py"]
    assert "Prices are in cents, never in euros" in place.ask("memories", "--all").stdout
    assert place.told("status")["memory_count"] == 1

    assert failure(place.ask("explain", "--json"))["reason"] == "UNKNOWN_SESSION"

    stopped = place.told("down")
    assert stopped == {"stopped": True, "pid": pid, "forced": False}
    assert failure(place.ask("status", "--json"))["reason"] == "SIDECAR_UNAVAILABLE"
    assert place.told("down")["stopped"] is False


def test_a_file_is_named_from_where_the_command_runs(place):
    place.told("up", "-d")
    subprocess.run(["git", "init", "-q", place.project], check=True)
    below = place.project / "views"
    below.mkdir()
    stored = place.told(
        "remember", "Views format prices", "--file", "cart.html", "--project", below
    )
    assert stored["memory"]["files"] == ["views/cart.html"]
    asked = place.ask("remember", "x", "--file", "../../elsewhere", "--json")
    assert failure(asked)["reason"] == "BAD_REQUEST"


def test_a_secret_is_refused_unless_it_may_be_taken_out(place):
    place.told("up", "-d")
    text = "The key is AKIAIOSFODNN7EXAMPLE for staging"
    refused = failure(place.ask("remember", text, "--json"))
    assert refused["reason"] == "SECRET_FOUND"
    assert "--redact" in refused["message"]
    assert "AKIA" not in refused["message"]
    stored = place.told("remember", text, "--redact")
    assert stored["redacted_count"] == 1
    assert "AKIA" not in stored["memory"]["content"]


def test_what_was_remembered_survives_a_restart(place):
    place.told("up", "--detach")
    place.told("remember", "The harbour office closes at noon")
    place.told("down")
    first = place.told("up", "--detach")
    assert first["already_running"] is False
    (memory,) = place.told("memories")["memories"]
    assert memory["content"] == "The harbour office closes at noon"


def test_starting_twice_names_the_one_that_runs(place):
    first = place.told("up", "--detach")
    second = place.told("up", "--detach")
    assert second["already_running"] is True
    assert second["pid"] == first["pid"]
    assert f"pid {first['pid']}" in place.ask("up", "-d").stdout
    error = failure(place.ask("up", "--json"))
    assert error["reason"] == "ALREADY_RUNNING"
    assert str(first["pid"]) in error["message"]


def test_many_starts_at_once_leave_one_sidecar(place):
    starts = [
        subprocess.Popen(
            [*COMMAND, "up", "-d", "--json"],
            env=place.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    answers = [start.communicate(timeout=60) for start in starts]
    assert [start.returncode for start in starts] == [0, 0, 0], answers
    assert len({json.loads(out)["pid"] for out, _ in answers}) == 1


def test_in_the_foreground_it_says_when_it_is_ready_and_ends_on_a_signal(place):
    with subprocess.Popen(
        [*COMMAND, "up"],
        env={**place.environ, "SEAMARK_LOG_LEVEL": "error"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        for fact in (place.address, str(place.data), f"pid {process.pid}", "Ctrl-C"):
            assert fact in line
        assert place.told("status")["pid"] == process.pid
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in err


def test_it_serves_on_when_nobody_reads_what_it_says(place):
    reader, writer = os.pipe()
    os.close(reader)
    with (
        os.fdopen(writer, "wb") as out,
        subprocess.Popen(
            [*COMMAND, "up"],
            env=place.environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        wait_until(lambda: place.ask("status").returncode == 0)
        assert place.told("down")["pid"] == process.pid
        assert process.wait(20) == 0


def test_a_session_is_explained(place):
    place.told("up", "-d")
    client = seamark.Client(
        seamark.Settings(address=place.address, session_start_deadline=5, tool_deadline=5)
    )
    session = client.start_session(project_path=str(place.project))
    recorded = seamark.MemoryRecorded(
        type="gotcha", content="Run the migrations before the tests", files=("cart.py",)
    )
    session.record(recorded)
    session.complete(seamark.SessionOutcome.SUCCESS, validated=True)
    client.close(5)

    told = place.told("explain", session.id[:8])
    assert told["session_id"] == session.id
    (candidate,) = told["candidates"]
    assert candidate["content"] == "Run the migrations before the tests"
    assert candidate["fate"] == "promoted"
    assert candidate["reason"]
    assert place.told("explain") == told
    text = place.ask("explain").stdout
    assert "Candidates (1)" in text
    assert "Run the migrations before the tests" in text


def test_the_log_in_the_background_is_private(place):
    log = Path(place.told("up", "-d")["log"])
    assert log == place.data / "sidecar.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.data.stat().st_mode) == 0o700


def test_a_log_that_has_grown_large_is_moved_aside(place):
    place.data.mkdir(mode=0o700)
    (place.data / "sidecar.log").write_bytes(b"x" * 9_000_000)
    place.told("up", "-d")
    assert (place.data / "sidecar.log").stat().st_size < 10_000
    assert (place.data / "sidecar.log.1").stat().st_size == 9_000_000


def test_a_log_that_is_a_link_is_not_followed(place):
    place.data.mkdir(mode=0o700)
    target = place.project / "precious"
    target.write_text("as it was")
    (place.data / "sidecar.log").symlink_to(target)
    error = failure(place.ask("up", "-d", "--json"))
    assert "sidecar.log" in error["message"]
    assert target.read_text() == "as it was"


def test_a_sidecar_in_the_background_outlives_the_directory_it_was_started_in(place):
    pid = place.told("up", "-d")["pid"]
    shutil.rmtree(place.project)
    place.project.mkdir()
    assert place.told("status")["pid"] == pid


def test_a_relative_data_directory_means_the_same_in_the_background(place):
    changes = {"SEAMARK_DATA_DIR": "../data"}
    pid = place.told("up", "-d", **changes)["pid"]
    try:
        assert place.told("status", **changes)["pid"] == pid
    finally:
        place.ask("down", **changes)


def test_a_start_that_fails_tells_why(place):
    place.data.write_text("a file, not a directory")
    for arguments in (["up", "-d"], ["up"]):
        error = failure(place.ask(*arguments, "--json"))
        assert str(place.data) in error["message"]


def test_a_corrupt_database_is_named_and_kept(place):
    place.data.mkdir(mode=0o700)
    (place.data / "memory.db").write_bytes(b"this is no database at all" * 500)
    error = failure(place.ask("up", "-d", "--json"))
    assert "memory.db" in error["message"]
    assert any(
        b"this is no database" in path.read_bytes()
        for path in place.data.iterdir()
        if path.name.startswith("memory.db")
    )


def test_a_sidecar_at_another_address_is_pointed_to(place):
    elsewhere = f"unix:{place.data / 'other.sock'}"
    place.told("up", "-d", SEAMARK_ADDRESS=elsewhere)
    error = failure(place.ask("status", "--json"))
    assert f"SEAMARK_ADDRESS={elsewhere}" in error["message"]
    assert elsewhere in failure(place.ask("up", "-d", "--json"))["message"]


def test_after_a_kill_the_next_start_works(place):
    pid = place.told("up", "-d")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: place.ask("status").returncode == 1)
    assert failure(place.ask("status", "--json"))["reason"] == "SIDECAR_UNAVAILABLE"
    assert place.told("down")["stopped"] is False
    assert place.told("up", "-d")["already_running"] is False


@pytest.mark.slow
def test_a_frozen_sidecar_is_killed_only_when_forced(place):
    pid = place.told("up", "-d")["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert "--force" in failure(place.ask("down", "--json"))["message"]
    assert place.told("down", "--force") == {"stopped": True, "pid": pid, "forced": True}
