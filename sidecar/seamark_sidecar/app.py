"""The composition root: the only module that knows every part."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc.aio
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from seamark import __version__
from seamark.settings import socket_path
from seamark.wire.v1 import operator_pb2, sidecar_pb2
from seamark_sidecar.api import door
from seamark_sidecar.api.intake import Intake
from seamark_sidecar.api.observation import Observation
from seamark_sidecar.api.operator import OperatorServicer
from seamark_sidecar.api.servicer import SidecarServicer
from seamark_sidecar.api.status import StatusReport
from seamark_sidecar.idle import Idle
from seamark_sidecar.injection.injector import Injector
from seamark_sidecar.jobs import Caretaker, ModelWatch
from seamark_sidecar.limits.bounded_journal import BoundedJournal
from seamark_sidecar.limits.gauge import Gauge
from seamark_sidecar.limits.housekeeper import Housekeeper
from seamark_sidecar.limits.log_file import LogFile
from seamark_sidecar.limits.quota import Quota
from seamark_sidecar.limits.room import Room
from seamark_sidecar.lock import InstanceLock, prepare_data_dir
from seamark_sidecar.methodology import registry as methodologies
from seamark_sidecar.model.errors import AlreadyRunning, StorageUnwritable
from seamark_sidecar.models.installed import installed_model
from seamark_sidecar.observer.calls.tool_rows import TOOLS_FILE, load_rows
from seamark_sidecar.promotion.promoter import Promoter
from seamark_sidecar.retrieval.indexer import Indexer
from seamark_sidecar.retrieval.search import Search
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.groups import Groups
from seamark_sidecar.sessions.lineage import Lineage
from seamark_sidecar.sessions.outside import Outside
from seamark_sidecar.sessions.projects import Projects
from seamark_sidecar.sessions.quarantine import Quarantine
from seamark_sidecar.sessions.sessions import Sessions
from seamark_sidecar.settings import Settings
from seamark_sidecar.store.crash_marks import CrashMarks
from seamark_sidecar.store.git_checkout import identify
from seamark_sidecar.store.sqlite_journal import SqliteJournal
from seamark_sidecar.store.sqlite_memories import SqliteMemories
from seamark_sidecar.workers.index import IndexWorker
from seamark_sidecar.workers.worker import Worker

log = structlog.get_logger("seamark")

GRACE = 2.0  # seconds for calls under way when the sidecar is told to stop
FLUSH = 1.0  # seconds for the index; what is not flushed is repeated at the next start
SETTLE = 0.5  # seconds for work that no call waits for any more
CLOSE = 1.0  # seconds for each file to commit what is queued
LARGEST_MESSAGE = 16 * 1024 * 1024


async def serve(settings: Settings, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Runs the sidecar until SIGTERM or SIGINT; raises SidecarError when it cannot start."""
    configure_logging(settings.log_level)
    os.umask(0o077)
    prepare_data_dir(settings.data_dir)
    with InstanceLock(
        settings.data_dir,
        address=settings.address,
        version=__version__,
        launched=settings.launched,
    ):
        memories = SqliteMemories(settings.data_dir)
        journal = SqliteJournal(settings.data_dir)
        with contextlib.ExitStack() as files:
            memories.open()
            files.callback(memories.close, CLOSE)
            journal.open()
            files.callback(journal.close, CLOSE)
            marks = CrashMarks(settings.data_dir / "crash.marks")
            files.callback(marks.close)
            await _serve(settings, memories, journal, marks, on_ready)
    log.info("stopped")


async def _serve(
    settings: Settings,
    memories: SqliteMemories,
    journal: SqliteJournal,
    marks: CrashMarks,
    on_ready: Callable[[], None],
) -> None:
    quarantine = Quarantine(marks, await journal.suspect(marks.take_left()))
    index_worker = Worker(
        "index",
        "seamark_sidecar.index_worker",
        ["--data-dir", str(settings.data_dir)],
        memory_cap=settings.worker_memory,
        on_start=lambda: indexer.reopen(),
    )
    index = IndexWorker(index_worker)
    indexer = Indexer(memories, index)
    shelves = Shelves(memories, on_change=indexer.poke)
    search = Search(shelves, index, indexer)
    projects = Projects(memories, identify, _now)
    room = Room(
        settings.data_dir,
        memories.file,
        journal.file,
        least_free=settings.least_free,
        journal_size=settings.journal_size,
    )
    bounded = BoundedJournal(journal, room)
    outside = Outside(memories)
    rows, _ = load_rows(settings.data_dir / TOOLS_FILE)  # the doctor names what is wrong in it
    sessions = Sessions(memories, bounded, projects, quarantine, _now, outside, rows)
    groups = Groups(memories, sessions)
    injector = Injector(shelves, memories, _now, finder=search)
    ending = Ending(
        sessions,
        memories,
        journal,
        shelves,
        Promoter(_now),
        injector,
        _now,
        groups=groups,
        lineage=Lineage(memories, sessions),
        outside=outside,
    )
    caretaker = Caretaker(
        memories,
        journal,
        sessions,
        ending,
        _now,
        session_timeout=timedelta(seconds=settings.session_timeout),
        validation_timeout=timedelta(seconds=settings.validation_timeout),
        journal_age=timedelta(days=settings.journal_days),
    )
    quota = Quota(memories, journal, sessions, ending, _now, size=settings.journal_size)
    housekeeper = Housekeeper(
        settings.data_dir,
        (memories.file, journal.file),
        LogFile(settings.data_dir / "sidecar.log"),
        room,
        _now,
        journal_age=timedelta(days=settings.journal_days),
    )
    intake = Intake(quarantine)
    servicer = SidecarServicer(
        intake=intake,
        sessions=sessions,
        ending=ending,
        injector=injector,
        journal=journal,
        groups=groups,
        methodologies=methodologies.load(on_fault=_warn_of),
        report=StatusReport(
            record=memories,
            tally=intake.tally,
            sessions=sessions,
            indexer=indexer,
            gauge=Gauge(settings.data_dir, [index_worker]),
            room=room,
            data_dir=str(settings.data_dir),
            started=_now(),
        ).make,
    )
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", LARGEST_MESSAGE)])
    sidecar_service = sidecar_pb2.DESCRIPTOR.services_by_name["SidecarService"]
    operator_service = operator_pb2.DESCRIPTOR.services_by_name["OperatorService"]
    observation = Observation(sessions, memories, projects, groups)
    operator = OperatorServicer(memories, shelves, search, projects, _now, observation)
    idle = Idle()
    server.add_generic_rpc_handlers(
        (
            door.handlers(sidecar_service, idle.watching(servicer)),
            door.handlers(operator_service, idle.watching(operator)),
        )
    )
    condition = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(condition, server)
    listening = _bind(server, settings.address)
    stop = _stop_on_signals()
    await server.start()
    await condition.set("", health_pb2.HealthCheckResponse.SERVING)
    index_worker.start()
    watch = ModelWatch(lambda: installed_model(settings.data_dir), index_worker.restart)
    background = [
        asyncio.create_task(caretaker.run_forever(), name="caretaker"),
        asyncio.create_task(indexer.run_forever(), name="indexer"),
        asyncio.create_task(watch.run_forever(), name="model watch"),
        asyncio.create_task(room.run_forever(), name="room"),
        asyncio.create_task(quota.run_forever(), name="quota"),
        asyncio.create_task(housekeeper.run_forever(), name="housekeeper"),
    ]
    log.info("ready", address=settings.address, version=__version__, pid=os.getpid())
    on_ready()
    with _stopping_when_idle(
        settings.idle_exit, idle, lambda: caretaker.at_work or indexer.at_work, stop
    ):
        await stop.wait()
    log.info("stopping")
    for task in background:
        task.cancel()
    await condition.enter_graceful_shutdown()
    await server.stop(GRACE)
    await asyncio.gather(*background, return_exceptions=True)
    await sessions.stop(SETTLE)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FLUSH):
            await indexer.close()
    await index_worker.stop()
    listening.remove()


def configure_logging(level: str) -> None:
    """Facts as keys on standard error; ids, never contents."""
    pretty = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_contents,
            structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _StandardError(),
        cache_logger_on_first_use=True,
    )


def _without_contents(
    logger: object, method: str, facts: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """An exception as its type and where it came from: its message may quote what was stored."""
    if facts.pop("exc_info", None):
        error = sys.exc_info()[1]
        frames = traceback.extract_tb(error.__traceback__) if error is not None else ()
        facts["error"] = type(error).__name__
        facts["at"] = [f"{Path(each.filename).name}:{each.lineno}" for each in frames]
    return facts


class _StandardError:
    """Writes lines; a reader that went away must not disturb those who log."""

    def msg(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = msg


@dataclass(frozen=True, slots=True)
class _Listening:
    """A socket that is ours."""

    path: Path
    inode: int

    def remove(self) -> None:
        """Unless another sidecar has put its own there meanwhile."""
        with contextlib.suppress(OSError):
            if self.path.lstat().st_ino == self.inode:
                self.path.unlink()


def _bind(server: grpc.aio.Server, address: str) -> _Listening:
    """Listens on the user's own socket; a stale one of a dead sidecar is replaced."""
    path = socket_path(address)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = path.parent.stat()
        if owner.st_uid != os.geteuid() or stat.S_IMODE(owner.st_mode) & 0o077:
            raise StorageUnwritable(
                f"the socket's directory {path.parent} must be yours alone: chmod 700 {path.parent}"
            )
        if _answers(path):
            raise AlreadyRunning(
                f"another sidecar, of another data directory, listens at {path}; "
                "stop it, or set SEAMARK_ADDRESS to another path"
            )
        if os.path.lexists(path):
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise StorageUnwritable(
                    f"{path} is not a socket; move it away, or set SEAMARK_ADDRESS to another path"
                )
            path.unlink()
        server.add_insecure_port(address)
        return _Listening(path, path.lstat().st_ino)
    except (OSError, RuntimeError) as error:  # The latter is what gRPC raises.
        raise StorageUnwritable(
            f"the sidecar cannot listen at {path} ({error}); set SEAMARK_ADDRESS to another path"
        ) from error


def _answers(path: Path) -> bool:
    """Whether a process listens there; gRPC would take the path from it in silence."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


@contextlib.contextmanager
def _stopping_when_idle(
    seconds: float, idle: Idle, is_busy: Callable[[], bool], stop: asyncio.Event
) -> Iterator[None]:
    async def stop_when_idle() -> None:
        await idle.last_for(seconds, is_busy)
        log.info("idle", seconds=seconds)
        stop.set()

    if not seconds:
        yield
        return
    watch = asyncio.create_task(stop_when_idle(), name="idle")
    try:
        yield
    finally:
        watch.cancel()


def _stop_on_signals() -> asyncio.Event:
    # Whoever started this process may have blocked them for itself and all that come after.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _warn_of(fault: methodologies.Fault) -> None:
    # Not what it says, which may quote what was stored.
    log.warning("methodology_failed", plugin=fault.plugin[:64], distribution=fault.distribution)


def _now() -> datetime:
    return datetime.now(UTC)
