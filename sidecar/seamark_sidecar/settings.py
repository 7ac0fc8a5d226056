"""Settings of the sidecar, read once from `SEAMARK_*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seamark.errors import SettingsError
from seamark.settings import data_dir, default_address, socket_path

LOG_LEVELS = ("debug", "info", "warning", "error")

# Beyond these a value is a slip of the finger, and arithmetic on dates would overflow.
_MOST_SECONDS = 1e9
_MOST_DAYS = 36_500
_MOST_MB = 1 << 20
_MB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the sidecar keeps its files, where it listens, and how long it waits."""

    data_dir: Path
    address: str
    log_level: str = "info"
    # Seconds; an open session without events for this long is ended.
    session_timeout: float = 86_400.0
    # Seconds; an ended session whose validation nobody reported is discarded after this long.
    validation_timeout: float = 86_400.0
    # Days that events are kept when their session's gate never closes.
    journal_days: float = 7.0
    # Bytes of the journal; beyond them the sessions that are silent the longest are ended.
    journal_size: int = 512 << 20
    # Bytes; with less on the disk nothing more is learnt, so that what is stored stays sound.
    least_free: int = 200 << 20
    # Bytes; a worker that takes more is started anew.
    worker_memory: int = 1 << 30
    # Seconds without a call after which the sidecar ends; 0 means never.
    idle_exit: float = 0.0
    # An SDK started it, no person; a newer SDK may replace it.
    launched: bool = False

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Reads the environment; a wrong value is named in a SettingsError."""
        try:
            directory = data_dir(environ)
            address = environ.get("SEAMARK_ADDRESS") or default_address(environ)
        except RuntimeError as error:  # What pathlib raises for a home nobody knows.
            raise SettingsError(
                f"the data directory cannot be found ({error}); "
                "set SEAMARK_DATA_DIR to an absolute path"
            ) from error
        socket_path(address)
        return cls(
            data_dir=directory,
            address=address,
            log_level=_log_level(environ),
            session_timeout=_amount(environ, "SEAMARK_SESSION_TIMEOUT_S", 86_400, _MOST_SECONDS),
            validation_timeout=_amount(
                environ, "SEAMARK_VALIDATION_TIMEOUT_S", 86_400, _MOST_SECONDS
            ),
            journal_days=_amount(environ, "SEAMARK_JOURNAL_DAYS", 7, _MOST_DAYS),
            journal_size=int(_amount(environ, "SEAMARK_JOURNAL_MB", 512, _MOST_MB) * _MB),
            least_free=int(_amount(environ, "SEAMARK_MIN_FREE_MB", 200, _MOST_MB, zero=True) * _MB),
            worker_memory=int(_amount(environ, "SEAMARK_WORKER_MB", 1024, _MOST_MB)) << 20,
        )


def _log_level(environ: Mapping[str, str]) -> str:
    text = environ.get("SEAMARK_LOG_LEVEL", "").strip().lower()
    if not text:
        return "info"
    if text not in LOG_LEVELS:
        raise SettingsError(f"SEAMARK_LOG_LEVEL is {text!r}; use one of {', '.join(LOG_LEVELS)}")
    return text


def _amount(
    environ: Mapping[str, str], name: str, default: float, most: float, *, zero: bool = False
) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return float(default)
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (0 < value <= most or (zero and value == 0)):
        least = "from 0" if zero else "above 0 and"
        raise SettingsError(f"{name} is {text!r}; use a number {least} up to {most:,.0f}")
    return value
