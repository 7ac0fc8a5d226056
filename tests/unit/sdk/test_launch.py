"""When a sidecar is started, with what, and what is refused."""

import fcntl
import importlib.metadata
import json
import os
import re
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest

from seamark import Client, Settings, launch, spawn
from seamark.errors import LaunchFailed, SettingsError
from seamark.holder import LOCK_NAME, Holder, read_holder
from seamark.launch import FIRST_PAUSE, LONGEST_PAUSE, Pace, is_older
from seamark.private_directory import PrivateDirectory
from seamark.testing import RecordingSidecar

HOME = {"HOME": "/home/ada"}
ROOT = Path(__file__).parents[3]


def give_to_somebody_else(path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(path, 12345, 12345, follow_symlinks=False)


def refusal(call, *arguments) -> str:
    with pytest.raises(LaunchFailed) as raised:
        call(*arguments)
    return str(raised.value)


# Who may start one.


def test_with_nothing_set_a_sidecar_is_started():
    settings = Settings.from_env(HOME)
    assert settings.autostart
    assert settings.data_dir == Path("/home/ada/.local/share/seamark")
    assert settings.idle_exit == 900


@pytest.mark.parametrize(
    "environ",
    [
        {"SEAMARK_ADDRESS": "unix:/run/s.sock"},
        {"SEAMARK_ADDRESS": "unix:/home/ada/.local/share/seamark/seamark.sock"},
        {"SEAMARK_ADDRESS": "unix:/run/s.sock", "SEAMARK_AUTOSTART": "1"},
        {"SEAMARK_AUTOSTART": "0"},
        {"SEAMARK_AUTOSTART": "off"},
        {"SEAMARK_DISABLED": "1"},
        {"SEAMARK_DISABLED": "1", "SEAMARK_AUTOSTART": "1"},
    ],
)
def test_none_is_started_where_an_address_is_set_or_starting_is_switched_off(environ):
    settings = Settings.from_env({**HOME, **environ})
    assert not settings.autostart
    assert settings.data_dir is None


def test_settings_made_in_code_start_none():
    assert not Settings(address="unix:/run/s.sock").autostart
    assert Client(Settings(address="unix:/run/s.sock"))._launcher is None
    with RecordingSidecar() as sidecar:
        assert sidecar.client()._launcher is None


def test_a_disabled_client_starts_none():
    settings = Settings(address="", disabled=True, autostart=True, data_dir=Path("/d"))
    assert Client(settings)._launcher is None


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("SEAMARK_SIDECAR_PYTHON", "python3", "absolute path"),
        ("SEAMARK_SIDECAR_PYTHON", "./bin/python", "absolute path"),
        ("SEAMARK_AUTOSTART", "perhaps", "use 1 or 0"),
        ("SEAMARK_IDLE_EXIT_S", "-1", "from 0"),
        ("SEAMARK_IDLE_EXIT_S", "nan", "from 0"),
        ("SEAMARK_IDLE_EXIT_S", "soon", "a number"),
    ],
)
def test_a_wrong_value_is_named_with_the_fix(name, value, fix):
    with pytest.raises(SettingsError, match=f"{name}.*{fix}"):
        Settings.from_env({**HOME, name: value})


# What is started.


def test_the_packages_looked_for_are_those_of_the_extra():
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]["sidecar"]
    wanted = {re.split(r"[<>=~!]", requirement)[0] for requirement in extra}
    provided = importlib.metadata.packages_distributions()
    assert {provided[name][0] for name in spawn.SIDECAR_PACKAGES} == wanted


def test_it_is_the_agents_own_python_unless_another_is_chosen():
    assert spawn.interpreter("") == str(Path(sys.executable).absolute())
    assert spawn.interpreter("/bin/sh") == "/bin/sh"


def test_a_chosen_python_that_cannot_be_run_is_named(tmp_path):
    absent = tmp_path / "python"
    assert f"SEAMARK_SIDECAR_PYTHON is {absent}" in refusal(spawn.interpreter, str(absent))
    absent.write_text("")
    absent.chmod(0o600)
    if os.geteuid() != 0 or not os.access(absent, os.X_OK):
        assert "cannot be run" in refusal(spawn.interpreter, str(absent))


def test_without_its_packages_the_way_to_get_them_is_said(monkeypatch):
    monkeypatch.setattr(spawn, "SIDECAR_PACKAGES", ("click", "no_such_package_here"))
    said = refusal(spawn.interpreter, "")
    assert "no_such_package_here" in said
    assert "click" not in said
    assert "pip install 'seamark[sidecar]'" in said
    assert "SEAMARK_SIDECAR_PYTHON=/path/to/python" in said


@pytest.mark.parametrize("program", ["", "/usr/sbin/uwsgi", "/opt/app/agent"])
def test_an_app_that_embeds_python_is_not_started_again(monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    assert "SEAMARK_SIDECAR_PYTHON" in refusal(spawn.interpreter, "")


def test_an_app_that_bundles_python_is_not_started_again(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "SEAMARK_SIDECAR_PYTHON" in refusal(spawn.interpreter, "")


def test_only_what_it_needs_of_the_environment_is_passed_on():
    environ = {
        "PATH": "/usr/bin:.:node_modules/.bin::/bin",
        "HOME": "/home/ada",
        "LC_ALL": "C",
        "TZ": "UTC",
        "SEAMARK_LOG_LEVEL": "debug",
        "SEAMARK_DATA_DIR": "relative",
        "OPENAI_API_KEY": "secret",
        "PYTHONPATH": "/evil",
        "PYTHONSTARTUP": "/evil",
        "LD_PRELOAD": "/evil.so",
        "GIT_DIR": "/evil",
        "VIRTUAL_ENV": "/venv",
    }
    assert spawn.environment(environ, data_dir=Path("/d"), address="unix:/d/s") == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/ada",
        "LC_ALL": "C",
        "TZ": "UTC",
        "SEAMARK_LOG_LEVEL": "debug",
        "SEAMARK_DATA_DIR": "/d",
        "SEAMARK_ADDRESS": "unix:/d/s",
    }
    assert spawn.environment({}, data_dir=Path("/d"), address="a")["PATH"] == os.defpath


# When.


def test_pauses_double_up_to_the_longest():
    pace, now, pauses = Pace(), 100.0, []
    assert pace.allows(now)
    for _ in range(9):
        pace.attempted(now)
        start = now
        while not pace.allows(now):
            now += 0.5
        pauses.append(now - start)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (FIRST_PAUSE, LONGEST_PAUSE) == (1, 60)


def test_after_a_quiet_time_pauses_are_short_again():
    pace = Pace()
    for now in (0, 1, 3, 7):
        pace.attempted(now)
    assert not pace.allows(14)
    pace.attempted(1000)
    assert pace.attempts == 1
    assert pace.allows(1001)


def test_attempts_that_were_needless_lengthen_no_pause():
    pace = Pace()
    for now in range(10):
        assert pace.allows(now)
        pace.attempted(now)
        assert not pace.allows(now + 0.9)
        pace.needless()


@pytest.mark.parametrize(
    ("version", "other", "older"),
    [
        ("0.1.0", "0.2.0", True),
        ("0.9", "0.10", True),
        ("1.0", "1.0.0", False),
        ("1.0", "1.0.1", True),
        ("2.0.0", "1.9.9", False),
        ("0", "0.0.1", True),
        ("1.2.3rc1", "1.2.3", False),
        ("1.2.3.dev4", "1.3", True),
        ("", "1.0", False),
        ("unknown", "1.0", False),
        ("1.0", "", False),
        ("9" * 5000, "1.0", False),
    ],
)
def test_versions_are_compared_as_numbers(version, other, older):
    assert is_older(version, other) is older


def test_a_launcher_that_was_closed_begins_nothing(tmp_path):
    settings = Settings(address=f"unix:{tmp_path}/s", autostart=True, data_dir=tmp_path / "d")
    client = Client(settings)
    client.close(0)
    assert client._launcher is not None
    client._launcher.request()
    assert not client._launcher.outdated()
    assert not (tmp_path / "d").exists()


def test_names_of_files_do_not_change():
    # Other versions on the same machine look for the same.
    assert (launch.LAUNCH_LOCK_NAME, LOCK_NAME) == ("launch.lock", "sidecar.lock")


# Whose directory.


def test_the_directory_is_made_for_its_user_alone(tmp_path):
    with PrivateDirectory(tmp_path / "a" / "b") as directory:
        os.close(directory.open("file", os.O_RDWR | os.O_CREAT))
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b" / "file").stat().st_mode & 0o777 == 0o600


def test_a_directory_that_others_can_read_is_closed_to_them(tmp_path):
    tmp_path.chmod(0o755)
    with PrivateDirectory(tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    assert f"chmod 700 {tmp_path}" in refusal(PrivateDirectory(tmp_path).__enter__)
    assert tmp_path.stat().st_mode & 0o7777 == mode


def test_a_directory_of_somebody_else_is_refused(tmp_path):
    give_to_somebody_else(tmp_path)
    assert "belongs to another user" in refusal(PrivateDirectory(tmp_path).__enter__)


def test_a_link_that_somebody_else_made_is_refused(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(mine)
    with PrivateDirectory(link):
        pass
    give_to_somebody_else(link)
    assert "a link that another user made" in refusal(PrivateDirectory(link).__enter__)


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path):
    place = tmp_path / "data"
    place.write_text("")
    assert "set SEAMARK_DATA_DIR" in refusal(PrivateDirectory(place).__enter__)
    assert "set SEAMARK_DATA_DIR" in refusal(PrivateDirectory(place / "below").__enter__)


def hostile_files(path, kind):
    target = path.parent / "target"
    match kind:
        case "link":
            target.write_text("precious")
            path.symlink_to(target)
        case "dangling link":
            path.symlink_to(target)
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "somebody else's":
            path.write_text("")
            give_to_somebody_else(path)
    return target


@pytest.mark.parametrize("name", ["launch.lock", "sidecar.log", "sidecar.lock"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "directory", "pipe", "somebody else's"])
def test_what_somebody_put_in_the_place_of_a_file_is_refused(tmp_path, name, kind):
    target = hostile_files(tmp_path / name, kind)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    with PrivateDirectory(tmp_path) as directory:
        assert name in refusal(directory.open, name, flags)
    assert not target.exists() or target.read_text() == "precious"


# Who runs.


@contextmanager
def held(directory, text):
    with (directory / LOCK_NAME).open("w") as stream:
        stream.write(text)
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def found(path):
    with PrivateDirectory(path) as directory:
        return read_holder(directory)


def test_the_holder_is_read_from_a_lock_that_is_held(tmp_path):
    record = {"pid": 7, "address": "unix:/s", "version": "1.2", "started": "x", "launched": True}
    assert found(tmp_path) is None
    with held(tmp_path, json.dumps(record)):
        expected = Holder(pid=7, address="unix:/s", version="1.2", launched=True)
        assert found(tmp_path) == expected
    assert found(tmp_path) is None


def test_a_sidecar_without_the_mark_was_started_by_a_person(tmp_path):
    with held(tmp_path, '{"pid": 7, "address": "unix:/s", "version": "1"}'):
        assert found(tmp_path) == Holder(pid=7, address="unix:/s", version="1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"pid": 7}',
        '{"pid": true, "address": "a", "version": "1"}',
        '{"pid": "7", "address": "a", "version": "1"}',
        '{"pid": 7, "address": null, "version": "1"}',
        "[" * 4000,
        "\x00" * 100,
    ],
)
def test_a_lock_with_nonsense_in_it_is_held_by_somebody_unknown(tmp_path, text):
    with held(tmp_path, text):
        assert found(tmp_path) == Holder()


def test_looking_who_runs_leaves_nothing_locked(tmp_path):
    (tmp_path / LOCK_NAME).touch()
    assert found(tmp_path) is None
    with (tmp_path / LOCK_NAME).open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


# What it left behind.


def started(tmp_path, script):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o700)
    with PrivateDirectory(tmp_path / "data") as directory:
        spawned = spawn.start(str(python), (), {}, directory)
    while spawned.runs:
        pass
    return spawned


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo noise; echo 'seamark: the disk is full'; echo '{}'; exit 1", "the disk is full"),
        ("echo one; echo two; exit 3", "two (it ended with code 3, see "),
        ("exit 3", "it ended with code 3, see "),
        ('echo \'{"event": "ready"}\'; exit 3', "it ended with code 3, see "),
        ("kill -9 $$", "it ended with code -9, see "),
        ("printf '\\033[31mred\\007\\n'", "[31mred (it ended"),
        ("echo 'python: No module named seamark_sidecar'", "pip install 'seamark[sidecar]'"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "x" * 500 + " (it ended"),
    ],
)
def test_the_last_words_are_the_reason(tmp_path, script, words):
    said = started(tmp_path, script).last_words()
    assert words in said
    assert said.isprintable()


def test_words_of_an_earlier_one_are_not_quoted(tmp_path):
    assert started(tmp_path, "echo 'seamark: old'").last_words() == "old"
    assert "old" not in started(tmp_path, "exit 1").last_words()


def test_a_log_that_grew_too_long_is_put_aside(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    log = data / spawn.LOG_NAME
    with log.open("wb") as stream:
        stream.truncate(spawn.LARGEST_LOG + 1)
    assert started(tmp_path, "echo new").last_words().startswith("new")
    assert log.read_text() == "new\n"
    assert log.stat().st_mode & 0o777 == 0o600
    assert (data / "sidecar.log.1").stat().st_size == spawn.LARGEST_LOG + 1


def test_a_program_that_cannot_be_started_is_a_failed_launch(tmp_path):
    with PrivateDirectory(tmp_path) as directory:
        said = refusal(spawn.start, str(tmp_path), (), {}, directory)
    assert "cannot be started" in said


@pytest.mark.parametrize("script", ["exit 1", "echo garbage; exit 2", "kill -9 $$"])
def test_a_python_without_seamark_has_no_version(tmp_path, script):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o700)
    assert spawn.version_of(str(python), {}) == ""
    assert spawn.version_of(str(tmp_path / "absent"), {}) == ""
