"""The index worker as retrieval sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seamark_sidecar.model.memory import Memory, memory_id, memory_number
from seamark_sidecar.retrieval import sparse
from seamark_sidecar.retrieval.index import Arms, Condition, Entry, IndexState
from seamark_sidecar.workers.worker import Worker

OPEN_WITHIN = 60.0  # seconds; loading an index that was not flushed replays its log
CHANGE_WITHIN = 30.0


class IndexWorker:
    """Asks the worker process; every fault of it is a SidecarError."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def state(self) -> IndexState:
        return IndexState(**await self._worker.ask("state", OPEN_WITHIN))

    async def rebuild(self) -> None:
        await self._worker.ask("rebuild", OPEN_WITHIN)

    async def apply(self, entries: Sequence[Entry]) -> None:
        await self._worker.ask("apply", CHANGE_WITHIN, points=[_point(each) for each in entries])

    async def flush(self, applied: int) -> None:
        await self._worker.ask("flush", CHANGE_WITHIN, applied=applied)

    async def sample(self, memory_ids: Sequence[str]) -> Mapping[str, int]:
        numbers = [memory_number(each) for each in memory_ids]
        found: Mapping[int, int] = await self._worker.ask("seqs", CHANGE_WITHIN, numbers=numbers)
        return {memory_id(number): seq for number, seq in found.items()}

    async def embed(self, texts: Sequence[str]) -> list[bytes] | None:
        vectors: list[bytes] | None = await self._worker.ask(
            "embed", CHANGE_WITHIN, texts=list(texts)
        )
        return vectors

    async def search(
        self, query: str, condition: Condition, *, dense: int, keyword: int, within: float
    ) -> Arms:
        found_dense, found_keyword = await self._worker.ask(
            "search",
            within,
            query=query,
            words=sparse.query(query),
            project=condition.project_id,
            types=condition.types,
            files=condition.files,
            limits=(dense, keyword),
        )
        return Arms(_named(found_dense), _named(found_keyword))


def _named(found: Sequence[tuple[int, float]]) -> tuple[tuple[str, float], ...]:
    return tuple((memory_id(number), score) for number, score in found)


def _point(entry: Entry) -> list[Any]:
    memory = entry.memory
    return [
        memory_number(memory.id),
        entry.vector.values if entry.vector else None,
        sparse.document(searched_text(memory)),
        {
            "seq": memory.seq,
            "project": memory.project_id,
            "type": memory.type,
            "files": list(memory.files),
            "confidence": memory.confidence,
            "needs_review": int(memory.needs_review),
        },
    ]


def searched_text(memory: Memory) -> str:
    """The words under which a memory is found."""
    return " ".join((memory.content, *memory.files, *memory.tags))
