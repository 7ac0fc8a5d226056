"""Which backups stay."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from seamark_sidecar.limits.backups import backups_of, remove_needless

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
WEEK = timedelta(days=7)


@pytest.fixture
def make(tmp_path):
    """Makes a file that is so many days old."""

    def make(name, days):
        path = tmp_path / name
        path.write_text(name)
        seconds = (NOW - timedelta(days=days)).timestamp()
        os.utime(path, (seconds, seconds))

    return make


def left(directory):
    return sorted(path.name for path in directory.iterdir())


def test_the_newest_three_backups_of_a_database_stay(tmp_path, make):
    for number in range(2, 7):
        make(f"memory.db.before-v{number}.bak", days=100 - number)
    removed = remove_needless(tmp_path, now=NOW, journal_age=WEEK)
    assert sorted(removed) == ["memory.db.before-v2.bak", "memory.db.before-v3.bak"]
    assert left(tmp_path) == [f"memory.db.before-v{number}.bak" for number in (4, 5, 6)]


def test_a_backup_of_the_journal_is_kept_no_longer_than_events(tmp_path, make):
    make("journal.db.before-v2.bak", days=8)
    make("journal.db.before-v3.bak", days=6)
    assert remove_needless(tmp_path, now=NOW, journal_age=WEEK) == ["journal.db.before-v2.bak"]


def test_unfinished_backups_are_removed(tmp_path, make):
    make("memory.db.before-v2.bak.partial", days=0)
    assert remove_needless(tmp_path, now=NOW, journal_age=WEEK)
    assert left(tmp_path) == []


def test_databases_and_what_was_put_aside_are_never_touched(tmp_path, make):
    names = [
        *("memory.db", "memory.db-wal", "journal.db", "sidecar.log"),
        *(f"memory.db.corrupt-2026010{day}T000000Z" for day in range(1, 9)),
        "memory.db.corrupt-20260101T000000Z-wal",
    ]
    for name in names:
        make(name, days=1000)
    assert remove_needless(tmp_path, now=NOW, journal_age=WEEK) == []
    assert left(tmp_path) == sorted(names)


def test_backups_are_listed_the_newest_first(tmp_path, make):
    make("memory.db.before-v2.bak", days=1)
    make("memory.db.before-v3.bak", days=5)
    assert [path.name[-7:] for path in backups_of(tmp_path, "memory.db")] == ["-v2.bak", "-v3.bak"]
