"""Keeps a data directory to one user and one sidecar."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from seamark_sidecar.model.errors import AlreadyRunning, StorageFull, StorageUnwritable

LOCK_NAME = "sidecar.lock"

# Whoever asks who holds the lock holds it too, for an instant; that must not look like a sidecar.
_TRIES = 10
_PAUSE = 0.02

_LONGEST_RECORD = 4096


@dataclass(frozen=True, slots=True)
class Holder:
    """The sidecar that holds a data directory, as far as its lock file tells."""

    # 0 while it is still starting.
    pid: int
    address: str
    version: str
    started: datetime | None


def prepare_data_dir(path: Path) -> None:
    """Makes sure that the data directory exists and is its user's alone.

    Raises:
        StorageUnwritable: it cannot be created or written, or others could have written to it.
        StorageFull: there is no room for it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            _refuse_foreign_link(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _make_private(path, descriptor)
        finally:
            os.close(descriptor)
        everything = os.R_OK | os.W_OK | os.X_OK
        if not os.access(path, everything, effective_ids=os.access in os.supports_effective_ids):
            raise StorageUnwritable(
                f"the data directory {path} is read-only; make it writable (chmod 700 {path}) "
                "or set SEAMARK_DATA_DIR to another one"
            )
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StorageFull(
                f"there is no room for the data directory {path}; free some space on that disk"
            ) from error
        raise StorageUnwritable(
            f"the data directory {path} cannot be used ({error.strerror}); "
            "set SEAMARK_DATA_DIR to a directory of your own"
        ) from error


def _refuse_foreign_link(path: Path) -> None:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) and found.st_uid != os.geteuid():
        raise StorageUnwritable(
            f"the data directory {path} is a link that another user made (uid {found.st_uid}); "
            "remove it or set SEAMARK_DATA_DIR to a directory of your own"
        )


def _make_private(path: Path, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise StorageUnwritable(
            f"the data directory {path} belongs to another user (uid {found.st_uid}); "
            "set SEAMARK_DATA_DIR to a directory of your own"
        )
    if found.st_mode & 0o022:
        # Not tightened in silence: what is in it may already be somebody else's.
        raise StorageUnwritable(
            f"other users can write to the data directory {path} "
            f"(mode {stat.S_IMODE(found.st_mode):o}); make sure that what is in it is yours, "
            f"then run: chmod 700 {path}"
        )
    if found.st_mode & 0o077:
        os.fchmod(descriptor, found.st_mode & 0o700)


class InstanceLock:
    """Held while a sidecar runs; as a context manager. The file of a dead one is simply taken."""

    def __init__(
        self, data_dir: Path, *, address: str, version: str, launched: bool = False
    ) -> None:
        self._data_dir = data_dir
        self._address = address
        self._version = version
        self._launched = launched
        self._descriptor = -1

    def __enter__(self) -> InstanceLock:
        """Takes the lock.

        Raises:
            AlreadyRunning: another sidecar holds it; the message says which.
            StorageUnwritable: the lock file cannot be used.
        """
        descriptor = _open(self._data_dir, os.O_RDWR | os.O_CREAT)
        try:
            if not _locked(descriptor, fcntl.LOCK_EX):
                raise AlreadyRunning(_who_runs(self._data_dir, _record(descriptor)))
            self._sign(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise _unusable(self._data_dir, error) from error
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The file stays: removing it would let two sidecars lock two files of the same name.
        descriptor, self._descriptor = self._descriptor, -1
        try:
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def _sign(self, descriptor: int) -> None:
        record = {
            "pid": os.getpid(),
            "address": self._address,
            "version": self._version,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "launched": self._launched,
        }
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(record).encode(), 0)


def read_holder(data_dir: Path) -> Holder | None:
    """The sidecar that runs on a data directory; None when none does.

    Raises:
        StorageUnwritable: the lock file is not ours to believe, or cannot be read.
    """
    if not os.path.lexists(data_dir / LOCK_NAME):
        return None
    descriptor = _open(data_dir, os.O_RDONLY)
    try:
        if _locked(descriptor, fcntl.LOCK_SH, tries=1):
            return None
        return _record(descriptor)
    except OSError as error:
        raise _unusable(data_dir, error) from error
    finally:
        # Also gives back the lock.
        os.close(descriptor)


def _open(data_dir: Path, flags: int) -> int:
    path = data_dir / LOCK_NAME
    try:
        # Without O_NONBLOCK a pipe of that name would hold us here for ever.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _unusable(data_dir, error) from error
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
        return descriptor
    os.close(descriptor)
    raise StorageUnwritable(
        f"the lock file {path} is not a regular file of yours; remove it and start again"
    )


def _locked(descriptor: int, kind: int, *, tries: int = _TRIES) -> bool:
    for attempt in range(tries):
        if attempt:
            time.sleep(_PAUSE)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _record(descriptor: int) -> Holder:
    """What the holder wrote; nothing in it is taken on trust but its shape."""
    try:
        record = json.loads(os.pread(descriptor, _LONGEST_RECORD, 0))
        pid, address, version = record["pid"], record["address"], record["version"]
        started = datetime.fromisoformat(record["started"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Holder(0, "", "", None)
    if type(pid) is not int or not isinstance(address, str) or not isinstance(version, str):
        return Holder(0, "", "", None)
    return Holder(pid, address, version, started)


def _who_runs(data_dir: Path, holder: Holder) -> str:
    if not holder.pid or holder.started is None:
        return f"another sidecar is just starting or stopping on {data_dir}; try again in a moment"
    return (
        f"a sidecar already runs on {data_dir}: pid {holder.pid}, at {holder.address}, since "
        f"{holder.started:%Y-%m-%d %H:%M:%S %Z}; use it, or stop it with: seamark down"
    )


def _unusable(data_dir: Path, error: OSError) -> StorageUnwritable | StorageFull:
    path = data_dir / LOCK_NAME
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageFull(f"there is no room to write {path}; free some space on that disk")
    return StorageUnwritable(
        f"the lock file {path} cannot be used ({error.strerror}); make sure that the data "
        "directory is on a local disk and yours, or set SEAMARK_DATA_DIR to another one"
    )
