"""A session that is in use: its state, and the one task that touches it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar

from seamark.events import Event, MemoryRecorded
from seamark_sidecar.model.errors import SessionClosed
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.observer.scratchpad import Scratchpad

T = TypeVar("T")


class Marks(Protocol):
    """What outlives a crash and says which event was being looked at."""

    def at_work_on(self, name: str) -> AbstractContextManager[None]: ...


def event_name(session_id: str, producer_id: str, sequence: int) -> str:
    """The name of an event in one word."""
    return f"{session_id}/{producer_id}/{sequence}"


class LiveSession:
    """Handlers hand their work to the session's task, which does one piece after the other."""

    def __init__(self, record: SessionRecord, marks: Marks, now: datetime) -> None:
        self.record = record
        self.last_seen = now
        self._marks = marks
        self._pad = Scratchpad(root=record.root)
        self._queue: asyncio.Queue[tuple[Callable[[], Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._task = asyncio.create_task(self._work(), name=f"session {record.id}")

    @property
    def pad(self) -> Scratchpad:
        """What is known of the session; read it on the session's own task."""
        return self._pad

    # What deciding on injections needs to see.

    @property
    def records(self) -> Sequence[MemoryRecorded]:
        return self._pad.records

    def in_sight(self) -> Sequence[str]:
        return self._pad.in_sight()

    def files_of(self, call_id: str) -> Sequence[str]:
        use = self._pad.use(call_id)
        return use.files if use is not None else ()

    def apply(self, events: Iterable[Event]) -> int:
        """Takes events in; returns how many were new. Only on the session's own task."""
        new = 0
        for event in events:
            name = event_name(self.record.id, event.producer_id, event.sequence)
            with self._marks.at_work_on(name):
                new += self._pad.apply(event)
        return new

    async def take(self, events: Sequence[Event]) -> int:
        """Applies events after all that was handed in before."""

        async def apply() -> int:
            return self.apply(events)

        return await self.run(apply)

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Does the work on the session's task, after all that was handed in before."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((work, done))
        return await done

    async def stop(self) -> None:
        """Ends the task; what is still queued is not done, and its askers are told so."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        while not self._queue.empty():
            _, done = self._queue.get_nowait()
            if not done.done():
                done.set_exception(SessionClosed("the session has ended; start a new one"))

    async def _work(self) -> None:
        while True:
            work, done = await self._queue.get()
            try:
                value = await work()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked for the work
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(value)
