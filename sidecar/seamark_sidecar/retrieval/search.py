"""Finds memories that answer a question: dense and keyword, fused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import structlog

from seamark_sidecar.model.errors import SidecarError, WorkerFault
from seamark_sidecar.retrieval.fusion import Arm, standard_scores
from seamark_sidecar.retrieval.index import Condition, Index
from seamark_sidecar.retrieval.indexer import Indexer
from seamark_sidecar.retrieval.shelf import Found, Shelf
from seamark_sidecar.retrieval.shelves import Shelves

log = structlog.get_logger("seamark.search")

DENSE_CANDIDATES = 50
KEYWORD_CANDIDATES = 50
DENSE_WEIGHT = 0.5
KEYWORD_WEIGHT = 0.5
WITHIN = 0.5  # seconds for the index
# What was just learnt should be found: so long is waited for the index to have it, in seconds.
CATCH_UP = 0.2


class Search:
    """Asks the index; without it, the words of the shelf answer alone."""

    def __init__(self, shelves: Shelves, index: Index, indexer: Indexer) -> None:
        self._shelves = shelves
        self._index = index
        self._indexer = indexer

    async def find(
        self,
        project_id: str,
        query: str,
        *,
        types: Sequence[str] = (),
        files: Sequence[str] = (),
        limit: int,
    ) -> list[Found]:
        """Memories that fit, best first."""
        shelf = await self._shelves.of(project_id)
        if not query.strip() or not len(shelf):
            return []
        condition = Condition(project_id=project_id, types=tuple(types), files=tuple(files))
        if self._indexer.is_ready:
            if self._indexer.applied < shelf.newest:
                await self._indexer.wait_for(shelf.newest, CATCH_UP)
            try:
                return await self._fused(shelf, query, condition, limit)
            except SidecarError as error:
                log.warning("index_not_asked", reason=str(error))
                if isinstance(error, WorkerFault):
                    self._indexer.suspect()
        return shelf.search(query, types=types, files=files, limit=limit)

    async def _fused(
        self, shelf: Shelf, query: str, condition: Condition, limit: int
    ) -> list[Found]:
        most_keyword = max(KEYWORD_CANDIDATES, limit)
        arms = await self._index.search(
            query,
            condition,
            dense=max(DENSE_CANDIDATES, limit),
            keyword=most_keyword,
            within=WITHIN,
        )
        # Where there are no more, what is left shares no word with the query.
        absent = 0.0 if len(arms.keyword) < most_keyword else None
        fused = standard_scores(
            [
                Arm(ranking=arms.dense, weight=DENSE_WEIGHT),
                Arm(ranking=arms.keyword, weight=KEYWORD_WEIGHT, absent=absent),
            ]
        )
        found = (Found(memory, score) for name, score in fused if (memory := shelf.get(name)))
        return list(islice(found, limit))
