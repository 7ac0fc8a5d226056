"""The index worker as retrieval sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamark_sidecar.model.memory import Memory, memory_id, memory_number
from seamark_sidecar.model.vector import Vector
from seamark_sidecar.retrieval.index import Arms, Condition, Entry, IndexState, text_hash
from seamark_sidecar.workers.worker import Worker

OPEN_WITHIN = 30.0  # seconds; loading an index that was not flushed replays its log
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
        await self._worker.ask("apply", CHANGE_WITHIN, **_points(entries))

    async def flush(self, applied: int) -> None:
        await self._worker.ask("flush", CHANGE_WITHIN, applied=applied)

    async def holds(self, entries: Sequence[Entry]) -> bool:
        return bool(await self._worker.ask("holds", CHANGE_WITHIN, **_points(entries)))

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        made = await self._worker.ask("embed", CHANGE_WITHIN, texts=list(texts))
        if made is None:
            return []
        return [
            Vector(
                model=made["model"],
                dimensions=made["dimensions"],
                pooling=made["pooling"],
                text_hash=text_hash(text),
                values=values,
            )
            for text, values in zip(texts, made["values"], strict=True)
        ]

    async def search(
        self, query: str, condition: Condition, *, dense: int, keyword: int, within: float
    ) -> Arms:
        by_vector, by_words = await self._worker.ask(
            "search",
            within,
            query=query,
            project=condition.project_id,
            types=condition.types,
            files=condition.files,
            limits=(dense, keyword),
        )
        return Arms(_named(by_vector), _named(by_words))


def searched_text(memory: Memory) -> str:
    """The words under which a memory is found."""
    return " ".join((memory.content, *memory.files, *memory.tags))


def _named(found: Sequence[tuple[int, float]]) -> tuple[tuple[str, float], ...]:
    return tuple((memory_id(number), score) for number, score in found)


def _points(entries: Sequence[Entry]) -> dict[str, Any]:
    """The entries, with the model that their vectors are from."""
    models = {each.vector.model for each in entries if each.vector is not None}
    if len(models) > 1:
        raise ValueError(f"vectors of different models: {', '.join(sorted(models))}")
    return {"points": [_point(each) for each in entries], "model": "".join(models)}


def _point(entry: Entry) -> list[Any]:
    memory = entry.memory
    return [
        memory_number(memory.id),
        entry.vector.values if entry.vector else None,
        searched_text(memory),
        {
            "seq": memory.seq,
            "project": memory.project_id,
            "type": memory.type,
            "files": memory.files,
            "confidence": memory.confidence,
            "needs_review": int(memory.needs_review),
        },
    ]
