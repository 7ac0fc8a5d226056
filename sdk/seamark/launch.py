"""Finds the user's sidecar or starts it, without an agent ever waiting for that."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import seamark
from seamark import endpoint, spawn
from seamark.errors import LaunchFailed, SidecarUnavailable
from seamark.holder import Holder, read_holder
from seamark.private_directory import PrivateDirectory
from seamark.settings import Settings, socket_path

log = logging.getLogger("seamark")

LAUNCH_LOCK_NAME = "launch.lock"
READY_WITHIN = 10.0  # seconds
STOPPED_WITHIN = 6.0  # A sidecar allows itself 5.
FIRST_PAUSE = 1.0  # between two attempts
LONGEST_PAUSE = 60.0
WELL_AFTER = 10.0  # seconds beyond its pause, after which an attempt is no longer held against it
KEEPS_ENDING = 4  # attempts so close together that something must be wrong

_POLL = 0.02
_NUMBERS = re.compile(r"\d+(\.\d+)*")


class Waiting(Protocol):
    """Who wants to know when the sidecar is there."""

    def sidecar_ready(self) -> None: ...
    def sidecar_failed(self, error: LaunchFailed) -> None: ...


class Pace:
    """How soon the next attempt may follow: pauses double, and shrink back after quiet times."""

    def __init__(self) -> None:
        self.attempts = 0
        self._last = float("-inf")

    def allows(self, now: float) -> bool:
        return now >= self._last + self._pause()

    def attempted(self, now: float) -> None:
        if now - self._last > 2 * self._pause() + WELL_AFTER:
            self.attempts = 0
        self.attempts += 1
        self._last = now

    def needless(self) -> None:
        """The last attempt found that nothing was amiss."""
        self.attempts = max(1, self.attempts - 1)

    def _pause(self) -> float:
        if not self.attempts:
            return 0.0
        return float(min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self.attempts - 1, 10)))


class Launcher:
    """One per client. What may wait runs on a thread of its own."""

    def __init__(
        self, settings: Settings, data_dir: Path, environ: Mapping[str, str], waiting: Waiting
    ) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._environ = spawn.environment(environ, data_dir=data_dir, address=settings.address)
        self._waiting = waiting
        self._spawned: spawn.Spawned | None = None
        self._left_alone = False
        self._startable: str | None = None
        self._closed = False
        self.after_fork()

    def after_fork(self) -> None:
        """Starts anew in a forked child; the parent's sidecar is not the child's to wait for."""
        self._beginning = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pace = Pace()
        self._renewals = Pace()
        if self._spawned is not None:
            self._spawned.disown()
            self._spawned = None

    def request(self) -> None:
        """Nobody listens: sees to it that somebody does. Never waits, never raises."""
        self._begin(self._pace, self.ensure, self._waiting.sidecar_failed)

    def met(self, version: str) -> None:
        """A sidecar of this version answers; an older one is replaced. Never waits."""
        if is_older(version, seamark.__version__):
            self.outdated()

    def outdated(self) -> bool:
        """SDK and sidecar do not understand each other; True while that is being looked into."""
        return self._begin(self._renewals, self.renew, self._not_renewed)

    def close(self) -> None:
        """Starts nothing any more."""
        self._closed = True

    def _begin(
        self, pace: Pace, work: Callable[[], None], failed: Callable[[LaunchFailed], None]
    ) -> bool:
        """Begins unless it is too soon; True while something is under way."""
        # Nobody waits here, not even a finalizer that interrupts its own thread at this place.
        if not self._beginning.acquire(blocking=False):
            return True
        try:
            now = time.monotonic()
            if self._thread is not None and self._thread.is_alive():
                return True
            if self._closed or not pace.allows(now):
                return False
            pace.attempted(now)
            thread = threading.Thread(
                target=self._work, args=(work, failed), name="seamark-launcher", daemon=True
            )
            thread.start()
            self._thread = thread
        except RuntimeError:  # No more threads, or the interpreter is leaving.
            return False
        finally:
            self._beginning.release()
        return True

    def _work(self, work: Callable[[], None], failed: Callable[[LaunchFailed], None]) -> None:
        try:
            work()
        except LaunchFailed as error:
            failed(error)
        except Exception as error:  # noqa: BLE001 - nothing may surface in the agent's process
            failed(LaunchFailed(f"the sidecar cannot be started: {error!r}"))
        else:
            self._waiting.sidecar_ready()

    def _not_renewed(self, error: LaunchFailed) -> None:
        if not self._left_alone:
            self._left_alone = True
            log.warning("seamark cannot replace a sidecar that is older than itself: %s", error)

    # What may wait; on the launcher's thread.

    def ensure(self) -> None:
        """Returns once a sidecar answers; starts one if none runs. Raises LaunchFailed."""
        end = time.monotonic() + READY_WITHIN
        with self._launching(end, unless=self._answers) as directory:
            if directory is None or not self._join_or_start(directory, end):
                self._pace.needless()

    def renew(self) -> None:
        """Puts a sidecar of this SDK's version in the place of an older one.

        Raises:
            LaunchFailed: the older one did not stop, or the new one did not start.
        """
        end = time.monotonic() + READY_WITHIN
        with self._launching(end, unless=lambda: False) as directory:
            holder = read_holder(directory) if directory is not None else None
            if directory is None or holder is None or not self._may_replace(holder):
                return
            log.info(
                "seamark replaces the sidecar %s (pid %d) by its own version %s",
                holder.version,
                holder.pid,
                seamark.__version__,
            )
            self._stop(directory, holder)
            self._join_or_start(directory, time.monotonic() + READY_WITHIN)

    @contextmanager
    def _launching(
        self, end: float, unless: Callable[[], bool]
    ) -> Iterator[PrivateDirectory | None]:
        """The data directory, while nobody else launches; None when that is needless."""
        with PrivateDirectory(self._data_dir) as directory:
            lock = directory.open(LAUNCH_LOCK_NAME, os.O_RDWR | os.O_CREAT)
            try:
                while not _locked(lock):
                    if unless():
                        yield None
                        return
                    if time.monotonic() > end:
                        raise LaunchFailed(
                            "another process has been starting the sidecar of "
                            f"{self._data_dir} for {READY_WITHIN:g} s"
                        )
                    time.sleep(_POLL)
                try:
                    yield directory
                finally:
                    # A child forked meanwhile has the descriptor too, so closing is not enough.
                    fcntl.flock(lock, fcntl.LOCK_UN)
            finally:
                os.close(lock)

    def _join_or_start(self, directory: PrivateDirectory, end: float) -> bool:
        """Waits for the sidecar that runs, or starts one and waits for that; True if it did."""
        started = False
        while not self._answers():
            holder = read_holder(directory)
            running = self._spawned is not None and self._spawned.runs
            if holder is not None and holder.address not in {"", self._settings.address}:
                raise LaunchFailed(
                    f"the sidecar of {self._data_dir} (pid {holder.pid}) listens at "
                    f"{holder.address}; set SEAMARK_ADDRESS={holder.address}, or stop it: "
                    "seamark down"
                )
            if holder is None and not running:
                words = self._spawned.last_words() if self._spawned is not None else ""
                if started:
                    raise LaunchFailed(f"the sidecar did not start: {words}")
                if words and self._pace.attempts >= KEEPS_ENDING:
                    self._waiting.sidecar_failed(LaunchFailed(f"the sidecar keeps ending: {words}"))
                self._spawned = self._start(directory)
                started = True
            if time.monotonic() > end:
                raise LaunchFailed(
                    f"the sidecar does not answer after {READY_WITHIN:g} s; see "
                    f"{self._data_dir / spawn.LOG_NAME}"
                )
            time.sleep(_POLL)
        if started and self._spawned is not None:
            log.info("seamark started the sidecar, pid %d", self._spawned.pid)
        return started

    def _start(self, directory: PrivateDirectory) -> spawn.Spawned:
        python = spawn.interpreter(self._settings.sidecar_python)
        arguments = ("--idle-exit", f"{self._settings.idle_exit:g}", "--launched")
        return spawn.start(python, arguments, self._environ, directory)

    def _answers(self) -> bool:
        """Whether somebody listens at the address; raises LaunchFailed if it is not our user."""
        try:
            endpoint.check(self._settings.address)
        except SidecarUnavailable as error:
            if error.absent:
                return False
            raise LaunchFailed(str(error)) from error
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(socket_path(self._settings.address)))
            except OSError:
                return False
            return True

    def _may_replace(self, holder: Holder) -> bool:
        """Only an older one that an SDK started, and only if what follows is not older too."""
        if not is_older(holder.version, seamark.__version__):
            return False
        why = ""
        if not holder.launched:
            why = "a person started it"
        elif is_older(self._startable_version() or "0", seamark.__version__):
            why = "no newer one can be started here"
        if why and not self._left_alone:
            self._left_alone = True
            log.info(
                "the running sidecar, version %s, is older than this seamark %s; left alone: %s",
                holder.version,
                seamark.__version__,
                why,
            )
        return not why

    def _startable_version(self) -> str:
        if self._startable is None:
            python = spawn.interpreter(self._settings.sidecar_python)
            self._startable = spawn.version_of(python, self._environ)
        return self._startable

    def _stop(self, directory: PrivateDirectory, holder: Holder) -> None:
        # 0, 1 and negative numbers name more than one process, or the wrong one.
        if holder.pid <= 1 or not _is_ours(holder.pid):
            raise LaunchFailed(f"the lock names pid {holder.pid}, which is no sidecar of yours")
        with suppress(ProcessLookupError):
            os.kill(holder.pid, signal.SIGTERM)
        end = time.monotonic() + STOPPED_WITHIN
        while (left := read_holder(directory)) is not None and left.pid in {0, holder.pid}:
            if time.monotonic() > end:
                raise LaunchFailed(
                    f"it (pid {holder.pid}) did not stop within {STOPPED_WITHIN:g} s; "
                    "stop it: seamark down --force"
                )
            time.sleep(_POLL)


def is_older(version: str, other: str) -> bool:
    """Whether a version comes before another; what cannot be read is not older."""
    mine, theirs = _numbers(version), _numbers(other)
    return mine is not None and theirs is not None and mine < theirs


def _numbers(version: str) -> list[int] | None:
    found = _NUMBERS.match(version[:40])
    if found is None:
        return None
    numbers = [int(part) for part in found.group().split(".")]
    while numbers and not numbers[-1]:  # 1.0 is 1.0.0.
        numbers.pop()
    return numbers


def _is_ours(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # Root may signal everybody; where there is /proc it tells who is who.
        return not Path("/proc/self").exists() or Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
    except OSError:
        return False


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
