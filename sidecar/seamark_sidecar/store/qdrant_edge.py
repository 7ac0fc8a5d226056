"""Qdrant Edge as the embedded index; lives in the index worker, because its calls hold the GIL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from seamark_sidecar.store.index_directory import IndexDirectory, Meta, held

DENSE = "dense"
WORDS = "words"
# Raised when vectors or payload change their form, so that older indexes are built again.
LAYOUT = 1
# Vectors are the same when their cosine is; both were rounded to half floats.
SAME_VECTOR = 0.999
SAME_WEIGHT = 1e-4
# Of so many of its words a point is searched for when an index is checked.
PROBED_WORDS = 3

_FIELDS: Mapping[str, Any] = {
    "project": edge.KeywordIndexParams(is_tenant=True),
    "type": edge.PayloadSchemaType.Keyword,
    "files": edge.PayloadSchemaType.Keyword,
    "confidence": edge.PayloadSchemaType.Float,
    # 0 and 1: matching booleans finds nothing in this version.
    "needs_review": edge.PayloadSchemaType.Integer,
}

Words = tuple[Sequence[int], Sequence[float]]
Ranking = list[tuple[int, float]]
Condition = Any  # The engine's conditions have no type in common.


class EngineFault(Exception):
    """The engine panicked, which it does on files that are damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePoint:
    """One memory, ready for the index."""

    number: int
    dense: Sequence[float] | None
    words: Words
    payload: Mapping[str, Any]


class EdgeIndex:
    """One shard on disk, opened when it is first used.

    Whatever is wrong with it, it starts empty rather than not at all; unless another process has
    it, which every method says by raising IndexHeld. Never optimized: that would freeze the worker
    for seconds, and is of no use below a hundred thousand points.
    """

    def __init__(self, path: Path, *, model: str, dimensions: int) -> None:
        self.model = model
        self._dimensions = dimensions
        self._directory = IndexDirectory(path)
        self._open: edge.EdgeShard | None = None
        self._applied = 0

    @property
    def applied(self) -> int:
        """The last change that is durable."""
        self._shard()
        return self._applied

    def rebuild(self) -> None:
        """Throws everything away, unread, and starts empty."""
        self._directory.hold()
        # What is thrown away may be too damaged to be closed.
        with suppress(Exception):
            self._let_go()
        self._open = self._created()

    def upsert(self, points: Sequence[EdgePoint]) -> None:
        """Puts points in, or replaces them."""
        made = [edge.Point(each.number, _vectors(each), dict(each.payload)) for each in points]
        self._run(lambda shard: shard.update(edge.UpdateOperation.upsert_points(made)))

    def flush(self, applied: int) -> None:
        """Makes everything durable, then says up to which change."""
        self._run(lambda shard: shard.flush())
        self._directory.put_meta(self._meta(applied))
        self._applied = applied

    def count(self) -> int:
        """All points."""
        return int(self._run(lambda shard: shard.count(edge.CountRequest(exact=True))))

    def holds(self, points: Sequence[EdgePoint]) -> bool:
        """Whether these points are in it as they are here, and can be found."""
        numbers: list[Any] = [each.number for each in points]
        records = self._run(
            lambda shard: shard.retrieve(numbers, with_payload=True, with_vector=True)
        )
        found = {str(record.id): record for record in records}
        return all(_same(each, found.get(str(each.number))) for each in points) and self._finds(
            points
        )

    def search(
        self,
        *,
        dense: Sequence[float] | None,
        words: Words,
        project: str,
        types: Sequence[str] = (),
        files: Sequence[str] = (),
        limits: tuple[int, int],
    ) -> tuple[Ranking, Ranking]:
        """What is nearest by vector and by words: numbers with scores, best first."""
        by_vector, by_words = self._ranked(
            [
                self._nearest(dense, _allowed(project, types, files), limits[0]),
                _matching(words, project, _allowed(project, types, files), limits[1]),
            ]
        )
        return by_vector, by_words

    def close(self) -> None:
        """Lets go of the files."""
        self._let_go()
        self._directory.release()

    def _shard(self) -> edge.EdgeShard:
        if self._open is None:
            self._directory.hold()
            self._open = self._loaded() or self._created()
        return self._open

    def _run(self, work: Callable[[edge.EdgeShard], Any]) -> Any:
        shard = self._shard()
        with _panics_as_faults():
            return work(shard)

    def _loaded(self) -> edge.EdgeShard | None:
        """What is on disk, if it is of this model and can be read."""
        meta = self._directory.meta()
        if meta is None or meta != self._meta(meta.applied) or not self._directory.is_sound:
            return None
        try:
            with _panics_as_faults():
                shard = edge.EdgeShard.load(str(self._directory.path))
        except Exception as error:
            if "WouldBlock" in str(error):
                raise held(self._directory.path) from error
            return None
        self._applied = meta.applied
        return shard

    def _created(self) -> edge.EdgeShard:
        self._directory.empty()
        dense = {}
        if self._dimensions:
            dense[DENSE] = edge.EdgeVectorParams(
                size=self._dimensions,
                distance=edge.Distance.Cosine,
                datatype=edge.VectorStorageDatatype.Float16,
            )
        config = edge.EdgeConfig(
            vectors=dense,
            sparse_vectors={WORDS: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        )
        with _panics_as_faults():
            shard = edge.EdgeShard.create(str(self._directory.path), config)
            for name, kind in _FIELDS.items():
                shard.update(edge.UpdateOperation.create_field_index(name, kind))
            shard.flush()
        self._directory.put_meta(self._meta(0))
        self._applied = 0
        return shard

    def _let_go(self) -> None:
        shard, self._open = self._open, None
        if shard is not None:
            with _panics_as_faults():
                shard.close()

    def _meta(self, applied: int) -> Meta:
        return Meta(model=self.model, dimensions=self._dimensions, layout=LAYOUT, applied=applied)

    def _finds(self, points: Sequence[EdgePoint]) -> bool:
        """Whether each point is found by its vector and by its words."""
        queries: list[edge.QueryRequest | None] = []
        for each in points:
            payload = each.payload
            allowed = [
                *_allowed(payload["project"], [payload["type"]], payload["files"]),
                edge.HasIdCondition({each.number}),
            ]
            words = each.words[0][:PROBED_WORDS], each.words[1][:PROBED_WORDS]
            queries.append(self._nearest(each.dense, allowed, 1))
            queries.append(_matching(words, payload["project"], allowed, 1))
        ranked = self._ranked(queries)
        return all(
            bool(ranking) == (query is not None)
            for query, ranking in zip(queries, ranked, strict=True)
        )

    def _nearest(
        self, dense: Sequence[float] | None, allowed: list[Condition], limit: int
    ) -> edge.QueryRequest | None:
        if dense is None or not self._dimensions:
            return None
        return edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(list(dense), using=DENSE),
            filter=edge.Filter(must=allowed),
            params=edge.SearchParams(exact=True),
        )

    def _ranked(self, queries: Sequence[edge.QueryRequest | None]) -> list[Ranking]:
        """An answer for each query, in one batch."""
        asked = [query for query in queries if query is not None]
        batch = edge.QueryBatchRequest(asked)
        found = iter(self._run(lambda shard: shard.query_batch(batch)) if asked else [])
        return [_ranking(next(found)) if query is not None else [] for query in queries]


def _matching(
    words: Words, project: str, allowed: list[Condition], limit: int
) -> edge.QueryRequest | None:
    if not words[0]:
        return None
    corpus = edge.Filter(must=[_is("project", [project])])
    return edge.QueryRequest(
        limit=limit,
        query=edge.Query.Nearest(_sparse(words), using=WORDS),
        filter=edge.Filter(must=allowed),
        # Rarity within the project, whatever else is in the index.
        params=edge.SearchParams(idf=edge.IdfParams(corpus)),
    )


def _allowed(project: str, types: Sequence[str], files: Sequence[str]) -> list[Condition]:
    return [
        _is("project", [project]),
        *([_is("type", types)] if types else []),
        *([_is("files", files)] if files else []),
    ]


@contextmanager
def _panics_as_faults() -> Iterator[None]:
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as panic:
        raise EngineFault(str(panic)) from panic


def _is(field: str, values: Sequence[str]) -> edge.FieldCondition:
    return edge.FieldCondition(field, match=edge.MatchAny(list(values)))


def _vectors(point: EdgePoint) -> dict[str, Any]:
    vectors: dict[str, Any] = {WORDS: _sparse(point.words)}
    if point.dense is not None:
        vectors[DENSE] = list(point.dense)
    return vectors


def _sparse(words: Words) -> edge.SparseVector:
    return edge.SparseVector(list(words[0]), list(words[1]))


def _ranking(found: Sequence[edge.ScoredPoint]) -> Ranking:
    return [(int(str(point.id)), float(point.score)) for point in found]


def _same(point: EdgePoint, record: edge.Record | None) -> bool:
    if record is None or (record.payload or {}).get("seq") != point.payload["seq"]:
        return False
    vectors: Any = record.vector or {}
    words = vectors.get(WORDS)
    if not _same_words(point.words, (words.indices, words.values) if words else ((), ())):
        return False
    return point.dense is None or _cosine(point.dense, vectors.get(DENSE) or ()) > SAME_VECTOR


def _same_words(one: Words, other: Words) -> bool:
    ours, theirs = (dict(zip(*words, strict=True)) for words in (one, other))
    return ours.keys() == theirs.keys() and all(
        math.isclose(ours[index], theirs[index], rel_tol=SAME_WEIGHT) for index in ours
    )


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        return 0.0
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(map(float.__mul__, one, other)) / lengths if lengths else 0.0
