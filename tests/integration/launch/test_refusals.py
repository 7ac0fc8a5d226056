"""Where no sidecar can be started, one warning says why, and the agent goes on."""

import fcntl
import logging
import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from seamark import UserSaid, launch, spawn
from seamark.spawn import SIDECAR_PACKAGES
from tests.integration.launch.conftest import until

# An agent that works on, whatever happens to its memory.
WORKS = """
client = connect()
session = client.start_session(project_path=os.getcwd())
for step in range(3):
    session.observe(UserSaid(text=str(step)))
    session.prepare_step(step)
until(lambda: client.why_without_memory != "the sidecar is being started")
print(client.why_without_memory)
client.close(0)
"""


def warning_of(place, **changes) -> str:
    """The only warning of an agent."""
    out, err = place.ended(WORKS, **changes)
    (warning,) = [line for line in err.splitlines() if not line.startswith("INFO")]
    assert warning == f"WARNING seamark runs without memory: {out.strip()}"
    return str(out)


@pytest.fixture
def environment(place):
    """An environment of its own in which only these packages can be imported."""

    def make(*names: str) -> str:
        made = place.root / "env"
        venv.create(made, with_pip=False, symlinks=True)
        (site,) = made.glob("lib/python*/site-packages")
        for name in names:
            spec = find_spec(name)
            assert spec
            folders = spec.submodule_search_locations
            path = Path(folders[0] if folders else str(spec.origin))
            (site / path.name).symlink_to(path)
        return str(made / "bin" / "python")

    return make


SDK_ALONE = ("seamark", "seamark_sidecar", "grpc", "google", "typing_extensions")


def test_an_agent_without_the_sidecars_packages_is_told_how_to_get_them(place, environment):
    place.python = environment(*SDK_ALONE)
    said = warning_of(place)
    assert all(name in said for name in SIDECAR_PACKAGES)
    assert "pip install 'seamark[sidecar]'" in said
    assert "SEAMARK_SIDECAR_PYTHON=/path/to/python" in said
    assert not place.log.exists()


def test_an_agent_without_them_uses_the_python_that_its_user_named(place, environment):
    place.python = environment(*SDK_ALONE)
    program = """
client = connect()
session = client.start_session(project_path=os.getcwd())
session.observe(UserSaid(text="hi"))
assert client.flush(20), client.why_without_memory
"""
    place.agent(program, SEAMARK_SIDECAR_PYTHON=sys.executable)
    assert place.running().cmdline()[0] == sys.executable
    assert len(place.stored()) == 1


def test_a_named_python_that_has_no_seamark_is_a_warning(place, environment):
    python = environment()
    said = warning_of(place, SEAMARK_SIDECAR_PYTHON=python)
    assert "No module named seamark_sidecar" in said
    assert "pip install 'seamark[sidecar]'" in said


def test_a_named_python_that_has_the_sdk_alone_is_a_warning(place, environment):
    said = warning_of(place, SEAMARK_SIDECAR_PYTHON=environment(*SDK_ALONE))
    assert "only the SDK is installed" in said
    assert "pip install 'seamark[sidecar]'" in said


def test_a_named_python_that_is_not_there_is_a_warning(place):
    assert "SEAMARK_SIDECAR_PYTHON is /no/python" in warning_of(
        place, SEAMARK_SIDECAR_PYTHON="/no/python"
    )


@pytest.mark.parametrize("name", ["launch.lock", "sidecar.log", "sidecar.lock"])
def test_a_link_in_the_data_directory_is_not_followed(place, name):
    place.data.mkdir(mode=0o700)
    precious = place.root / "precious"
    precious.write_text("precious")
    (place.data / name).symlink_to(precious)
    assert str(place.data / name) in warning_of(place)
    assert precious.read_text() == "precious"
    assert place.family() == []


def test_a_pipe_in_the_data_directory_holds_nobody_up(place):
    place.data.mkdir(mode=0o700)
    os.mkfifo(place.data / "launch.lock")
    assert "not a regular file of yours" in warning_of(place)


def test_a_data_directory_that_others_can_write_is_not_used(place):
    place.data.mkdir()
    place.data.chmod(0o777)
    assert f"chmod 700 {place.data}" in warning_of(place)
    assert list(place.data.iterdir()) == []


def test_a_data_directory_of_somebody_else_is_not_used(place):
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another user")
    place.data.mkdir()
    os.chown(place.data, 12345, 12345)
    assert "belongs to another user" in warning_of(place)
    assert list(place.data.iterdir()) == []


def test_a_socket_of_somebody_else_is_not_used(place):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    place.data.mkdir(mode=0o700)
    runtime = place.root / "run"
    (runtime / "seamark").mkdir(parents=True, mode=0o700)
    os.chown(runtime / "seamark", 12345, 12345)
    said = warning_of(place, XDG_RUNTIME_DIR=str(runtime))
    # The sidecar itself refuses to listen there.
    assert f"{runtime}/seamark" in said
    assert "must be yours alone" in said


def test_a_data_directory_that_cannot_be_made_is_a_warning(place):
    (place.root / "file").write_text("")
    said = warning_of(place, SEAMARK_DATA_DIR=str(place.root / "file" / "d"))
    assert "Not a directory" in said


def test_a_sidecar_at_another_address_is_named_and_left_alone(place):
    elsewhere = f"unix:{place.data}/elsewhere.sock"
    person = place.begin(
        "from seamark_sidecar.cli import main; main()", "up", SEAMARK_ADDRESS=elsewhere
    )
    until(lambda: (place.data / "elsewhere.sock").exists())
    said = warning_of(place)
    assert f"set SEAMARK_ADDRESS={elsewhere}" in said
    assert place.holder().pid == person.pid
    assert place.sidecars() == []


def test_one_that_does_not_answer_in_time_is_not_started_twice(here, connect, caplog, monkeypatch):
    monkeypatch.setattr(launch, "READY_WITHIN", 0.4)
    client = connect(sidecar_python=here.python_saying("echo started; exec sleep 60"))
    session = client.start_session(project_path=str(here.project))
    session.observe(UserSaid(text="hi"))
    until(lambda: "does not answer after 0.4 s" in client.why_without_memory)
    until(lambda: client._launcher._pace.attempts >= 3)
    assert here.log.read_text() == "started\n"
    assert len(here.family()) == 1
    assert len([record for record in caplog.records if record.levelno > logging.INFO]) == 1


def test_whoever_holds_the_launch_for_too_long_is_a_warning(here, connect, monkeypatch, caplog):
    monkeypatch.setattr(launch, "READY_WITHIN", 0.3)
    here.data.mkdir(mode=0o700)
    with (here.data / "launch.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        client = connect()
        session = client.start_session(project_path=str(here.project))
        session.observe(UserSaid(text="hi"))
        until(lambda: "another process has been starting" in client.why_without_memory)
        assert here.family() == []
    assert client.flush(20)
    assert len(here.stored()) == 1
    assert caplog.text.count("without memory") == 1


def test_a_fault_of_the_launchers_own_is_a_warning(here, connect, caplog, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(spawn, "start", broken)
    client = connect()
    session = client.start_session(project_path=str(here.project))
    session.observe(UserSaid(text="hi"))
    until(lambda: "without memory" in caplog.text)
    assert "ZeroDivisionError('oops')" in client.why_without_memory
    assert caplog.text.count("without memory") == 1


def test_a_full_disk_is_a_warning(place):
    """A file system with no room, in a namespace of its own."""
    mounts = ["unshare", "--mount", "--map-root-user", "true"]
    if subprocess.run(mounts, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs user namespaces")
    place.data.mkdir(mode=0o700)
    script = f"""
import os, runpy, subprocess, sys
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2,mode=700", "t",
                {str(place.data)!r}], check=True)
open({str(place.data / "filler")!r}, "wb").write(bytes(4096))
exec({WORKS!r})
"""
    wrapper = place.root / "unshared"
    wrapper.write_text(f'#!/bin/sh\nexec unshare --mount --map-root-user {sys.executable} "$@"\n')
    wrapper.chmod(0o700)
    place.python = str(wrapper)
    out, err = place.ended(script)
    assert "No space left on device" in out, err
    assert err.count("WARNING") == 1
