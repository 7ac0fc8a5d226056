"""Settings of the SDK, read once from `SEAMARK_*`, and the places both sides must agree on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seamark.errors import SettingsError

# sun_path is 104 bytes on macOS and 108 on Linux, with the closing NUL.
LONGEST_SOCKET_PATH = 103
# gRPC reads addresses as URIs: with one of these it would go to another file than was checked.
_MISREAD = frozenset("%#?,")
# A larger number is a slip of the finger.
MOST = 1_000_000_000


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
    # Start the user's sidecar when none listens. Only from the environment, and only while no
    # address is set: whoever names one means that one.
    autostart: bool = False
    data_dir: Path | None = None
    # The Python that has the sidecar's packages; empty means the agent's own.
    sidecar_python: str = ""
    # Seconds without a call after which a sidecar that was started so ends; 0 means never.
    idle_exit: float = 900.0

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Reads the environment; a wrong value is named in a SettingsError."""
        if _flag(environ, "SEAMARK_DISABLED"):
            return cls(address="", disabled=True)
        chosen = environ.get("SEAMARK_ADDRESS")
        autostart = _flag(environ, "SEAMARK_AUTOSTART", unset=True) and not chosen
        address = chosen or default_address(environ)
        socket_path(address)
        return cls(
            address=address,
            autostart=autostart,
            data_dir=data_dir(environ) if autostart else None,
            sidecar_python=_program(environ, "SEAMARK_SIDECAR_PYTHON"),
            idle_exit=_number(environ, "SEAMARK_IDLE_EXIT_S", 900, least=0),
            buffer=int(_number(environ, "SEAMARK_BUFFER", 8192, least=1)),
            session_start_deadline=_milliseconds(environ, "SEAMARK_SESSION_START_MS", 500),
            tool_result_deadline=_milliseconds(environ, "SEAMARK_TOOL_RESULT_MS", 100),
            step_deadline=_milliseconds(environ, "SEAMARK_STEP_MS", 50),
            tool_deadline=_milliseconds(environ, "SEAMARK_TOOL_MS", 3000),
            close_deadline=_milliseconds(environ, "SEAMARK_CLOSE_MS", 1000),
        )


def data_dir(environ: Mapping[str, str]) -> Path:
    """Where the sidecar keeps its files."""
    try:
        if chosen := environ.get("SEAMARK_DATA_DIR"):
            return Path(chosen).expanduser().absolute()
        home = Path(environ.get("HOME") or Path.home()).absolute()
    except (RuntimeError, OSError) as error:  # A home, or a current directory, that is not there.
        raise SettingsError(
            f"the data directory cannot be found ({error}); "
            "set SEAMARK_DATA_DIR to an absolute path"
        ) from error
    shared = _absolute(environ, "XDG_DATA_HOME") or home / ".local" / "share"
    return shared / "seamark"


def default_address(environ: Mapping[str, str]) -> str:
    """The user's own socket for this data directory."""
    import hashlib

    directory = data_dir(environ)
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]
    candidates = [directory / "seamark.sock"]
    if runtime := _absolute(environ, "XDG_RUNTIME_DIR"):
        candidates.insert(0, runtime / "seamark" / f"{name}.sock")
    for path in candidates:
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH and _MISREAD.isdisjoint(str(path)):
            return f"unix:{path}"
    # Last resort for other paths; owner and mode are checked like everywhere else. Not TMPDIR:
    # the agent and the sidecar may have different ones.
    return f"unix:/tmp/seamark-{os.getuid()}-{name}/s.sock"


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
    if not _MISREAD.isdisjoint(address):
        raise SettingsError(
            f"the socket path {path} has one of {' '.join(sorted(_MISREAD))} in it; "
            "set SEAMARK_ADDRESS to one without"
        )
    return path


def _absolute(environ: Mapping[str, str], name: str) -> Path | None:
    """A directory of the XDG specification, which says to ignore relative ones."""
    path = Path(environ.get(name, ""))
    return path if path.is_absolute() else None


def _program(environ: Mapping[str, str], name: str) -> str:
    path = environ.get(name, "").strip()
    if path and not Path(path).is_absolute():
        raise SettingsError(f"{name} is {path!r}; use an absolute path")
    return path


def _flag(environ: Mapping[str, str], name: str, *, unset: bool = False) -> bool:
    value = environ.get(name, "").strip().lower()
    if not value:
        return unset
    if value in {"0", "false", "no", "off"}:
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
    if not least <= value <= MOST:
        raise SettingsError(f"{name} is {text!r}; use a number from {least:g} to {MOST:,}")
    return value


def _milliseconds(environ: Mapping[str, str], name: str, default: float) -> float:
    return _number(environ, name, default, least=1) / 1000
