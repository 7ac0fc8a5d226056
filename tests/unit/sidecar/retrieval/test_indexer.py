"""The indexer on a record and an index that are plain dictionaries, so that every moment can be
chosen; with the real ones it is tested among the integration tests."""

import asyncio
import contextlib
import dataclasses

import pytest

from seamark_sidecar.model.errors import WorkerFault, WorkerGone, WorkerTooSlow
from seamark_sidecar.model.vector import Vector
from seamark_sidecar.retrieval import indexer as indexing
from seamark_sidecar.retrieval.index import Arms, IndexState, text_hash
from seamark_sidecar.retrieval.indexer import Indexer, embedded_text
from tests.integration.index.desk import a_memory, until

SOON = 5.0


class DictRecord:
    def __init__(self, count=0):
        self.memories = {}
        self.stored_vectors = {}
        self.last = 0
        for number in range(count):
            self.put(number)

    def put(self, number, content=""):
        self.last += 1
        memory = dataclasses.replace(a_memory(number, content), seq=self.last)
        self.memories[memory.id] = memory
        return memory

    async def changes(self, after, limit):
        found = [each for each in self.memories.values() if each.seq > after]
        return sorted(found, key=lambda each: each.seq)[:limit]

    async def last_seq(self):
        return self.last

    async def memory_count(self):
        return len(self.memories)

    async def vectors(self, memory_ids, model):
        stored = self.stored_vectors
        return {name: stored[name, model] for name in memory_ids if (name, model) in stored}

    async def put_vectors(self, vectors):
        self.stored_vectors |= {(name, each.model): each for name, each in vectors.items()}


class DictIndex:
    """Keeps what it is given; `before[method]` is awaited at the beginning of that method."""

    def __init__(self, model=""):
        self.model = model
        self.entries = {}
        self.applied = 0
        self.before = {}
        self.asked = []
        self.batches = []

    async def _asked(self, method):
        self.asked.append(method)
        if method in self.before:
            await self.before[method]()

    async def state(self):
        await self._asked("state")
        return IndexState(applied=self.applied, count=len(self.entries), model=self.model)

    async def rebuild(self):
        await self._asked("rebuild")
        self.entries, self.applied = {}, 0

    async def apply(self, entries):
        await self._asked("apply")
        self.entries |= {each.memory.id: each for each in entries}

    async def flush(self, applied):
        await self._asked("flush")
        self.applied = applied

    async def holds(self, entries):
        await self._asked("holds")
        return all(self.entries.get(each.memory.id) == each for each in entries)

    async def embed(self, texts):
        await self._asked("embed")
        if any("unembeddable" in text for text in texts):
            raise WorkerFault("it cannot be embedded")
        self.batches.append(len(texts))
        return [vector_of(self.model, text) for text in texts] if self.model else []

    async def search(self, query, condition, *, dense, keyword, within):
        return Arms()

    def equals(self, record):
        return {name: each.memory for name, each in self.entries.items()} == record.memories


def vector_of(model, text):
    return Vector(
        model=model, dimensions=2, pooling="mean", text_hash=text_hash(text), values=bytes(4)
    )


@contextlib.asynccontextmanager
async def following(record, index):
    indexer = Indexer(record, index)
    task = asyncio.create_task(indexer.run_forever())
    try:
        yield indexer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def caught_up(indexer, record):
    assert await indexer.wait_for(record.last, SOON), await indexer.progress()


def once(action):
    """An awaitable step that acts at its first call only."""
    left = [action]

    async def step():
        if left:
            left.pop()()

    return step


def failing(error, times=1):
    left = [error] * times

    async def step():
        if left:
            raise left.pop()

    return step


class Gate:
    """Holds whoever comes until it is opened."""

    def __init__(self):
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self):
        self.reached.set()
        await self.opened.wait()


async def test_the_index_gets_all_there_is_and_all_that_comes():
    record, index = DictRecord(300), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        assert index.equals(record)
        record.put(7, "changed")
        record.put(300)
        await caught_up(indexer, record)
        assert index.equals(record)
        assert index.asked.count("rebuild") == 0


async def test_only_what_is_missing_is_applied_again():
    record, index = DictRecord(300), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
    del index.asked[:]
    record.put(1000)
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
    assert index.asked.count("apply") == 1
    assert index.equals(record)


@pytest.mark.parametrize(
    "damage",
    [
        lambda index, name: index.entries.pop(name),
        lambda index, name: index.entries.update(other=index.entries[name]),
        lambda index, name: index.entries.update(
            {name: dataclasses.replace(index.entries[name], memory=a_memory(1, seq=999))}
        ),
        lambda index, name: setattr(index, "applied", 10_000),
    ],
    ids=["a memory too few", "one too many", "an old version", "newer than the record"],
)
async def test_any_difference_makes_it_build_anew(damage):
    record, index = DictRecord(20), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
    damage(index, next(iter(index.entries)))
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        assert (await indexer.progress()).rebuilds == 1
    assert index.equals(record)


async def test_a_record_that_moves_while_it_is_compared_is_no_difference():
    record, index = DictRecord(20), DictIndex()
    index.before["holds"] = once(lambda: record.put(3, "changed meanwhile"))
    counts = [3, 4]

    async def another():
        if index.asked.count("state") in counts:
            record.put(100 + len(index.asked))

    index.before["state"] = another
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        assert (await indexer.progress()).rebuilds == 0
    assert index.equals(record)


async def test_an_index_that_fails_when_it_is_used_is_built_anew():
    record, index = DictRecord(20), DictIndex()
    for method in ("state", "apply", "holds"):
        index.before[method] = failing(WorkerFault("it is damaged"))
        async with following(record, index) as indexer:
            await caught_up(indexer, record)
            assert (await indexer.progress()).rebuilds == 1, method
        record.put(5)
        index.before.clear()
    assert index.entries.keys() == record.memories.keys()


async def test_an_index_that_cannot_be_built_is_said_to_be_and_tried_again():
    record, index = DictRecord(20), DictIndex()
    index.before["apply"] = failing(WorkerFault("no space left"), times=4)
    async with following(record, index) as indexer:
        await until(lambda: index.asked.count("apply") == 2)
        assert not indexer.is_ready
        assert "no space left" in (await indexer.progress()).fault
        await caught_up(indexer, record)
        assert (await indexer.progress()).fault == ""
    assert index.equals(record)


async def test_a_slow_or_absent_worker_is_waited_for_and_nothing_is_built_anew():
    record, index = DictRecord(20), DictIndex()
    index.before["state"] = failing(WorkerTooSlow("too slow"))
    index.before["apply"] = failing(WorkerGone("it died"))
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        assert (await indexer.progress()).rebuilds == 0


async def test_a_failure_while_following_makes_it_compare_again():
    record, index = DictRecord(20), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        index.entries.popitem()
        index.before["apply"] = failing(WorkerFault("it is damaged"))
        record.put(21)
        await caught_up(indexer, record)
    assert index.equals(record)


async def test_a_search_that_fails_makes_it_compare_again():
    record, index = DictRecord(20), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        index.entries.popitem()
        indexer.suspect()
        assert not indexer.is_ready
        await caught_up(indexer, record)
        assert index.equals(record)


async def test_it_is_not_ready_before_it_is_compared():
    record, index = DictRecord(300), DictIndex()
    index.before["apply"] = gate = Gate()
    async with following(record, index) as indexer:
        await gate.reached.wait()
        assert not indexer.is_ready
        assert not await indexer.wait_for(1, 0.01)
        progress = await indexer.progress()
        assert (progress.ready, progress.applied, progress.last) == (False, 0, 300)
        index.before["holds"] = comparing = Gate()
        gate.opened.set()
        await comparing.reached.wait()
        assert not indexer.is_ready
        assert (await indexer.progress()).applied == 300
        comparing.opened.set()
        await caught_up(indexer, record)


@pytest.mark.parametrize("method", ["state", "apply", "holds", "flush"])
async def test_a_worker_started_anew_while_it_is_opened_is_opened_again(method):
    record, index = DictRecord(300), DictIndex()
    index.before[method] = gate = Gate()
    async with following(record, index) as indexer:
        await gate.reached.wait()
        # The new worker has lost everything.
        index.entries, index.applied = {}, 0
        indexer.reopen()
        del index.before[method]
        gate.opened.set()
        await caught_up(indexer, record)
        assert index.equals(record)
        assert index.applied == 300


async def test_a_worker_that_keeps_dying_of_its_index_gets_an_empty_one():
    record, index = DictRecord(20), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)

        async def die():
            if "rebuild" not in index.asked:
                asyncio.get_running_loop().call_later(0.01, indexer.reopen)
                raise WorkerGone("it died")

        index.before["holds"] = die
        indexer.reopen()
        await caught_up(indexer, record)
        assert index.equals(record)
        assert index.asked.count("rebuild") == 1


async def test_texts_are_embedded_once_and_in_small_batches():
    record, index = DictRecord(40), DictIndex(model="m1")
    record.put(50)
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        assert sum(index.batches) == 41
        assert max(index.batches) == indexing.EMBED_BATCH
        await index.rebuild()
        indexer.reopen()
        await caught_up(indexer, record)
        assert sum(index.batches) == 41
        record.put(3, "another text")
        await caught_up(indexer, record)
        assert sum(index.batches) == 42
    for memory in record.memories.values():
        expected = vector_of("m1", embedded_text(memory))
        assert index.entries[memory.id].vector == expected
        assert record.stored_vectors[memory.id, "m1"] == expected


async def test_a_text_that_the_model_cannot_take_costs_the_others_nothing():
    record, index = DictRecord(20), DictIndex(model="m1")
    bad = record.put(50, "unembeddable").id
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        assert (await indexer.progress()).rebuilds == 0
    assert {name for name, each in index.entries.items() if each.vector is None} == {bad}


async def test_a_stored_vector_that_does_not_fit_is_made_again():
    record, index = DictRecord(3), DictIndex(model="m1")
    names = list(record.memories)
    text = embedded_text(record.memories[names[0]])
    short = dataclasses.replace(vector_of("m1", text), values=b"")
    await record.put_vectors({names[0]: short, names[1]: vector_of("m1", "an older text")})
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
    assert sum(index.batches) == 3


async def test_vectors_of_a_model_that_came_in_between_are_not_stored_as_the_other_ones():
    record, index = DictRecord(3), DictIndex(model="m1")

    def switch():
        index.model, index.entries, index.applied = "m2", {}, 0
        asyncio.get_running_loop().call_soon(indexer.reopen)

    index.before["embed"] = once(switch)
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
    assert {model for _, model in record.stored_vectors} == {"m2"}
    assert {each.vector.model for each in index.entries.values()} == {"m2"}


async def test_it_flushes_when_it_is_quiet_and_not_before(monkeypatch):
    monkeypatch.setattr(indexing, "FLUSH_AFTER", 0.1)
    record, index = DictRecord(0), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        for number in range(5):
            record.put(number)
            await caught_up(indexer, record)
        assert "flush" not in index.asked
        await until(lambda: index.applied == 5)
        await asyncio.sleep(0.15)
        assert index.asked.count("flush") == 1


async def test_it_flushes_in_a_long_run_as_well(monkeypatch):
    monkeypatch.setattr(indexing, "FLUSH_EVERY", 256)
    record, index = DictRecord(1000), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
    assert 3 <= index.asked.count("flush") <= 5


async def test_closing_makes_the_last_changes_durable():
    record, index = DictRecord(5), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        record.put(6)
        await caught_up(indexer, record)
    await indexer.close()
    assert index.applied == 6


async def test_closing_without_a_worker_is_no_failure():
    record, index = DictRecord(5), DictIndex()
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
        record.put(6)
        await caught_up(indexer, record)
    index.before["flush"] = failing(WorkerGone("it died"))
    await indexer.close()


async def test_it_can_be_cancelled_at_any_moment():
    for method in ("state", "apply", "holds", "flush"):
        record, index = DictRecord(300), DictIndex()
        index.before[method] = gate = Gate()
        async with asyncio.timeout(SOON), following(record, index) as indexer:
            await gate.reached.wait()
        assert not indexer.is_ready


async def test_what_no_one_expected_does_not_end_it(monkeypatch):
    monkeypatch.setattr(indexing, "LONGEST_RETRY", 0.01)
    record, index = DictRecord(5), DictIndex()
    index.before["apply"] = failing(RuntimeError("a fault of ours"))
    async with following(record, index) as indexer:
        await caught_up(indexer, record)
