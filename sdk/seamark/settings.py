"""Settings of the SDK, read once from `SEAMARK_*`, and the places both sides must agree on."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seamark.errors import SettingsError

# sun_path is 104 bytes on macOS and 108 on Linux, with the closing NUL.
LONGEST_SOCKET_PATH = 103


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an agent's process reaches its memory."""

    address: str
    disabled: bool = False
    # Events kept while the sidecar is away; the newest are dropped and counted beyond that.
    buffer: int = 8192
    # Seconds an injection point may take from the agent.
    session_start_deadline: float = 0.5
    tool_result_deadline: float = 0.1
    step_deadline: float = 0.05
    tool_deadline: float = 3.0
    # Seconds that ending a session, or leaving the process, may take.
    close_deadline: float = 1.0

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Reads the environment; a wrong value is named in a SettingsError."""
        return cls(
            address=environ.get("SEAMARK_ADDRESS") or default_address(environ),
            disabled=_flag(environ, "SEAMARK_DISABLED"),
            buffer=int(_number(environ, "SEAMARK_BUFFER", 8192, least=1)),
            session_start_deadline=_milliseconds(environ, "SEAMARK_SESSION_START_MS", 500),
            tool_result_deadline=_milliseconds(environ, "SEAMARK_TOOL_RESULT_MS", 100),
            step_deadline=_milliseconds(environ, "SEAMARK_STEP_MS", 50),
            tool_deadline=_milliseconds(environ, "SEAMARK_TOOL_MS", 3000),
            close_deadline=_milliseconds(environ, "SEAMARK_CLOSE_MS", 1000),
        )


def data_dir(environ: Mapping[str, str]) -> Path:
    """Where the sidecar keeps its files."""
    if chosen := environ.get("SEAMARK_DATA_DIR"):
        return Path(chosen).expanduser().absolute()
    home = Path(environ.get("HOME") or Path.home())
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "seamark"


def default_address(environ: Mapping[str, str]) -> str:
    """The user's own socket for this data directory."""
    directory = data_dir(environ)
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]
    candidates = [directory / "seamark.sock"]
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        candidates.insert(0, Path(runtime) / "seamark" / f"{name}.sock")
    # Last resort for long paths; owner and mode are checked like everywhere else.
    candidates.append(Path(tempfile.gettempdir()) / f"seamark-{os.getuid()}-{name}" / "s.sock")
    fitting = (path for path in candidates if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH)
    return f"unix:{next(fitting, candidates[-1])}"


def socket_path(address: str) -> Path:
    """The file behind an address; only unix sockets keep other users out."""
    if not address.startswith("unix:/"):
        raise SettingsError(f"SEAMARK_ADDRESS is {address!r}; use unix:/absolute/path/to/the.sock")
    path = Path(address.removeprefix("unix:"))
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise SettingsError(
            f"the socket path {path} is longer than {LONGEST_SOCKET_PATH} bytes; "
            "set SEAMARK_ADDRESS or SEAMARK_DATA_DIR to a shorter one"
        )
    return path


def _flag(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "").strip().lower()
    if value in {"", "0", "false", "no", "off"}:
        return False
    if value in {"1", "true", "yes", "on"}:
        return True
    raise SettingsError(f"{name} is {value!r}; use 1 or 0")


def _number(environ: Mapping[str, str], name: str, default: float, *, least: float) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}; use a number") from None
    if not least <= value < 1e9:
        raise SettingsError(f"{name} is {text!r}; use a number of at least {least:g}")
    return value


def _milliseconds(environ: Mapping[str, str], name: str, default: float) -> float:
    return _number(environ, name, default, least=1) / 1000
