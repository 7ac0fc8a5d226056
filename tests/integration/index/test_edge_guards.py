"""What the engine was measured to do, and what we built on it.

When one of these fails after an upgrade, the engine has changed: read what the test says, then
change what rests on it.
"""

import itertools
import os
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest
import qdrant_edge as edge

UPSERT = edge.UpdateOperation.upsert_points


def shard_at(path, **config):
    path.mkdir()
    return edge.EdgeShard.create(str(path), edge.EdgeConfig(**config))


def vectors(size, distance=edge.Distance.Cosine):
    return edge.EdgeVectorParams(size=size, distance=distance)


def count(shard, match):
    where = edge.Filter(must=[edge.FieldCondition("flag", match=match)])
    return shard.count(edge.CountRequest(exact=True, filter=where))


@pytest.mark.parametrize("indexed", [False, True])
def test_matching_booleans_finds_nothing_so_flags_are_0_and_1(tmp_path, indexed):
    booleans = shard_at(tmp_path / "booleans", vectors=vectors(2))
    numbers = shard_at(tmp_path / "numbers", vectors=vectors(2))
    booleans.update(UPSERT([edge.Point(n, [1.0, 1.0], {"flag": n < 3}) for n in range(10)]))
    numbers.update(UPSERT([edge.Point(n, [1.0, 1.0], {"flag": int(n < 3)}) for n in range(10)]))
    if indexed:
        index = edge.UpdateOperation.create_field_index
        booleans.update(index("flag", edge.PayloadSchemaType.Bool))
        numbers.update(index("flag", edge.PayloadSchemaType.Integer))
    assert count(booleans, edge.MatchValue(True)) == 0
    assert count(numbers, edge.MatchValue(1)) == 3
    assert count(numbers, edge.MatchAny([0])) == 7


WRITER = textwrap.dedent("""
    import sys
    import qdrant_edge as edge

    config = edge.EdgeConfig(
        vectors={"dense": edge.EdgeVectorParams(size=32, distance=edge.Distance.Cosine)}
    )
    shard = edge.EdgeShard.create(sys.argv[1], config)
    vector = [1.0] * 32
    for start in range(0, 10**9, 10):
        batch = [edge.Point(n, {"dense": vector}, {"seq": n}) for n in range(start, start + 10)]
        shard.update(edge.UpdateOperation.upsert_points(batch))
        print(start + 10, flush=True)
""")


def test_what_an_update_returned_for_survives_kill_9_without_a_flush(tmp_path):
    path = tmp_path / "shard"
    path.mkdir()
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        written = 0
        end = time.monotonic() + 0.5
        while time.monotonic() < end or not written:
            written = int(writer.stdout.readline())
        writer.kill()
        # What it said until it died counts as well.
        for line in writer.stdout.read().splitlines(keepends=True):
            written = int(line) if line.endswith("\n") else written
    shard = edge.EdgeShard.load(str(path))
    records, _ = shard.scroll(edge.ScrollRequest(limit=10**9, with_payload=True))
    assert {record.id for record in records} >= set(range(written))
    assert all(record.payload == {"seq": record.id} for record in records)


def test_every_call_holds_the_gil_so_the_engine_has_a_process_of_its_own(tmp_path):
    shard = shard_at(tmp_path / "shard", vectors={"dense": vectors(256)})
    rows = np.random.default_rng(0).standard_normal((4000, 256)).tolist()
    points = [edge.Point(n, {"dense": row}, {}) for n, row in enumerate(rows)]
    queries = [
        edge.QueryRequest(
            limit=30,
            query=edge.Query.Nearest(row, using="dense"),
            params=edge.SearchParams(exact=True),
        )
        for row in rows[:300]
    ]
    upsert = UPSERT(points)
    batch = edge.QueryBatchRequest(queries)
    for call in (lambda: shard.update(upsert), lambda: shard.query_batch(batch)):
        took, gap = longest_gap(call)
        assert gap > took / 2, "the engine lets other threads run: it may live in the sidecar"


def longest_gap(call):
    """How long a call took, and for how long another thread did not get its turn meanwhile."""
    beats = []
    over = threading.Event()

    def beat():
        while not over.is_set():
            beats.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=beat)
    thread.start()
    time.sleep(0.02)
    begin = time.perf_counter()
    call()
    end = time.perf_counter()
    time.sleep(0.02)
    over.set()
    thread.join()
    inside = [beat for beat in beats if begin < beat < end]
    edges = [begin, *inside, end]
    return end - begin, max(later - earlier for earlier, later in itertools.pairwise(edges))


def test_a_shard_that_is_open_elsewhere_says_so_and_is_left_alone(tmp_path):
    path = tmp_path / "shard"
    shard = shard_at(path, vectors=vectors(2))
    shard.update(UPSERT([edge.Point(1, [1.0, 1.0], {})]))
    loading = f"import qdrant_edge; qdrant_edge.EdgeShard.load({os.fspath(path)!r})"
    tried = subprocess.run(
        [sys.executable, "-c", loading], capture_output=True, text=True, check=False
    )
    assert "WouldBlock" in tried.stderr
    assert shard.count(edge.CountRequest(exact=True)) == 1


def test_its_weighted_rank_fusion_is_not_the_textbook_one_so_we_fuse(tmp_path):
    shard = shard_at(
        tmp_path / "shard",
        vectors={"a": vectors(2, edge.Distance.Dot), "b": vectors(2, edge.Distance.Dot)},
    )
    # The arms find different points, so that no sum hides their scores.
    shard.update(UPSERT([edge.Point(n, {"a": [10.0 - n, 0]}, {}) for n in range(5)]))
    shard.update(UPSERT([edge.Point(100 + n, {"b": [10.0 - n, 0]}, {}) for n in range(5)]))
    k, weights = 60, {"a": 0.7, "b": 0.3}
    fusion: Any = edge.Fusion.Rrf(k=k, weights=list(weights.values()))
    fused = shard.query(
        edge.QueryRequest(
            limit=20,
            query=fusion,
            prefetches=[
                edge.Prefetch(limit=10, query=edge.Query.Nearest([1.0, 0], using=name))
                for name in weights
            ],
        )
    )
    scores = {point.id: point.score for point in fused}
    for first, weight in ((0, 0.7), (100, 0.3)):
        for rank in range(1, 6):
            score = scores[first + rank - 1]
            assert score == pytest.approx(1 / (rank / weight + k - 1), rel=1e-4)
            assert score != pytest.approx(weight / (k + rank), rel=0.1)


def test_rarity_within_a_project_equals_an_index_of_that_project_alone(tmp_path):
    random = np.random.default_rng(0)
    sparse = {"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    shared = shard_at(tmp_path / "shared", vectors={}, sparse_vectors=sparse)
    alone = shard_at(tmp_path / "alone", vectors={}, sparse_vectors=sparse)
    for number in range(200):
        project = "p" if number % 4 == 0 else "q"
        words = sorted(random.choice(30, 5, replace=False).tolist())
        vector: Any = {"words": edge.SparseVector(words, random.random(5).tolist())}
        point = edge.Point(number, vector, {"project": project})
        shared.update(UPSERT([point]))
        if project == "p":
            alone.update(UPSERT([point]))
    corpus = edge.Filter(must=[edge.FieldCondition("project", match=edge.MatchValue("p"))])

    def scores(shard, **options):
        query = edge.Query.Nearest(edge.SparseVector([3, 7, 11], [1.0] * 3), using="words")
        found = shard.query(edge.QueryRequest(limit=100, query=query, **options))
        return {point.id: point.score for point in found}

    within = scores(shared, filter=corpus, params=edge.SearchParams(idf=edge.IdfParams(corpus)))
    assert len(within) > 10
    assert within == pytest.approx(scores(alone), rel=1e-5)
    assert within != pytest.approx(scores(shared, filter=corpus), rel=1e-3)
