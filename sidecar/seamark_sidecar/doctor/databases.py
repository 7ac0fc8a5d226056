"""Checks of the databases while no sidecar has them open."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from seamark_sidecar.doctor.finding import State, Verdict, fail, ok, warn
from seamark_sidecar.doctor.place import Place
from seamark_sidecar.store import record_schema, sqlite_journal

# The version of each schema that this sidecar writes.
NEWEST: Mapping[str, int] = MappingProxyType({
    "memory.db": len(record_schema.MIGRATIONS),
    "journal.db": len(sqlite_journal.MIGRATIONS),
})  # fmt: skip
CHECKED_FOR = 0.5  # seconds for each; a sidecar checks the rest when it starts
_STEPS = 10_000  # of SQLite's machine, between two looks at the clock


def soundness(place: Place) -> Verdict:
    """They can be opened by this version, and hold together."""
    if place.holder() is not None:
        return ok("in use; the sidecar checked them when it started")
    verdicts = [
        _look_at(place.data_dir / name, newest)
        for name, newest in NEWEST.items()
        if (place.data_dir / name).exists()
    ]
    # Whoever started meanwhile was writing to them.
    if place.holder() is not None:
        return ok("in use by a sidecar that has just started")
    if not verdicts:
        return ok("none yet")
    for state in (State.FAIL, State.WARN):
        if bad := [each for each in verdicts if each.state is state]:
            what = "; ".join(each.what for each in bad)
            return Verdict(state, what, "; ".join(dict.fromkeys(each.todo for each in bad)))
    return ok("; ".join(each.what for each in verdicts))


def last_seq(database: Path) -> int | None:
    """The last change of the record; None when it cannot be read without a sidecar."""
    if _log_size(database) or not database.exists():
        return None
    try:
        with closing(_opened(database)) as connection:
            row = connection.execute("SELECT last_seq FROM changes").fetchone()
            return int(row[0])
    except (sqlite3.Error, TypeError, ValueError):
        return None


def _look_at(path: Path, newest: int) -> Verdict:
    name = path.name
    if log := _log_size(path):
        # Replaying the log would change files, which is the sidecar's to do.
        return ok(f"{name} was left by a crash; {log // 1000 + 1} kB of its log are replayed")
    if not path.stat().st_size:
        return ok(f"{name} is empty")
    try:
        with closing(_opened(path)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > newest:
                return fail(
                    f"{name} is of a newer version (schema {version}, known up to {newest})",
                    "install that version again, or put a backup "
                    f"({name}.before-v*.bak) in its place",
                )
            found = list(_errors(connection))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        found = [str(error)]
    if found:
        return fail(
            f"{name} is damaged ({found[0]})",
            "start the sidecar: it puts the file aside and says where; before that, a backup "
            f"({name}.before-v*.bak) can be put in its place",
        )
    if version < newest:
        return warn(
            f"{name} is of an older version (schema {version} of {newest})",
            "nothing; the next start makes a backup and brings it up to date",
        )
    return ok(f"{name} is sound")


def _errors(connection: sqlite3.Connection) -> Iterator[str]:
    end = time.monotonic() + CHECKED_FOR
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return
        raise
    if verdict != "ok":
        yield verdict


def _opened(path: Path) -> sqlite3.Connection:
    # Immutable: not even the files that a reader needs are made. Right only without a log.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _log_size(path: Path) -> int:
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except OSError:
        return 0
