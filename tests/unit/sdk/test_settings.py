"""Settings say what is wrong with them, and both sides find the same socket."""

import os
from pathlib import Path

import pytest

from seamark.errors import SettingsError
from seamark.settings import (
    LONGEST_SOCKET_PATH,
    Settings,
    data_dir,
    default_address,
    socket_path,
)

HOME = {"HOME": "/home/ada"}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SEAMARK_DISABLED", "maybe", "use 1 or 0"),
        ("SEAMARK_ADDRESS", "localhost:50051", "use unix:/absolute/path/to/the.sock"),
        ("SEAMARK_ADDRESS", "unix:relative.sock", "use unix:/absolute/path/to/the.sock"),
        ("SEAMARK_ADDRESS", "unix:/" + "x" * 200, "shorter"),
        ("SEAMARK_ADDRESS", "unix:/tmp/a%41/s.sock", "without"),
        ("SEAMARK_ADDRESS", "unix:/tmp/a#b/s.sock", "without"),
        ("SEAMARK_BUFFER", "many", "use a number"),
        ("SEAMARK_BUFFER", "0", "from 1"),
        ("SEAMARK_BUFFER", "-5", "from 1"),
        ("SEAMARK_BUFFER", "1e30", "to 1,000,000,000"),
        ("SEAMARK_SESSION_START_MS", "0", "from 1"),
        ("SEAMARK_TOOL_RESULT_MS", "nan", "from 1"),
        ("SEAMARK_STEP_MS", "inf", "to 1,000,000,000"),
        ("SEAMARK_TOOL_MS", "3s", "use a number"),
        ("SEAMARK_CLOSE_MS", "-1", "from 1"),
    ],
)
def test_a_wrong_value_is_named_with_what_to_do(name, value, told):
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({**HOME, name: value})
    assert told in str(raised.value)
    shown = value.removeprefix("unix:") if value.startswith("unix:/") else value
    assert shown in str(raised.value)
    if not value.startswith("unix:/"):
        assert name in str(raised.value)


def test_with_nothing_set_the_defaults_are_those_of_the_documentation():
    settings = Settings.from_env(HOME)
    assert settings == Settings(
        address=default_address(HOME), autostart=True, data_dir=data_dir(HOME)
    )
    assert settings.buffer == 8192
    assert settings.step_deadline == 0.05


def test_every_value_can_be_set():
    settings = Settings.from_env(
        {
            "SEAMARK_ADDRESS": "unix:/run/s.sock",
            "SEAMARK_BUFFER": "10",
            "SEAMARK_SESSION_START_MS": "1",
            "SEAMARK_TOOL_RESULT_MS": "2.5",
            "SEAMARK_STEP_MS": "3",
            "SEAMARK_TOOL_MS": "4",
            "SEAMARK_CLOSE_MS": "5",
        }
    )
    assert settings == Settings(
        address="unix:/run/s.sock",
        buffer=10,
        session_start_deadline=0.001,
        tool_result_deadline=0.0025,
        step_deadline=0.003,
        tool_deadline=0.004,
        close_deadline=0.005,
    )


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_switched_off_means_that_nothing_else_is_looked_at(value):
    settings = Settings.from_env({"SEAMARK_DISABLED": value, "SEAMARK_ADDRESS": "nonsense"})
    assert settings.disabled


@pytest.mark.parametrize("value", ["", "0", "false", "No", "off"])
def test_switched_on_can_be_said_too(value):
    assert not Settings.from_env({**HOME, "SEAMARK_DISABLED": value}).disabled


@pytest.mark.parametrize(
    "directory",
    ["/d", "/" + "deep/" * 40, "/" + "x" * 200, "/" + "ü" * 60, "/100%/mine", "/c#", "/a,b/why?"],
)
@pytest.mark.parametrize("runtime", ["", "/run/user/1000", "/" + "r" * 120])
def test_the_default_address_can_always_be_used(directory, runtime):
    environ = {"SEAMARK_DATA_DIR": directory, "XDG_RUNTIME_DIR": runtime}
    path = socket_path(default_address(environ))
    assert len(os.fsencode(path)) <= LONGEST_SOCKET_PATH < 104


def test_the_runtime_directory_is_preferred():
    environ = {"SEAMARK_DATA_DIR": "/data", "XDG_RUNTIME_DIR": "/run/user/7"}
    assert socket_path(default_address(environ)).parent == Path("/run/user/7/seamark")
    assert default_address({"SEAMARK_DATA_DIR": "/data"}) == "unix:/data/seamark.sock"


@pytest.mark.parametrize("runtime", ["", "/run/user/7"])
@pytest.mark.parametrize("length", [1, 150])
def test_two_data_directories_have_two_sockets(runtime, length):
    first, second = (
        default_address({"SEAMARK_DATA_DIR": f"/{name * length}", "XDG_RUNTIME_DIR": runtime})
        for name in "ab"
    )
    assert first != second


def test_a_data_directory_has_the_same_socket_however_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    absolute = default_address({"SEAMARK_DATA_DIR": str(tmp_path / "data")})
    assert default_address({"SEAMARK_DATA_DIR": "data"}) == absolute
    assert default_address({"SEAMARK_DATA_DIR": "./data/"}) == absolute


def test_the_data_directory_is_found_as_the_desktop_says():
    assert data_dir(HOME) == Path("/home/ada/.local/share/seamark")
    assert data_dir({**HOME, "XDG_DATA_HOME": "/share"}) == Path("/share/seamark")
    assert data_dir({**HOME, "XDG_DATA_HOME": "relative"}) == data_dir(HOME)
    assert data_dir({**HOME, "SEAMARK_DATA_DIR": "/mine"}) == Path("/mine")


def test_a_relative_runtime_directory_is_ignored():
    environ = {"SEAMARK_DATA_DIR": "/data", "XDG_RUNTIME_DIR": "run"}
    assert default_address(environ) == "unix:/data/seamark.sock"


def test_a_home_that_nobody_knows_is_named_with_what_to_do():
    with pytest.raises(SettingsError, match="set SEAMARK_DATA_DIR to an absolute path"):
        Settings.from_env({"SEAMARK_DATA_DIR": "~nobody-of-this-name/data"})


def test_a_current_directory_that_is_gone_is_no_other_error(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SettingsError, match="set SEAMARK_DATA_DIR to an absolute path"):
        Settings.from_env({"SEAMARK_DATA_DIR": "data"})
    monkeypatch.chdir(tmp_path)
