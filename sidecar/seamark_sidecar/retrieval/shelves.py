"""The shelves of all projects, each loaded when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from seamark_sidecar.model.memory import Memory
from seamark_sidecar.retrieval.shelf import Shelf


class Memories(Protocol):
    """What a shelf is filled from."""

    async def of_project(self, project_id: str) -> list[Memory]: ...


class Shelves:
    """One shelf for each project that was asked for."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._shelves: dict[str, Shelf] = {}
        self._filling = asyncio.Lock()

    async def of(self, project_id: str) -> Shelf:
        """The project's shelf."""
        shelf = self._shelves.get(project_id)
        if shelf is not None:
            return shelf
        async with self._filling:
            if project_id not in self._shelves:
                self._shelves[project_id] = Shelf(await self._memories.of_project(project_id))
            return self._shelves[project_id]

    async def put(self, memories: Iterable[Memory]) -> None:
        """Makes stored memories findable."""
        for memory in memories:
            (await self.of(memory.project_id)).put(memory)
