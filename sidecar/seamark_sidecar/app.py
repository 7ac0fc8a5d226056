"""The composition root: the only module that knows every part."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc.aio
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from seamark import __version__
from seamark.settings import socket_path
from seamark.wire.v1 import operator_pb2_grpc, sidecar_pb2_grpc
from seamark_sidecar.api.intake import Intake
from seamark_sidecar.api.operator import OperatorServicer
from seamark_sidecar.api.servicer import SidecarServicer
from seamark_sidecar.injection.injector import Injector
from seamark_sidecar.jobs import Caretaker
from seamark_sidecar.lock import InstanceLock, prepare_data_dir
from seamark_sidecar.model.errors import AlreadyRunning, StorageUnwritable
from seamark_sidecar.promotion.promoter import Promoter
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.projects import Projects
from seamark_sidecar.sessions.sessions import Sessions
from seamark_sidecar.settings import Settings
from seamark_sidecar.store.crash_marks import CrashMarks
from seamark_sidecar.store.git_checkout import identify
from seamark_sidecar.store.sqlite_journal import SqliteJournal
from seamark_sidecar.store.sqlite_memories import SqliteMemories

log = structlog.get_logger("seamark")

GRACE = 2.0  # seconds for calls under way when the sidecar is told to stop
CLOSE = 1.0  # seconds for each file to commit what is queued
LARGEST_MESSAGE = 16 * 1024 * 1024


async def serve(settings: Settings, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Runs the sidecar until SIGTERM or SIGINT; raises SidecarError when it cannot start."""
    configure_logging(settings.log_level)
    os.umask(0o077)
    prepare_data_dir(settings.data_dir)
    with InstanceLock(settings.data_dir, address=settings.address, version=__version__):
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
    suspects = await journal.suspect(marks.take_left())
    shelves = Shelves(memories)
    projects = Projects(memories, identify, _now)
    sessions = Sessions(memories, journal, projects, marks, _now)
    injector = Injector(shelves, memories, _now)
    ending = Ending(sessions, memories, journal, shelves, Promoter(_now), injector, _now)
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
    servicer = SidecarServicer(
        intake=Intake(marks, suspects),
        sessions=sessions,
        ending=ending,
        injector=injector,
        record=memories,
        journal=journal,
        data_dir=str(settings.data_dir),
        started=_now(),
    )
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", LARGEST_MESSAGE)])
    sidecar_pb2_grpc.add_SidecarServiceServicer_to_server(servicer, server)
    operator_pb2_grpc.add_OperatorServiceServicer_to_server(
        OperatorServicer(memories, shelves, projects, _now), server
    )
    condition = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(condition, server)
    _bind(server, settings.address)
    stop = _stop_on_signals()
    await server.start()
    await condition.set("", health_pb2.HealthCheckResponse.SERVING)
    care = asyncio.create_task(caretaker.run_forever(), name="caretaker")
    log.info("ready", address=settings.address, version=__version__, pid=os.getpid())
    on_ready()
    await stop.wait()
    log.info("stopping")
    care.cancel()
    await condition.enter_graceful_shutdown()
    await server.stop(GRACE)
    await asyncio.gather(care, return_exceptions=True)
    await sessions.stop()
    socket_path(settings.address).unlink(missing_ok=True)


def configure_logging(level: str) -> None:
    """Facts as keys on standard error; ids, never contents."""
    pretty = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _bind(server: grpc.aio.Server, address: str) -> None:
    """Listens on the user's own socket; a stale one of a dead sidecar is replaced."""
    path = socket_path(address)
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
    path.unlink(missing_ok=True)
    server.add_insecure_port(address)


def _answers(path: Path) -> bool:
    """Whether a process listens there; gRPC would take the path from it in silence."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _now() -> datetime:
    return datetime.now(UTC)
