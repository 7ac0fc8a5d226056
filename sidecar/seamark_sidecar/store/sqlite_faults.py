"""Says what a fault of the disk or of SQLite means for people."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from seamark_sidecar.model.errors import (
    DatabaseCorrupt,
    SidecarError,
    StorageFull,
    StorageUnwritable,
)

# SQLite says FULL only for ENOSPC; a quota or a file size limit arrives as a failed write.
_FULL_CODES = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
)
_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_UNWRITABLE = {
    sqlite3.SQLITE_READONLY: "make the file and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "make the file and its directory readable and writable",
    sqlite3.SQLITE_PERM: "make the file and its directory readable and writable",
    sqlite3.SQLITE_BUSY: "close the other program that has it open",
    sqlite3.SQLITE_LOCKED: "close the other program that has it open",
    sqlite3.SQLITE_PROTOCOL: "close the other program that has it open",
    sqlite3.SQLITE_IOERR: "check the disk",
}


def result_code(error: sqlite3.Error) -> int:
    """SQLite's extended result code; 0 when Python's own binding raised."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension."""
    return result_code(error) & 0xFF


def storage_fault(error: BaseException, path: Path) -> SidecarError | None:
    """The sentence for a fault of storage, or None when the caller's own statement was wrong."""
    if isinstance(error, OSError):
        return _os_fault(error, path)
    if not isinstance(error, sqlite3.Error):
        return None
    fault: SidecarError
    code = primary_code(error)
    if result_code(error) in _FULL_CODES:
        fault = StorageFull(_no_room(path, error))
    elif code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        fault = DatabaseCorrupt(
            f"{path} is damaged ({error}); stop the sidecar and start it again: "
            "a damaged file is then put aside and nothing in it is overwritten"
        )
    elif code in _UNWRITABLE:
        fault = StorageUnwritable(f"{path} cannot be used ({error}); {_UNWRITABLE[code]}")
    else:
        return None
    fault.__cause__ = error
    return fault


def _os_fault(error: OSError, path: Path) -> SidecarError:
    fault: SidecarError
    if error.errno in _FULL_ERRNOS:
        fault = StorageFull(_no_room(path, error))
    else:
        fault = StorageUnwritable(
            f"{path} cannot be used ({error.strerror or error}); make sure that its directory "
            "exists, is yours and is writable, or set SEAMARK_DATA_DIR to another one"
        )
    fault.__cause__ = error
    return fault


def _no_room(path: Path, error: Exception) -> str:
    return (
        f"there is no room to write {path} ({error}); free some space on that disk or raise "
        "the quota; what was acknowledged before is safe"
    )
