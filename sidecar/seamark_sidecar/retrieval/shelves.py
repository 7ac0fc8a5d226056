"""The shelves of all projects, each loaded when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from seamark_sidecar.model.memory import Memory
from seamark_sidecar.retrieval.shelf import Found, Shelf


class Memories(Protocol):
    """What a shelf is filled from."""

    async def of_project(self, project_id: str) -> list[Memory]: ...


class Shelves:
    """One shelf for each project that was asked for."""

    def __init__(self, memories: Memories, *, on_change: Callable[[], None] = lambda: None) -> None:
        self._memories = memories
        self._on_change = on_change
        self._shelves: dict[str, Shelf] = {}
        self._filling = asyncio.Lock()

    async def of(self, project_id: str) -> Shelf:
        """The project's shelf."""
        shelf = self._shelves.get(project_id)
        if shelf is not None:
            return shelf
        async with self._filling:
            if project_id not in self._shelves:
                memories = await self._memories.of_project(project_id)
                # In a thread: thousands of memories are indexed, and others wait for answers.
                self._shelves[project_id] = await asyncio.to_thread(Shelf, memories)
            return self._shelves[project_id]

    async def put(self, memories: Iterable[Memory]) -> None:
        """Makes stored memories findable."""
        for memory in memories:
            (await self.of(memory.project_id)).put(memory)
        self._on_change()

    async def find(
        self,
        project_id: str,
        query: str,
        *,
        types: Sequence[str] = (),
        files: Sequence[str] = (),
        limit: int,
    ) -> list[Found]:
        """Memories that share words with the query, best first."""
        shelf = await self.of(project_id)
        return shelf.search(query, types=types, files=files, limit=limit)
