"""One piece of work after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Lane:
    """Does what it is handed in the order it was handed in, on a task of its own.

    Work that was handed in is done to its end, also when whoever asked for it waits no longer:
    a client's deadline never leaves something half done.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: deque[tuple[Callable[[], Awaitable[Any]], asyncio.Future[Any]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """What the work returns, after all that was handed in before."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name=self._name)
        return await done

    async def settled(self) -> None:
        """Waits until there is nothing left to do."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _work(self) -> None:
        while self._waiting:
            work, done = self._waiting.popleft()
            try:
                value = await work()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked for the work
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(value)
        self._task = None
