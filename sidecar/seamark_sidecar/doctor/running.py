"""Checks of the sidecar that runs: its lock, its socket, and what it says of itself."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

from seamark import __version__, endpoint
from seamark.codec import WIRE
from seamark.errors import SidecarUnavailable
from seamark.settings import LONGEST_SOCKET_PATH, socket_path
from seamark_sidecar.doctor.finding import Verdict, fail, ok, warn
from seamark_sidecar.doctor.place import Place
from seamark_sidecar.lock import LOCK_NAME

MANY_RESTARTS = 3
CONNECTED_WITHIN = 0.5  # seconds
UNKNOWN = "known only while a sidecar answers"


def lock(place: Place) -> Verdict:
    """One sidecar holds the data directory, or none."""
    holder = place.holder()
    path = place.data_dir / LOCK_NAME
    if holder is None:
        left = path.read_bytes() if path.exists() else b""
        if not left:
            return ok("free")
        return warn(
            f"free, but a sidecar{_pid_in(left)} was killed or crashed while it held it",
            f"see {place.data_dir / 'sidecar.log'}; the next start takes it over",
        )
    if not holder.pid or holder.started is None:
        return warn("a sidecar is just starting or stopping", "try again in a moment")
    since = f"{holder.started:%Y-%m-%d %H:%M:%S %Z}"
    return ok(f"held by pid {holder.pid}, version {holder.version}, since {since}")


def listening(place: Place) -> Verdict:
    """The socket is the user's alone, and somebody listens if a sidecar runs."""
    path = socket_path(place.settings.address)
    length = f"{path} ({len(os.fsencode(path))} of {LONGEST_SOCKET_PATH} bytes)"
    holder = place.holder()
    try:
        endpoint.check(place.settings.address)
    except SidecarUnavailable as error:
        if not error.absent:
            return fail(str(error), _elsewhere(path))
        if holder is not None and holder.address in {"", place.settings.address}:
            return fail(
                f"pid {holder.pid} runs, but {path} is gone",
                "restart it: seamark down; seamark up -d",
            )
        return _absent(path, place.data_dir, length)
    if _is_answered(path):
        return ok(length)
    if holder is not None and holder.address == place.settings.address:
        return fail(
            f"pid {holder.pid} runs, but does not listen at {path}",
            "restart it: seamark down --force; seamark up -d",
        )
    return warn(
        f"{path} was left by a sidecar that is gone",
        "nothing; the next start replaces it",
    )


def sidecar(place: Place) -> Verdict:
    """It answers, and is of this version."""
    status = place.status
    if status is not None:
        what = f"{status.sidecar_version}, pid {status.process_id}, in {status.data_dir}"
        restart = "restart it: seamark down; seamark up -d"
        if not status.oldest_wire <= WIRE <= status.newest_wire:
            return fail(
                f"{what} speaks wire {status.oldest_wire} to {status.newest_wire}, this SDK {WIRE}",
                restart,
            )
        if not _is_same(status.data_dir, place.data_dir):
            return fail(
                f"{what}, not of {place.data_dir}",
                "set SEAMARK_ADDRESS and SEAMARK_DATA_DIR of one and the same sidecar",
            )
        if status.sidecar_version != __version__:
            return warn(f"{what}; this command and SDK are {__version__}", restart)
        return ok(f"{what}, the same version as this command and SDK")
    holder = place.holder()
    if holder is None:
        return ok("does not run")
    if holder.address not in {"", place.settings.address}:
        return fail(
            f"pid {holder.pid} listens at {holder.address}",
            f"set SEAMARK_ADDRESS={holder.address}, or stop it: seamark down",
        )
    # Its advice is for other commands.
    silence = place.answer.silence.partition("; ")[0]
    return fail(silence, "restart it: seamark down --force; seamark up -d")


def learning(place: Place) -> Verdict:
    """What agents report is taken in."""
    if place.status is None:
        return ok(UNKNOWN)
    if why := place.status.learning_stop_reason:
        return fail(f"stopped: {why}", "see `disk space`; it goes on by itself with room again")
    return ok(f"{place.status.event_count:,} events since the start")


def processes(place: Place) -> Verdict:
    """The workers run, and keep running."""
    if place.status is None:
        return ok(UNKNOWN)
    family = place.status.processes
    what = ", ".join(f"{each.name} {each.resident_bytes / 1e6:,.0f} MB" for each in family)
    todo = f"see {place.data_dir / 'sidecar.log'} for why"
    for each in family:
        if each.restart_count >= MANY_RESTARTS:
            return warn(f"{what}; {each.name} was restarted {each.restart_count} times", todo)
        if not each.process_id:
            return warn(f"{what}; {each.name} is being restarted", todo)
    return ok(what)


def agents(place: Place) -> Verdict:
    """Nothing that agents report is lost on the way."""
    if place.status is None:
        return ok(UNKNOWN)
    sessions = place.status.sessions
    what = f"{len(sessions)} session{'' if len(sessions) == 1 else 's'} in use"
    if skipping := sum(each.breaker_open for each in sessions):
        return warn(
            f"{what}; {skipping} skip calls because answers came too late",
            "see whether the machine is overloaded, or raise SEAMARK_STEP_MS",
        )
    if dropped := sum(each.dropped_count for each in sessions):
        return warn(
            f"{what}; {dropped:,} events found the buffer of their agent full",
            "raise SEAMARK_BUFFER where the agent runs",
        )
    return ok(what)


def _absent(path: Path, data_dir: Path, length: str) -> Verdict:
    """Nobody listens; but whoever starts must be able to."""
    if path.parent != data_dir and path.parent.is_dir():
        found = path.parent.stat()
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            return fail(
                f"{path.parent} must be yours alone to listen there",
                f"run: chmod 700 {path.parent}, or set SEAMARK_ADDRESS to another path",
            )
    return ok(f"free: {length}")


def _elsewhere(path: Path) -> str:
    return f"find out what {path} is; to listen elsewhere, set SEAMARK_ADDRESS"


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECTED_WITHIN)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _is_same(named: str, path: Path) -> bool:
    try:
        return path.samefile(named)
    except OSError:
        return named == str(path)


def _pid_in(record: bytes) -> str:
    try:
        pid = json.loads(record)["pid"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" (pid {pid})" if type(pid) is int else ""
