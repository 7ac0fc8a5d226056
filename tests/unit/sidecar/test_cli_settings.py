"""The sidecar's settings come from the environment, and wrong ones are named."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from seamark.errors import SettingsError
from seamark.settings import Settings as SdkSettings
from seamark_sidecar.settings import Settings

HOME = {"HOME": "/home/someone"}


def test_an_empty_environment_gives_the_documented_defaults():
    settings = Settings.from_env(HOME)
    assert settings.data_dir == Path("/home/someone/.local/share/seamark")
    assert settings.address == "unix:/home/someone/.local/share/seamark/seamark.sock"
    assert settings.log_level == "info"
    assert settings.session_timeout == 86_400
    assert settings.validation_timeout == 86_400
    assert settings.journal_days == 7
    assert settings.journal_size == 512 << 20
    assert settings.least_free == 200 << 20


@pytest.mark.parametrize(
    "environ",
    [
        HOME,
        {"SEAMARK_DATA_DIR": "/srv/memory"},
        {**HOME, "XDG_RUNTIME_DIR": "/run/user/7"},
        {"SEAMARK_DATA_DIR": "/srv/" + "x" * 100},
        {**HOME, "SEAMARK_ADDRESS": "unix:/run/own.sock"},
    ],
)
def test_both_sides_agree_on_the_address(environ):
    assert Settings.from_env(environ).address == SdkSettings.from_env(environ).address


def test_every_value_can_be_set():
    settings = Settings.from_env(
        {
            "SEAMARK_DATA_DIR": "/srv/memory",
            "SEAMARK_ADDRESS": "unix:/run/own.sock",
            "SEAMARK_LOG_LEVEL": " Debug ",
            "SEAMARK_SESSION_TIMEOUT_S": "0.5",
            "SEAMARK_VALIDATION_TIMEOUT_S": "60",
            "SEAMARK_JOURNAL_DAYS": "1",
            "SEAMARK_JOURNAL_MB": "0.5",
            "SEAMARK_MIN_FREE_MB": "0",
            "SEAMARK_WORKER_MB": "2",
        }
    )
    assert settings == Settings(
        data_dir=Path("/srv/memory"),
        address="unix:/run/own.sock",
        log_level="debug",
        session_timeout=0.5,
        validation_timeout=60,
        journal_days=1,
        journal_size=512 << 10,
        least_free=0,
        worker_memory=2 << 20,
    )


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("SEAMARK_LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("SEAMARK_SESSION_TIMEOUT_S", "soon", "a number above 0"),
        ("SEAMARK_SESSION_TIMEOUT_S", "0", "a number above 0"),
        ("SEAMARK_VALIDATION_TIMEOUT_S", "-1", "a number above 0"),
        ("SEAMARK_VALIDATION_TIMEOUT_S", "nan", "a number above 0"),
        ("SEAMARK_JOURNAL_DAYS", "inf", "a number above 0"),
        ("SEAMARK_JOURNAL_DAYS", "1e12", "up to 36,500"),
        ("SEAMARK_JOURNAL_MB", "0", "a number above 0"),
        ("SEAMARK_MIN_FREE_MB", "-1", "a number from 0"),
        ("SEAMARK_MIN_FREE_MB", "1e9", "up to 1,048,576"),
        ("SEAMARK_ADDRESS", "localhost:50051", "unix:/absolute"),
        ("SEAMARK_ADDRESS", "unix:/" + "x" * 110, "shorter"),
        ("SEAMARK_DATA_DIR", "~nobody-of-that-name/x", "absolute path"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_the_fix(name, value, fix):
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({**HOME, name: value})
    assert name in str(caught.value)
    assert fix in str(caught.value)


def test_settings_do_not_change_after_they_were_read():
    with pytest.raises(FrozenInstanceError):
        Settings.from_env(HOME).log_level = "debug"  # type: ignore[misc]
