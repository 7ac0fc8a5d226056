"""Runs a program for a while: quietly, on a leash, and gone when we are."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seamark_sidecar.models.leash import leashed

LARGEST_FILE = 256 * 1024 * 1024

_POLL = 0.05  # seconds
_WATCH_EVERY = 0.5
_TAIL = 8 * 1024


class ProgramFailed(Exception):
    """A program did not end well; the message is what it said last."""


def run(
    command: Sequence[str],
    *,
    directory: Path,
    environ: Mapping[str, str],
    within: float,
    watch: Callable[[], None],
) -> None:
    """Runs a program to its end.

    Args:
        command: The program by its absolute path, and its arguments.
        directory: Where it runs, and where its output and temporary files go.
        environ: Its whole environment, but for where temporary files go.
        within: Seconds after which it is killed.
        watch: Called now and then; what it raises ends the program.

    Raises:
        ProgramFailed: it could not be started, failed, or took too long.
    """
    with tempfile.TemporaryFile(dir=directory) as output:
        process = subprocess.Popen(
            leashed(list(command), largest_file=LARGEST_FILE),
            cwd=directory,
            env={**environ, "TMPDIR": str(directory)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # A group of its own can be killed with all that it started, and hears no Ctrl-C.
            start_new_session=True,
        )
        try:
            ended = _wait(process, within, watch)
        finally:
            _kill(process)
        if not ended:
            raise ProgramFailed(f"it did not end within {within:g} s")
        if process.returncode:
            raise ProgramFailed(_last_words(output.fileno(), process.returncode))


def _wait(process: subprocess.Popen[bytes], within: float, watch: Callable[[], None]) -> bool:
    end = time.monotonic() + within
    watch_at = 0.0
    while process.poll() is None:
        now = time.monotonic()
        if now > end:
            return False
        if now > watch_at:
            watch()
            watch_at = now + _WATCH_EVERY
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Once it was waited for, its number may be somebody else's.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_words(output: int, code: int) -> str:
    size = os.fstat(output).st_size
    said = os.pread(output, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace").strip()
    if code < 0:
        ended = f"it was ended by signal {-code}"
        return f"{said} ({ended})" if said else ended
    return said or f"it ended with code {code}"
