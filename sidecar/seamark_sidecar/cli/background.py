"""Starts the sidecar as a process of its own, and waits until it answers."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from seamark_sidecar.cli.connection import is_serving
from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.cli.holder import find_holder, within
from seamark_sidecar.lock import Holder, prepare_data_dir, read_holder
from seamark_sidecar.settings import Settings

READY_WITHIN = 10.0  # seconds

_LARGEST_LOG = 8 * 1024 * 1024
_TAIL = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The sidecar that runs now."""

    pid: int
    already_running: bool = False
    # Where a sidecar in the background writes.
    log: Path | None = None


def start(settings: Settings) -> Started:
    """Starts a sidecar unless one runs; raises CommandFailed when none answers in the end."""
    prepare_data_dir(settings.data_dir)
    if holder := find_holder(settings):
        return _joined(holder, settings)
    log = settings.data_dir / "sidecar.log"
    with os.fdopen(_open_log(log), "ab") as stream:
        before = os.fstat(stream.fileno()).st_size
        child = subprocess.Popen(
            [
                *(sys.executable, "-I", "-m", "seamark_sidecar"),
                *("up", "--idle-exit", str(settings.idle_exit)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd="/",
            start_new_session=True,
            env=_environment(settings),
        )

    def answers() -> bool:
        holder = read_holder(settings.data_dir)
        return holder is not None and holder.pid == child.pid and is_serving(settings, 1.0)

    if within(READY_WITHIN, lambda: child.poll() is not None or answers()):
        if child.poll() is None:
            return Started(pid=child.pid, log=log)
        # Somebody else may have been faster.
        if holder := find_holder(settings):
            return _joined(holder, settings)
        raise CommandFailed(
            "START_FAILED",
            f"the sidecar did not start: {_last_words(log, before, child.returncode)}",
        )
    raise CommandFailed(
        "START_TOO_SLOW",
        f"the sidecar (pid {child.pid}) does not answer after {READY_WITHIN:g} s and goes on "
        f"starting; look into {log}, or stop it: seamark down",
    )


def _joined(holder: Holder, settings: Settings) -> Started:
    """The sidecar that somebody else started, once it answers."""
    if holder.address != settings.address:
        raise CommandFailed(
            "ALREADY_RUNNING",
            f"the sidecar of {settings.data_dir} (pid {holder.pid}) already listens at "
            f"{holder.address}; use that address or stop it: seamark down",
        )
    if not within(READY_WITHIN, lambda: is_serving(settings, 1.0)):
        raise CommandFailed(
            "SIDECAR_TOO_SLOW",
            f"a sidecar is already running (pid {holder.pid}) but does not answer; "
            "stop it: seamark down --force",
        )
    return Started(pid=holder.pid, already_running=True)


def _environment(settings: Settings) -> dict[str, str]:
    # The child runs in another directory, so relative settings are handed on resolved.
    return {
        **os.environ,
        "SEAMARK_DATA_DIR": str(settings.data_dir),
        "SEAMARK_ADDRESS": settings.address,
    }


def _open_log(log: Path) -> int:
    try:
        if log.is_file() and log.stat().st_size > _LARGEST_LOG:
            log.replace(log.with_suffix(".log.1"))
        descriptor = os.open(
            log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
        )
    except OSError as error:
        raise CommandFailed(
            "DATA_DIR_UNUSABLE",
            f"the log {log} cannot be written: {error.strerror}; "
            "set SEAMARK_DATA_DIR to a directory of your own",
        ) from error
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
        os.close(descriptor)
        raise CommandFailed("DATA_DIR_UNUSABLE", f"{log} is not a file of this user; move it away")
    os.fchmod(descriptor, 0o600)
    os.set_blocking(descriptor, True)
    return descriptor


def _last_words(log: Path, before: int, code: int) -> str:
    """The sentence with which the child gave up, or what comes closest to it."""
    with log.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(before, stream.tell() - _TAIL))
        lines = [line for line in stream.read().decode("utf-8", "replace").split("\n") if line]
    said = [line.removeprefix("seamark: ") for line in lines if line.startswith("seamark: ")]
    if said:
        return said[-1]
    ended = f"it ended with code {code}"
    return f"{lines[-1]} ({ended}, see {log})" if lines else f"{ended}, see {log}"
