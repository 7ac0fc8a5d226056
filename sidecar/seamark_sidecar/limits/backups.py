"""Which backups of the databases are worth their place."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

MOST = 3  # of each database, the newest
MEMORY = "memory.db"
JOURNAL = "journal.db"


def remove_needless(data_dir: Path, *, now: datetime, journal_age: timedelta) -> list[str]:
    """Removes the backups that nobody needs; returns their names.

    Damaged databases that were put aside stay: only a person can say that they are of no use.
    """
    removed = []
    for path in (*_surplus(data_dir), *_forgotten(data_dir, now - journal_age)):
        path.unlink(missing_ok=True)
        removed.append(path.name)
    return removed


def backups_of(data_dir: Path, database: str) -> list[Path]:
    """The backups of a database, the newest first."""
    found = data_dir.glob(f"{database}.before-v*.bak")
    return sorted(found, key=lambda path: path.lstat().st_mtime, reverse=True)


def _surplus(data_dir: Path) -> Iterator[Path]:
    for database in (MEMORY, JOURNAL):
        yield from backups_of(data_dir, database)[MOST:]
        # Left by a crash; nobody makes one while a sidecar runs.
        yield from data_dir.glob(f"{database}.before-v*.bak.partial")


def _forgotten(data_dir: Path, before: datetime) -> Iterator[Path]:
    """Events are promised to be gone after a while, in backups too."""
    for path in backups_of(data_dir, JOURNAL)[:MOST]:
        if path.lstat().st_mtime < before.timestamp():
            yield path
