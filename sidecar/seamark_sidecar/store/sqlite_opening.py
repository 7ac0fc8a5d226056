"""Brings one SQLite file into service: checked, migrated, and never overwritten."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from seamark_sidecar.model.errors import DatabaseCorrupt, DatabaseTooNew, StorageUnwritable
from seamark_sidecar.store.sqlite_faults import result_code, storage_fault

Synchronous = Literal["FULL", "NORMAL"]

BUSY_TIMEOUT = 5.0

# The database last: without its companions it stays readable, a companion alone would be
# replayed into, or deleted by, whatever database is created next under the old name.
_PARTS = ("-wal", "-shm", "-journal", "")

_SETTINGS = (
    f"busy_timeout={BUSY_TIMEOUT * 1000:.0f}",
    "secure_delete=ON",
    # The log keeps its largest size for good otherwise.
    f"journal_size_limit={64 * 1024 * 1024}",
)


def open_database(
    path: Path, migrations: Sequence[str], synchronous: Synchronous
) -> sqlite3.Connection:
    """A connection in autocommit mode to a sound database of the newest schema.

    Raises:
        DatabaseTooNew: a newer version wrote it; nothing was touched.
        DatabaseCorrupt: it is damaged and was put aside.
        StorageFull, StorageUnwritable: the disk or the directory does not let us.
    """
    try:
        is_new = _ensure_file(path)
        if not is_new:
            _examine(path, len(migrations))
        return _connect(path, migrations, synchronous, is_new=is_new)
    except (OSError, sqlite3.Error) as error:
        if (fault := storage_fault(error, path)) is None:
            raise
        raise fault from error


def _ensure_file(path: Path) -> bool:
    """Creates the file for its owner only; True when it has no content yet."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise StorageUnwritable(f"{path} is not a regular file; move it out of the way")
        if stat.S_IMODE(found.st_mode) != 0o600:
            os.fchmod(descriptor, 0o600)
        is_new = found.st_size == 0
    finally:
        os.close(descriptor)
    log = _part(path, "-wal")
    if is_new and log.exists() and log.stat().st_size > 0:
        # SQLite would delete the log, and with it the only copy of what was written last.
        raise _put_aside(path, "the database is empty but its write-ahead log is not")
    if is_new:
        _sync_directory(path.parent)
    return is_new


def _examine(path: Path, known_version: int) -> None:
    # Read-only, so that a database of a newer version is left exactly as it was.
    try:
        with closing(sqlite3.connect(_uri(path, "ro"), timeout=BUSY_TIMEOUT, uri=True)) as reader:
            _check(reader, path, known_version)
    except sqlite3.OperationalError as error:
        if result_code(error) != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
        # A crash left a transaction that only a writer can roll back.
        with closing(sqlite3.connect(_uri(path, "rw"), timeout=BUSY_TIMEOUT, uri=True)) as writer:
            _check(writer, path, known_version)


def _check(connection: sqlite3.Connection, path: Path, known_version: int) -> None:
    # What a damaged file is quoted with need not be text.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    version = 0
    try:
        version = _user_version(connection)
        if version > known_version:
            raise DatabaseTooNew(
                f"{path} was written by a newer version of Seamark (schema {version}; this one "
                f"knows up to {known_version}); nothing was changed. Install that version again, "
                f"or put a backup named {path.name}.before-v*.bak in its place"
            )
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        fault = storage_fault(error, path)
        # The machine's fault, not the file's.
        if fault is not None and not isinstance(fault, DatabaseCorrupt):
            raise
        verdict = str(error)
    except UnicodeDecodeError as error:
        # Python could not even form SQLite's message, which quotes what it found.
        verdict = error.object.decode("utf-8", "replace")
    if version < 0:
        verdict = f"schema version {version}"
    if verdict != "ok":
        connection.close()
        raise _put_aside(path, verdict)


def _connect(
    path: Path, migrations: Sequence[str], synchronous: Synchronous, *, is_new: bool
) -> sqlite3.Connection:
    connection = sqlite3.connect(
        _uri(path, "rw"),
        timeout=BUSY_TIMEOUT,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    try:
        if is_new:
            # Cannot be chosen later without rewriting the whole file.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":
            raise StorageUnwritable(
                f"the file system of {path} has no write-ahead log (journal mode {mode}); "
                "set SEAMARK_DATA_DIR to a local disk"
            )
        for setting in (*_SETTINGS, f"synchronous={synchronous}"):
            connection.execute(f"PRAGMA {setting}")
        _migrate(connection, path, migrations)
        connection.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    # Off outside the transaction: rebuilding a table would otherwise delete what refers to it.
    connection.execute("PRAGMA foreign_keys=OFF")
    # Nothing is worth a backup in a database that was made just now.
    is_fresh = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
    for version in range(_user_version(connection) + 1, len(migrations) + 1):
        backup = None if is_fresh else _back_up(connection, path, version)
        try:
            # Left open by the script, so that checks and version are part of one transaction.
            connection.executescript(f"BEGIN IMMEDIATE;\n{migrations[version - 1]}\n;")
            if (orphan := connection.execute("PRAGMA foreign_key_check").fetchone()) is not None:
                raise sqlite3.IntegrityError(
                    f"migration {version} of {path.name} leaves rows of {orphan[0]} that refer "
                    f"to nothing in {orphan[2]}"
                )
            connection.execute(f"PRAGMA user_version={version}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # Equal to the database, and one more would pile up at each start.
            if backup is not None:
                backup.unlink()
            raise


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    backup = _unused(path, f"before-v{version}", ".bak")
    partial = backup.with_name(backup.name + ".partial")
    # Unfinished by its name; left by a crash.
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(_uri(partial, "rw"), uri=True)) as copy:
            connection.backup(copy)
        descriptor = os.open(partial, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        partial.rename(backup)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)
    return backup


def _put_aside(path: Path, found: str) -> DatabaseCorrupt:
    target = _unused(path, f"corrupt-{datetime.now(UTC):%Y%m%dT%H%M%SZ}", "")
    for suffix in _PARTS:
        part = _part(path, suffix)
        if part.exists():
            part.rename(_part(target, suffix))
    _sync_directory(path.parent)
    shown = found.encode("unicode_escape").decode()
    return DatabaseCorrupt(
        f"{path} is damaged ({shown}). It was moved to {target} and nothing was overwritten. "
        "Start the sidecar again to begin with an empty database; before that, to keep the old "
        f"one, put a backup ({path.name}.before-v*.bak) in its place, or save what can be read: "
        f"sqlite3 {target} .recover"
    )


def _unused(path: Path, label: str, ending: str) -> Path:
    """A name beside the database that no file has, nor any of its companions."""
    count = 1
    while True:
        again = "" if count == 1 else f"-{count}"
        candidate = path.with_name(f"{path.name}.{label}{again}{ending}")
        if not any(os.path.lexists(_part(candidate, suffix)) for suffix in _PARTS):
            return candidate
        count += 1


def _user_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert isinstance(version, int)
    return version


def _part(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
