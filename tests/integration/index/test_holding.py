"""One index, one process: the second one is told, and touches nothing."""

import threading
import time

import pytest
import qdrant_edge as edge

from seamark_sidecar.store import index_directory
from seamark_sidecar.store.index_directory import IndexHeld
from seamark_sidecar.store.qdrant_edge import EdgeIndex
from tests.integration.index.desk import desk_at

COUNT = 20


def second(data_dir, model="m1", dimensions=16):
    return EdgeIndex(data_dir / "index", model=model, dimensions=dimensions)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(index_directory, "HELD_WAIT", 0.1)


CALLS = (
    lambda index: index.applied,
    lambda index: index.count(),
    lambda index: index.rebuild(),
    lambda index: index.upsert([]),
    lambda index: index.flush(1),
    lambda index: index.holds([]),
)


@pytest.mark.usefixtures("impatient")
async def test_the_second_process_is_told_and_the_first_goes_on(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    await desk.indexer.close()
    for other in (second(desk.data_dir), second(desk.data_dir, model="m2", dimensions=3)):
        for call in CALLS:
            with pytest.raises(IndexHeld, match="another process has the index"):
                call(other)
    await desk.assert_equals_record()


@pytest.mark.usefixtures("impatient")
async def test_not_even_an_index_that_must_be_built_anew_is_taken_from_a_living_process(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    await desk.indexer.close()
    (desk.data_dir / "index.json").unlink()
    with pytest.raises(IndexHeld):
        second(desk.data_dir).rebuild()
    await desk.assert_equals_record()


@pytest.mark.usefixtures("impatient")
def test_a_shard_that_another_program_has_open_is_left_alone(tmp_path):
    path = tmp_path / "index"
    first = EdgeIndex(path, model="", dimensions=0)
    first.flush(3)
    first.close()
    theirs = edge.EdgeShard.load(str(path))
    ours = second(tmp_path, model="", dimensions=0)
    with pytest.raises(IndexHeld):
        ours.count()
    theirs.close()
    assert ours.applied == 3


def test_a_predecessor_that_is_still_ending_is_waited_for(tmp_path):
    first = second(tmp_path)
    first.flush(3)
    ending = threading.Timer(0.3, first.close)
    ending.start()
    begin = time.monotonic()
    successor = second(tmp_path)
    assert successor.applied == 3
    assert time.monotonic() - begin > 0.2
    ending.join()


async def test_an_index_that_was_held_is_followed_once_it_is_free(data_dir):
    first = second(data_dir)
    first.flush(0)
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        assert not await desk.indexer.wait_for(1, 0.3)
        first.close()
        await desk.caught_up()
        await desk.assert_equals_record()
        assert (await desk.indexer.progress()).rebuilds == 0
