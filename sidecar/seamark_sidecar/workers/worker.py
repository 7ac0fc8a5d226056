"""A worker as the sidecar sees it: asked with a deadline, restarted when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil
import structlog

from seamark_sidecar.model.errors import WorkerBusy, WorkerFault, WorkerGone, WorkerTooSlow
from seamark_sidecar.workers import frames
from seamark_sidecar.workers.program import CHANNEL

log = structlog.get_logger("seamark.workers")

MOST_IN_FLIGHT = 64
FIRST_BACKOFF = 0.1  # seconds
LONGEST_BACKOFF = 5.0
HEALTHY_AFTER = 10.0  # seconds of life after which the next restart is at once again
MEMORY_CHECK = 5.0
STOP_WAIT = 1.0


class Worker:
    """One supervised process that answers requests over a socket pair."""

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str] = (),
        *,
        memory_cap: int,
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.restarts = 0
        self._command = (sys.executable, "-I", "-m", module, *arguments)
        self._memory_cap = memory_cap
        self._on_start = on_start
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._supervision: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        return self._process.pid if self._process and self._writer else None

    @property
    def in_flight(self) -> int:
        """Requests that wait for an answer."""
        return len(self._waiting)

    def start(self) -> None:
        """Starts the process and keeps it running."""
        self._supervision = asyncio.create_task(self._supervise(), name=f"worker {self.name}")

    def restart(self) -> None:
        """Ends the process; supervision starts it anew."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def stop(self) -> None:
        """Ends the process."""
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.gather(self._supervision, return_exceptions=True)

    async def ask(self, method: str, within: float, **arguments: Any) -> Any:
        """The answer, within so many seconds.

        Raises:
            WorkerBusy: too many requests wait already.
            WorkerGone: it is not running, or died before it answered.
            WorkerTooSlow: the deadline passed.
            WorkerFault: it answered with an error, or with garbage.
        """
        writer = self._writer
        if writer is None:
            raise WorkerGone(f"the {self.name} worker is not running; it is being started")
        if len(self._waiting) >= MOST_IN_FLIGHT:
            raise WorkerBusy(f"the {self.name} worker has {MOST_IN_FLIGHT} requests to answer")
        self._next_id += 1
        request_id = self._next_id
        deadline = time.monotonic() + within
        frame = frames.pack(request_id, [method, arguments, deadline])
        answer = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            writer.write(frame)
            async with asyncio.timeout(within):
                return await answer
        except TimeoutError:
            raise WorkerTooSlow(
                f"the {self.name} worker did not answer {method} within {within:g} s"
            ) from None
        finally:
            self._waiting.pop(request_id, None)

    async def _supervise(self) -> None:
        backoff = 0.0
        while True:
            started = time.monotonic()
            try:
                await self._run_once()
            except (OSError, frames.BadFrame) as error:
                log.warning("worker_failed", worker=self.name, reason=str(error))
            if time.monotonic() - started > HEALTHY_AFTER:
                backoff = 0.0
            log.warning("worker_ended", worker=self.name, restarts=self.restarts)
            await asyncio.sleep(backoff)
            backoff = min(LONGEST_BACKOFF, max(FIRST_BACKOFF, backoff * 2))
            self.restarts += 1

    async def _run_once(self) -> None:
        """One life of the process; returns or raises when it ends."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                CHANNEL,
                str(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
            )
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        self._writer = writer
        tasks = [asyncio.create_task(self._watch_memory(self._process.pid))]
        self._on_start()
        try:
            await self._read_answers(reader)
        finally:
            self._writer = None
            for task in tasks:
                task.cancel()
            self._give_up_waiting()
            writer.close()
            await self._end(self._process)
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read_answers(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionResetError):
            while True:
                length, request_id = frames.header(await reader.readexactly(frames.HEADER.size))
                ok, value = frames.answer(await reader.readexactly(length))
                waiting = self._waiting.get(request_id)
                if waiting is None or waiting.done():
                    continue
                if ok:
                    waiting.set_result(value)
                else:
                    waiting.set_exception(WorkerFault(f"the {self.name} worker failed: {value}"))

    async def _watch_memory(self, pid: int) -> None:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            while True:
                if process.memory_info().rss > self._memory_cap:
                    log.warning("worker_too_large", worker=self.name, cap=self._memory_cap)
                    process.kill()
                    return
                await asyncio.sleep(MEMORY_CHECK)

    def _give_up_waiting(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(WorkerGone(f"the {self.name} worker died; ask again"))

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """The closed channel ends it; a process that does not heed that is killed."""
        try:
            async with asyncio.timeout(STOP_WAIT):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
