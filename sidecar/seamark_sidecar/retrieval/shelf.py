"""A project's memories at hand: by name, by file and by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seamark_sidecar.model.memory import Memory
from seamark_sidecar.retrieval.keyword import KeywordIndex


@dataclass(frozen=True, slots=True)
class Found:
    """A memory with how well it fits."""

    memory: Memory
    score: float


class Shelf:
    """Answers at once, without touching a disk."""

    def __init__(self, memories: Iterable[Memory] = ()) -> None:
        # The latest change that is on it.
        self.newest = 0
        self._memories: dict[str, Memory] = {}
        self._by_file: dict[str, dict[str, None]] = {}
        self._words = KeywordIndex()
        for memory in memories:
            self.put(memory)

    def __len__(self) -> int:
        return len(self._memories)

    def __iter__(self) -> Iterator[Memory]:
        return iter(self._memories.values())

    def get(self, memory_id: str) -> Memory | None:
        """The memory of this id."""
        return self._memories.get(memory_id)

    def put(self, memory: Memory) -> None:
        """Adds a memory, or replaces an earlier version of it."""
        earlier = self._memories.get(memory.id)
        if earlier is not None:
            for path in earlier.files:
                self._by_file[path].pop(memory.id, None)
        self._memories[memory.id] = memory
        self.newest = max(self.newest, memory.seq)
        for path in memory.files:
            self._by_file.setdefault(path, {})[memory.id] = None
        self._words.put(memory.id, " ".join((memory.content, *memory.files, *memory.tags)))

    def about(self, path: str) -> list[Memory]:
        """Memories of a file, the surest first."""
        names = self._by_file.get(path, ())
        found = [self._memories[name] for name in names]
        return sorted(found, key=lambda memory: (-memory.confidence, memory.id))

    def search(
        self, query: str, *, types: Sequence[str] = (), files: Sequence[str] = (), limit: int = 8
    ) -> list[Found]:
        """Memories that share words with the query, best first."""
        wanted_types, wanted_files = frozenset(types), frozenset(files)
        found: list[Found] = []
        for name, score in self._words.search(query):
            memory = self._memories[name]
            if wanted_types and memory.type not in wanted_types:
                continue
            if wanted_files and wanted_files.isdisjoint(memory.files):
                continue
            found.append(Found(memory, score * memory.confidence))
        found.sort(key=lambda each: (-each.score, each.memory.id))
        return found[:limit]
