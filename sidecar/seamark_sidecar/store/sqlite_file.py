"""One SQLite file whose single writer thread shares a commit among all that wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from seamark_sidecar.model.errors import DatabaseCorrupt, StorageFull, StorageUnwritable
from seamark_sidecar.store.fault_points import fault_point
from seamark_sidecar.store.sqlite_faults import primary_code, storage_fault
from seamark_sidecar.store.sqlite_opening import Synchronous, open_database

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

# How many jobs may share a commit; more would make the first wait for the last.
LARGEST_GROUP = 64
# Bytes, as much as a batch of events may need: less would succeed where they fail again.
PROBE_SIZE = 64 * 1024
# Pages that are given back between two other jobs.
GIVEN_BACK_AT_ONCE = 256

_STORAGE_FAULTS = (StorageFull, StorageUnwritable, DatabaseCorrupt)


@dataclass(frozen=True, slots=True)
class _Job:
    work: Work[Any]
    writes: bool
    future: asyncio.Future[Any] | concurrent.futures.Future[Any]
    # None: the future belongs to no event loop.
    loop: asyncio.AbstractEventLoop | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    job: _Job
    value: Any = None
    error: BaseException | None = None


class SqliteFile:
    """One database file; everything that touches it after `open` runs in its one thread.

    A job is a function of the connection. It must not end the transaction it runs in (no
    COMMIT, no `executescript`), and the connection must not leave it.
    """

    def __init__(self, path: Path, *, migrations: Sequence[str], synchronous: Synchronous) -> None:
        self.path = path
        self._migrations = tuple(migrations)
        self._synchronous: Synchronous = synchronous
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        # Guards the order "last job, then the end" against a job that comes in between.
        self._gate = threading.Lock()
        self._is_open = False
        # Why storage refused the last write; empty again once one succeeds.
        self.fault = ""
        # Bytes that hold something, as of the last commit.
        self.used = 0

    def open(self) -> None:
        """Opens, checks and migrates the file; blocks, so call it before serving.

        Raises:
            DatabaseTooNew: a newer version wrote it; nothing was touched.
            DatabaseCorrupt: it is damaged and was put aside.
            StorageFull, StorageUnwritable: the disk or the directory does not let us.
        """
        connection = open_database(self.path, self._migrations, self._synchronous)
        self.used = _used(connection)
        self._thread = threading.Thread(
            target=self._serve, args=(connection,), name=f"writer of {self.path.name}", daemon=True
        )
        self._thread.start()
        self._is_open = True

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, once it is committed; a cancelled caller does not undo it."""
        return await self._awaitable(work, writes=True)

    async def read(self, work: Work[T]) -> T:
        """What `work` returns; it sees all that is committed, and cannot write."""
        return await self._awaitable(work, writes=False)

    def submit(self, work: Work[T]) -> concurrent.futures.Future[T]:
        """Queues a write that nobody awaits; its failure is in the future and nowhere else."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        # From here on it cannot be cancelled.
        future.set_running_or_notify_cancel()
        self._enqueue(_Job(work, True, future, None))
        return future

    async def probe(self) -> None:
        """Writes something that leaves no trace; raises SidecarError where there is no room."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("CREATE TABLE probe (filler BLOB)")
            connection.execute("INSERT INTO probe VALUES (zeroblob(?))", (PROBE_SIZE,))
            connection.execute("DROP TABLE probe")

        await self.write(write)

    async def give_back(self) -> int:
        """Returns free pages to the disk, others' jobs in between; returns their bytes."""

        def vacuum(connection: sqlite3.Connection) -> int:
            pages = min(_pragma(connection, "freelist_count"), GIVEN_BACK_AT_ONCE)
            for _ in range(pages):
                # One page for each: Python's cursor stops after the first step.
                connection.execute("PRAGMA incremental_vacuum(1)")
            return pages * _pragma(connection, "page_size")

        total = 0
        while given := await self.write(vacuum):
            total += given
        # Only this makes the files themselves smaller.
        await self.read(lambda connection: _pragma(connection, "wal_checkpoint(TRUNCATE)"))
        return total

    def close(self, timeout: float | None = None) -> bool:
        """Commits what is queued, folds the log into the file and ends the thread.

        Returns False when that took longer than `timeout` seconds; it then goes on by itself.
        """
        with self._gate:
            if self._is_open:
                self._is_open = False
                self._jobs.put(None)
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _awaitable(self, work: Work[T], *, writes: bool) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._enqueue(_Job(work, writes, future, loop))
        return future

    def _enqueue(self, job: _Job) -> None:
        with self._gate:
            if not self._is_open:
                raise StorageUnwritable(
                    f"{self.path} is not open; the sidecar is starting or stopping, try again later"
                )
            self._jobs.put(job)

    def _serve(self, connection: sqlite3.Connection) -> None:
        closing = False
        while not closing:
            group, closing = self._next_group()
            # In the order of arrival; a read ends the transaction before it, so that it never
            # sees what may still be rolled back.
            for writes, jobs in groupby(group, key=lambda job: job.writes):
                if writes:
                    outcomes = self._commit(connection, list(jobs))
                    self.fault = _fault_of(outcomes)
                    _settle(outcomes)
                else:
                    _settle([self._read(connection, job) for job in jobs])
        # When it fails, the log stays beside the file and is replayed at the next start.
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        group: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            group.append(job)
            if len(group) == LARGEST_GROUP:
                return group, False
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return group, False
        return group, True

    def _commit(self, connection: sqlite3.Connection, jobs: list[_Job]) -> list[_Outcome]:
        outcomes: list[_Outcome] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                outcomes.append(self._write(connection, job))
            used = _used(connection)
            fault_point(f"{self.path.name}.before_commit")
            connection.execute("COMMIT")
            fault_point(f"{self.path.name}.after_commit")
        except (sqlite3.Error, _TransactionEnded) as error:
            with suppress(sqlite3.Error):
                connection.rollback()
            # A job that failed for a reason of its own keeps it.
            own = {id(outcome.job): outcome for outcome in outcomes if outcome.error is not None}
            return [own.get(id(job)) or self._failed(job, error) for job in jobs]
        self.used = used
        return outcomes

    def _write(self, connection: sqlite3.Connection, job: _Job) -> _Outcome:
        connection.execute("SAVEPOINT job")
        try:
            value = job.work(connection)
        except BaseException as error:
            # Whatever it is belongs to the caller.
            if not connection.in_transaction:
                # SQLite gave up the whole transaction, as it does when the disk is full.
                raise _TransactionEnded from error
            connection.execute("ROLLBACK TO job")
            outcome = self._failed(job, error)
        else:
            outcome = _Outcome(job, value)
        if not connection.in_transaction:
            raise _TransactionEnded
        connection.execute("RELEASE job")
        return outcome

    def _read(self, connection: sqlite3.Connection, job: _Job) -> _Outcome:
        try:
            connection.execute("PRAGMA query_only=ON")
            try:
                return _Outcome(job, job.work(connection))
            finally:
                connection.rollback()
                connection.execute("PRAGMA query_only=OFF")
        except BaseException as error:  # noqa: BLE001  whatever it is belongs to the caller
            if isinstance(error, sqlite3.Error) and primary_code(error) == sqlite3.SQLITE_READONLY:
                # It tried to write, which says nothing about the disk.
                return _Outcome(job, error=error)
            return self._failed(job, error)

    def _failed(self, job: _Job, error: BaseException) -> _Outcome:
        if isinstance(error, _TransactionEnded):
            error = error.__cause__ or RuntimeError(
                f"a job on {self.path.name} ended the transaction it shared with others"
            )
        if isinstance(error, StopIteration):
            # An asyncio future refuses it, and its caller would wait for ever.
            replaced = RuntimeError(f"a job on {self.path.name} ran out of rows")
            replaced.__cause__ = error
            error = replaced
        if isinstance(error, sqlite3.Error):
            error = storage_fault(error, self.path) or error
        return _Outcome(job, error=error)


def _used(connection: sqlite3.Connection) -> int:
    pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
    return pages * _pragma(connection, "page_size")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value, *_) = connection.execute(f"PRAGMA {name}").fetchone()
    assert isinstance(value, int)
    return value


def _fault_of(outcomes: list[_Outcome]) -> str:
    for outcome in outcomes:
        if isinstance(outcome.error, _STORAGE_FAULTS):
            return str(outcome.error)
    return ""


class _TransactionEnded(Exception):
    """The shared transaction is gone, and with it what the group had written."""


def _settle(outcomes: list[_Outcome]) -> None:
    by_loop: defaultdict[asyncio.AbstractEventLoop | None, list[_Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_loop[outcome.job.loop].append(outcome)
    for loop, arrived in by_loop.items():
        if loop is None:
            _deliver(arrived)
        else:
            # A closed loop has nobody left who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_deliver, arrived)


def _deliver(outcomes: list[_Outcome]) -> None:
    for outcome in outcomes:
        future = outcome.job.future
        # Cancelled by its caller: the write stands, nobody asks for its value.
        if future.done():
            continue
        if outcome.error is None:
            future.set_result(outcome.value)
        else:
            future.set_exception(outcome.error)
