"""Starts a sidecar that shares nothing with the agent's process but its user."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seamark.errors import LaunchFailed
from seamark.private_directory import PrivateDirectory

# Import names that come with the extra `[sidecar]`.
SIDECAR_PACKAGES = (
    "click",
    "grpc_health",
    "msgpack",
    "numpy",
    "onnx",
    "onnxruntime",
    "psutil",
    "qdrant_edge",
    "rich",
    "safetensors",
    "tree_sitter",
    "tree_sitter_bash",
    "structlog",
    "tokenizers",
)
LOG_NAME = "sidecar.log"
LARGEST_LOG = 8 * 1024 * 1024
# All that a sidecar gets of the agent's environment, beside `LC_*` and `SEAMARK_*`.
PASSED_ON = frozenset(
    {
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
    }
)

_TAIL = 16 * 1024
_LONGEST_WORDS = 500
_VERSION_WITHIN = 10.0  # seconds
_HOW = (
    "run: pip install 'seamark[sidecar]', or set SEAMARK_SIDECAR_PYTHON=/path/to/python of an "
    "environment that has it"
)


def interpreter(chosen: str) -> str:
    """The Python to run a sidecar with; raises LaunchFailed when it cannot be one."""
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise LaunchFailed(
                f"SEAMARK_SIDECAR_PYTHON is {chosen}, which cannot be run; "
                "set it to the python of an environment that has seamark[sidecar]"
            )
        return chosen
    own = sys.executable or ""
    # An app that embeds or bundles Python would be started a second time instead.
    if getattr(sys, "frozen", False) or not Path(own).name.lower().startswith(("python", "pypy")):
        raise LaunchFailed(
            f"this process runs {own or 'an embedded Python'}, which cannot start a sidecar; "
            "set SEAMARK_SIDECAR_PYTHON=/path/to/python of an environment that has "
            "seamark[sidecar]"
        )
    if missing := [name for name in SIDECAR_PACKAGES if not _is_importable(name)]:
        raise LaunchFailed(
            f"the sidecar's packages are not installed here ({', '.join(missing)}); {_HOW}"
        )
    return str(Path(own).absolute())


def _is_importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # Already imported by unusual means.
        return name in sys.modules


def environment(environ: Mapping[str, str], *, data_dir: Path, address: str) -> dict[str, str]:
    """What a sidecar gets of the agent's environment, with its places resolved."""
    passed = {
        name: value
        for name, value in environ.items()
        if name in PASSED_ON or name.startswith(("LC_", "SEAMARK_"))
    }
    # Relative ones would mean another directory where the sidecar runs.
    places = [each for each in passed.get("PATH", "").split(os.pathsep) if Path(each).is_absolute()]
    return {
        **passed,
        "PATH": os.pathsep.join(places) or os.defpath,
        "SEAMARK_DATA_DIR": str(data_dir),
        "SEAMARK_ADDRESS": address,
    }


# Held while a program is being started, and taken before a fork: a child that is forked at that
# instant keeps the other end of a pipe, and whoever waits for it waits as long as the child lives.
_starting = threading.Lock()
_FORK_WAIT = 0.2  # seconds


def _begin(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    with _starting:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd="/",
            close_fds=True,
            start_new_session=True,
            **options,
        )


class Spawned:
    """A sidecar that was started, and the place in its log where it began."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, begin: int) -> None:
        self.pid = process.pid
        self._process = process
        self._log = log
        self._begin = begin
        # A daemon: it must not keep the agent from leaving.
        threading.Thread(target=process.wait, name="seamark-reaper", daemon=True).start()

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def disown(self) -> None:
        """In a forked child: it is the parent's to wait for."""
        self._process.returncode = 0

    def last_words(self) -> str:
        """The sentence with which it gave up, or what comes closest to it."""
        lines = _tail(self._log, self._begin)
        said = [line.removeprefix("seamark: ") for line in lines if line.startswith("seamark: ")]
        if said:
            return said[-1]
        ended = f"it ended with code {self._process.returncode}, see {self._log}"
        if not lines:
            return ended
        if "No module named" in lines[-1]:
            return f"{lines[-1]}; {_HOW}"
        return f"{lines[-1]} ({ended})"


def start(
    python: str, arguments: Sequence[str], environ: Mapping[str, str], directory: PrivateDirectory
) -> Spawned:
    """Starts `seamark up` in the background; raises LaunchFailed."""
    log = _open_log(directory)
    try:
        begin = os.fstat(log).st_size
        process = _begin(
            # Isolated: neither the project's directory nor PYTHON* decide what is imported.
            [python, "-I", "-m", "seamark_sidecar", "up", *arguments],
            stdout=log,
            stderr=log,
            env=dict(environ),
        )
        return Spawned(process, directory.path / LOG_NAME, begin)
    except (OSError, RuntimeError, ValueError) as error:
        raise LaunchFailed(f"{python} cannot be started: {error}") from error
    finally:
        os.close(log)


def version_of(python: str, environ: Mapping[str, str], within: float = _VERSION_WITHIN) -> str:
    """The version of the sidecar that this Python would start; empty when it has none."""
    try:
        asked = _begin(
            [python, "-I", "-c", "import seamark; print(seamark.__version__)"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
        )
    except (OSError, ValueError):
        return ""
    with asked:
        try:
            said, _ = asked.communicate(timeout=_VERSION_WITHIN)
        except subprocess.TimeoutExpired:
            asked.kill()
            return ""
    return said.decode("ascii", "replace").strip() if asked.returncode == 0 else ""


def _open_log(directory: PrivateDirectory) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = directory.open(LOG_NAME, flags)
    if os.fstat(descriptor).st_size > LARGEST_LOG:
        os.close(descriptor)
        # What lies in the way of the old log is no reason to have no new one.
        with contextlib.suppress(OSError):
            directory.rename(LOG_NAME, LOG_NAME + ".1")
        descriptor = directory.open(LOG_NAME, flags)
    os.fchmod(descriptor, 0o600)
    os.set_blocking(descriptor, True)
    return descriptor


def _tail(log: Path, begin: int) -> list[str]:
    try:
        with log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(begin, stream.tell() - _TAIL))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    # Facts for programs say little to people.
    return [_plain(line) for line in text.split("\n") if line.strip() and line[0] != "{"]


def _plain(line: str) -> str:
    """A line that cannot disturb a terminal."""
    return "".join(each if each.isprintable() else " " for each in line[:_LONGEST_WORDS]).strip()


def _before_fork() -> None:
    _forking.holds = _starting.acquire(timeout=_FORK_WAIT)


def _after_fork_in_parent() -> None:
    if _forking.holds:
        _starting.release()


def _after_fork_in_child() -> None:
    global _starting
    _starting = threading.Lock()


# Several threads may fork at the same time.
_forking = threading.local()
os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
