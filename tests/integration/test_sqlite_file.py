"""The one-writer SQLite file against real files, crashes and full disks."""

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from seamark_sidecar.model.errors import (
    DatabaseCorrupt,
    DatabaseTooNew,
    StorageFull,
    StorageUnwritable,
)
from seamark_sidecar.store.sqlite_file import LARGEST_GROUP, SqliteFile

NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"
TAGS = "CREATE TABLE tags (note INTEGER REFERENCES notes(id) ON DELETE CASCADE, tag TEXT)"
COLOUR = "ALTER TABLE notes ADD COLUMN colour TEXT; UPDATE notes SET colour = 'red'"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def file(path):
    file = SqliteFile(path, migrations=[NOTES, TAGS], synchronous="NORMAL")
    file.open()
    yield file
    assert file.close(5)


def add(text):
    return lambda connection: (
        connection.execute("INSERT INTO notes (text) VALUES (?)", (text,)).lastrowid
    )


def texts(connection):
    return {row[0] for row in connection.execute("SELECT text FROM notes")}


def stored(path):
    with closing(sqlite3.connect(path)) as connection:
        return texts(connection)


def make(path, *migrations, rows=()):
    file = SqliteFile(path, migrations=migrations, synchronous="NORMAL")
    file.open()
    for text in rows:
        file.submit(add(text))
    assert file.close(5)


def names(directory):
    return {entry.name for entry in directory.iterdir()}


class Held:
    """Keeps the writer busy, so that what is queued meanwhile becomes one group."""

    def __init__(self, file):
        self._file = file
        self._release = threading.Event()

    def __enter__(self):
        entered = threading.Event()

        def wait(connection):
            entered.set()
            assert self._release.wait(10)

        self._file.submit(wait)
        assert entered.wait(10)

    def __exit__(self, *error):
        self._release.set()


# --- writing and reading ---


async def test_a_write_has_reached_the_file_when_it_returns(file, path):
    assert await file.write(add("a")) == 1
    assert stored(path) == {"a"}


async def test_a_read_sees_what_was_written_before(file):
    await file.write(add("a"))
    assert await file.read(texts) == {"a"}


async def test_a_read_never_sees_what_may_still_be_rolled_back(file):
    def orphan(connection):
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute("INSERT INTO tags VALUES (999, 'orphan')")

    with Held(file):
        first = asyncio.ensure_future(file.write(add("a")))
        spoilt = asyncio.ensure_future(file.write(orphan))
        seen = asyncio.ensure_future(file.read(texts))
        await asyncio.sleep(0)
    await asyncio.gather(first, spoilt, return_exceptions=True)
    assert await seen == set()


async def test_a_read_cannot_write(file):
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await file.read(add("a"))
    await file.write(add("b"))
    assert await file.read(texts) == {"b"}


async def test_jobs_that_wait_together_share_one_commit(file):
    statements: list[str] = []
    await file.read(lambda connection: connection.set_trace_callback(statements.append))
    with Held(file):
        writes = [asyncio.ensure_future(file.write(add(str(n)))) for n in range(LARGEST_GROUP)]
        await asyncio.sleep(0)
        statements.clear()
    await asyncio.gather(*writes)
    # The first is the commit of the job that held the writer.
    assert statements.count("COMMIT") == 2
    await file.read(lambda connection: connection.set_trace_callback(None))


async def test_one_failing_job_does_not_fail_the_others_of_its_group(file, path):
    def half_done(connection):
        connection.execute("INSERT INTO notes (text) VALUES ('half')")
        raise LookupError("the job's own mistake")

    with Held(file):
        work = [add("a"), half_done, add("b"), add("a"), add("c")]
        writes = [asyncio.ensure_future(file.write(job)) for job in work]
        await asyncio.sleep(0)
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [
        int,
        LookupError,
        int,
        sqlite3.IntegrityError,
        int,
    ]
    assert stored(path) == {"a", "b", "c"}


async def test_when_the_commit_fails_every_caller_of_the_group_is_told(file, path):
    def orphan(connection):
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute("INSERT INTO tags VALUES (999, 'orphan')")

    def mistaken(connection):
        raise LookupError

    with Held(file):
        writes = [asyncio.ensure_future(file.write(job)) for job in (add("a"), mistaken, orphan)]
        await asyncio.sleep(0)
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [
        sqlite3.IntegrityError,
        LookupError,
        sqlite3.IntegrityError,
    ]
    await file.write(add("b"))
    assert stored(path) == {"b"}


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
async def test_a_job_that_ends_the_shared_transaction_is_found_out(file, end):
    with pytest.raises(RuntimeError, match="ended the transaction"):
        await file.write(lambda connection: connection.execute(end).fetchall())
    assert await file.write(add("b")) == 1


async def test_a_job_that_runs_out_of_rows_does_not_leave_its_caller_waiting(file):
    with pytest.raises(RuntimeError, match="ran out of rows"):
        await asyncio.wait_for(file.write(lambda connection: next(iter(()))), 5)


async def test_a_cancelled_caller_does_not_lose_the_write(file, path):
    with Held(file):
        caller = asyncio.ensure_future(file.write(add("a")))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
    await file.write(add("b"))
    assert stored(path) == {"a", "b"}


def test_callers_of_several_event_loops_are_all_answered(file, path):
    async def write_ten(name):
        return await asyncio.gather(*(file.write(add(f"{name}{n}")) for n in range(10)))

    loops = [
        threading.Thread(target=lambda name=name: asyncio.run(write_ten(name))) for name in "abcd"
    ]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join(10)
    assert len(stored(path)) == 40


def test_a_caller_whose_loop_is_gone_does_not_stop_the_writer(file, path):
    async def leave():
        asyncio.ensure_future(file.write(add("left"))).add_done_callback(lambda _: None)
        await asyncio.sleep(0)

    with Held(file):
        asyncio.run(leave())
    assert file.submit(add("next")).result(5)
    assert stored(path) == {"left", "next"}


def test_submit_gives_the_outcome_to_whoever_asks(file):
    assert file.submit(add("a")).result(5) == 1
    assert isinstance(file.submit(add("a")).exception(5), sqlite3.IntegrityError)


def test_a_submitted_write_cannot_be_cancelled(file, path):
    with Held(file):
        assert not file.submit(add("a")).cancel()
    assert file.submit(lambda connection: None).result(5) is None
    assert stored(path) == {"a"}


def test_closing_commits_what_is_queued_and_leaves_one_file(path):
    file = SqliteFile(path, migrations=[NOTES], synchronous="NORMAL")
    file.open()
    with Held(file):
        for n in range(500):
            file.submit(add(str(n)))
    assert file.close(10)
    assert names(path.parent) == {"memory.db"}
    assert len(stored(path)) == 500


def test_closing_does_not_wait_past_its_timeout(path):
    file = SqliteFile(path, migrations=[NOTES], synchronous="NORMAL")
    file.open()
    with Held(file):
        file.submit(add("a"))
        before = time.monotonic()
        assert not file.close(0.05)
        assert time.monotonic() - before < 2
    assert file.close(5)
    assert stored(path) == {"a"}


async def test_a_closed_file_says_so(path):
    file = SqliteFile(path, migrations=[NOTES], synchronous="NORMAL")
    assert file.close(1)
    with pytest.raises(StorageUnwritable, match="not open"):
        await file.write(add("a"))
    file.open()
    assert file.close(5)
    assert file.close(5)
    with pytest.raises(StorageUnwritable, match="not open"):
        file.submit(add("a"))


# --- opening ---


def test_nobody_else_can_read_the_files(path):
    before = os.umask(0)
    try:
        file = SqliteFile(path, migrations=[NOTES], synchronous="FULL")
        file.open()
        file.submit(add("a")).result(5)
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
        file.close(5)
    finally:
        os.umask(before)
    assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}


async def test_the_file_is_set_up_as_promised(file):
    def settings(connection):
        names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "busy_timeout")
        return [
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in (*names, "auto_vacuum")
        ]

    assert await file.read(settings) == ["wal", 1, 1, 1, 5000, 2]


def test_migrations_run_once_each_after_a_backup(path):
    make(path, NOTES, rows=["old"])
    make(path, NOTES, COLOUR, TAGS)
    make(path, NOTES, COLOUR, TAGS)
    assert names(path.parent) == {
        "memory.db",
        "memory.db.before-v2.bak",
        "memory.db.before-v3.bak",
    }
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT text, colour FROM notes").fetchall() == [("old", "red")]
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    for version in (2, 3):
        backup = path.with_name(f"memory.db.before-v{version}.bak")
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        with closing(sqlite3.connect(backup)) as connection:
            assert texts(connection) == {"old"}
            assert connection.execute("PRAGMA user_version").fetchone() == (version - 1,)


def test_a_backup_never_overwrites_another(path):
    make(path, NOTES, rows=["old"])
    path.with_name("memory.db.before-v2.bak").write_text("precious")
    make(path, NOTES, TAGS)
    assert path.with_name("memory.db.before-v2.bak").read_text() == "precious"
    assert stored(path.with_name("memory.db.before-v2-2.bak")) == {"old"}


def test_a_failing_migration_changes_nothing(path):
    make(path, NOTES, rows=["old"])
    broken = SqliteFile(
        path, migrations=[NOTES, "DELETE FROM notes; INSERT INTO nowhere VALUES (1)"],
        synchronous="NORMAL",
    )  # fmt: skip
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="nowhere"):
            broken.open()
    assert stored(path) == {"old"}
    assert names(path.parent) == {"memory.db"}
    make(path, NOTES, TAGS)


def test_rebuilding_a_table_keeps_what_refers_to_it(path):
    make(path, NOTES, TAGS, rows=["a"])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO tags VALUES (1, 'kept')")
        connection.commit()
    rebuild = (
        "CREATE TABLE new (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO new SELECT * FROM notes;"
        "DROP TABLE notes; ALTER TABLE new RENAME TO notes"
    )
    make(path, NOTES, TAGS, rebuild)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT tag FROM tags").fetchall() == [("kept",)]


def test_a_migration_that_leaves_orphans_is_refused(path):
    make(path, NOTES, TAGS, rows=["a"])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO tags VALUES (1, 'kept')")
        connection.commit()
    careless = SqliteFile(path, migrations=[NOTES, TAGS, "DELETE FROM notes"], synchronous="NORMAL")
    with pytest.raises(sqlite3.IntegrityError, match="tags"):
        careless.open()
    assert stored(path) == {"a"}


def test_a_database_of_a_newer_version_is_left_exactly_as_it_was(path):
    make(path, NOTES, TAGS, rows=["new"])
    # With a log that was never folded in, as after a crash.
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO notes (text) VALUES ('in the log')")
    writer.commit()
    parts = {part.name: part.read_bytes() for part in path.parent.iterdir()}
    writer.close()
    for name, content in parts.items():
        path.with_name(name).write_bytes(content)

    older = SqliteFile(path, migrations=[NOTES], synchronous="NORMAL")
    with pytest.raises(DatabaseTooNew, match=r"schema 2.*up to 1.*nothing was changed"):
        older.open()
    for name in ("memory.db", "memory.db-wal"):
        assert path.with_name(name).read_bytes() == parts[name]
    assert not any("bak" in name or "corrupt" in name for name in names(path.parent))


def damage(path, seed):
    content = bytearray(path.read_bytes())
    generator = random.Random(seed)
    for _ in range(40):
        content[generator.randrange(len(content))] ^= generator.randrange(1, 256)
    path.write_bytes(content)
    return bytes(content)


def test_a_damaged_database_is_put_aside_with_its_log(path):
    make(path, NOTES, rows=[f"{n} " + "x" * 500 for n in range(100)])
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 3] = b"\xff" * 4096
    path.write_bytes(content)
    log = path.with_name("memory.db-wal")
    log.write_bytes(b"whatever was in the log")

    with pytest.raises(DatabaseCorrupt) as caught:
        SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
    (aside,) = (part for part in path.parent.iterdir() if part.name.endswith("Z"))
    assert aside.name.startswith("memory.db.corrupt-")
    assert str(aside) in str(caught.value)
    assert "Start the sidecar again" in str(caught.value)
    assert aside.read_bytes() == content
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"whatever was in the log"
    assert not path.exists()
    assert not log.exists()
    make(path, NOTES, rows=["fresh"])
    assert stored(path) == {"fresh"}


def test_a_file_that_is_no_database_is_put_aside(path):
    path.write_text("my shopping list\n" * 300)
    with pytest.raises(DatabaseCorrupt, match="not a database"):
        SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
    (aside,) = (part for part in path.parent.iterdir() if part.name.endswith("Z"))
    assert aside.read_text().startswith("my shopping list")


def test_a_log_whose_database_is_empty_is_put_aside_and_not_deleted(path):
    path.touch()
    path.with_name("memory.db-wal").write_bytes(b"the only copy")
    with pytest.raises(DatabaseCorrupt, match="empty"):
        SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
    assert any(part.read_bytes() == b"the only copy" for part in path.parent.iterdir())


def test_what_was_put_aside_is_never_overwritten(path):
    contents = set()
    for n in range(3):
        path.write_text(f"garbage {n} " * 500)
        contents.add(path.read_bytes())
        with pytest.raises(DatabaseCorrupt):
            SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
    assert {
        part.read_bytes() for part in path.parent.iterdir() if "corrupt" in part.name
    } == contents


@pytest.mark.parametrize("seed", range(24))
def test_any_damage_is_either_harmless_or_named_and_kept(path, seed):
    make(path, NOTES, TAGS, rows=[f"{n} " + "x" * 300 for n in range(60)])
    content = damage(path, seed)
    file = SqliteFile(path, migrations=[NOTES, TAGS], synchronous="NORMAL")
    try:
        file.open()
    except (DatabaseCorrupt, DatabaseTooNew, StorageUnwritable):
        assert any(part.read_bytes() == content for part in path.parent.iterdir())
    else:
        assert file.close(5)


@pytest.mark.parametrize("cut", [2, 99, 100, 4095, 4096, 10_000])
def test_a_cut_database_is_named_and_kept(path, cut):
    make(path, NOTES, TAGS, rows=[f"{n} " + "x" * 300 for n in range(60)])
    os.truncate(path, cut)
    with pytest.raises(DatabaseCorrupt):
        SqliteFile(path, migrations=[NOTES, TAGS], synchronous="NORMAL").open()
    assert any(part.stat().st_size == cut for part in path.parent.iterdir())


def test_a_transaction_that_a_crash_left_behind_is_rolled_back(tmp_path, path):
    before = tmp_path / "before.db"
    with closing(sqlite3.connect(before, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size=2")
        writer.execute(NOTES)
        writer.execute("PRAGMA user_version=1")
        writer.execute("INSERT INTO notes (text) VALUES ('kept')")
        writer.execute("BEGIN")
        for n in range(200):
            writer.execute("INSERT INTO notes (text) VALUES (?)", (f"{n} " + "x" * 1000,))
        # Half of it is in the file by now, and the way back is in the journal.
        path.write_bytes(before.read_bytes())
        path.with_name("memory.db-journal").write_bytes(
            before.with_name("before.db-journal").read_bytes()
        )
    make(path, NOTES)
    assert stored(path) == {"kept"}


def test_a_missing_directory_is_named(tmp_path):
    file = SqliteFile(tmp_path / "gone" / "memory.db", migrations=[NOTES], synchronous="NORMAL")
    with pytest.raises(StorageUnwritable, match=r"gone.*SEAMARK_DATA_DIR"):
        file.open()


def test_a_link_in_place_of_the_database_is_not_followed(path):
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(b"")
    path.symlink_to(elsewhere)
    with pytest.raises(StorageUnwritable):
        SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
    assert elsewhere.read_bytes() == b""


@pytest.mark.parametrize("make_it", [os.mkdir, os.mkfifo])
def test_something_else_in_place_of_the_database_is_named(path, make_it):
    make_it(path)
    with pytest.raises(StorageUnwritable):
        SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()


# --- in processes of their own ---

PRELUDE = """
import asyncio, os, resource, sqlite3, sys
from pathlib import Path
from seamark_sidecar.store.sqlite_file import SqliteFile
from seamark_sidecar.model.errors import *
path = Path(sys.argv[1])
NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"
def add(text):
    return lambda connection: connection.execute("INSERT INTO notes (text) VALUES (?)", (text,))
"""


def run(script, path):
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + script, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("existing", [False, True])
def test_a_read_only_directory_is_named(existing):
    # Beside pytest's own directories, which other users cannot reach.
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        path = directory / "memory.db"
        if existing:
            make(path, NOTES, rows=["old"])
            if not os.geteuid():
                os.chown(path, 65534, 65534)
        directory.chmod(0o555)
        # The administrator may write anywhere, so the script becomes nobody first.
        done = run(
            """
if not os.geteuid():
    os.setegid(65534)
    os.seteuid(65534)
try:
    SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
except StorageUnwritable as error:
    print(error)
""",
            path,
        )
        directory.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert "writable" in done.stdout


async def test_a_full_database_is_named_and_works_again_when_there_is_room(file, path):
    def no_more_pages(connection):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")

    await file.write(add("before"))
    await file.write(no_more_pages)
    with pytest.raises(StorageFull, match=r"no room.*free some space"):
        await file.write(add("x" * 100_000))
    await file.write(lambda connection: connection.execute("PRAGMA max_page_count=1000000"))
    await file.write(add("after"))
    assert stored(path) == {"before", "after"}


def test_a_disk_that_fills_up_costs_nothing_that_was_acknowledged(path):
    done = run(
        """
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
file = SqliteFile(path, migrations=[NOTES], synchronous="NORMAL")
file.open()
async def fill():
    refused = 0
    for n in range(200):
        try:
            await file.write(add(f"{n} " + "x" * 5_000))
        except StorageFull:
            refused += 1
        else:
            print("stored", n)
    print("refused", refused)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
    await file.write(add("200 "))
    print("stored", 200)
asyncio.run(fill())
file.close(5)
""",
        path,
    )
    assert done.returncode == 0, done.stderr
    acknowledged = {line.split()[1] for line in done.stdout.splitlines() if "stored" in line}
    assert "refused 0" not in done.stdout
    assert len(acknowledged) > 10
    assert {text.split()[0] for text in stored(path)} == acknowledged


def test_a_full_disk_at_the_first_start_is_named(path):
    done = run(
        """
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    SqliteFile(path, migrations=[NOTES], synchronous="NORMAL").open()
except StorageFull as error:
    print(error)
""",
        path,
    )
    assert "no room" in done.stdout, done.stderr


WRITE_FOR_EVER = """
file = SqliteFile(path, migrations=[NOTES], synchronous=sys.argv[2])
file.open()
async def one(name):
    n = 0
    while True:
        text = f"{os.getpid()}-{name}-{n}"
        await file.write(add(text))
        os.write(1, text.encode() + b"\\n")
        n += 1
async def all():
    await asyncio.gather(*(one(name) for name in range(20)))
asyncio.run(all())
"""


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_nothing_acknowledged_is_missing_after_a_kill(path, synchronous):
    acknowledged = set()
    for cycle in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + WRITE_FOR_EVER, str(path), synchronous],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        with writer.stdout as output:
            first = output.readline()
            threading.Timer(0.1 + cycle * 0.07, writer.kill).start()
            lines = [first, *output.readlines()]
        assert writer.wait(10) == -9
        # The last line may be cut; only whole ones were said.
        acknowledged |= {line.decode().strip() for line in lines if line.endswith(b"\n")}
        assert len(lines) > 20
        file = SqliteFile(path, migrations=[NOTES], synchronous="FULL")
        file.open()
        kept = asyncio.run(file.read(texts))
        file.close(5)
        assert acknowledged <= kept
