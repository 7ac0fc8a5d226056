"""The index follows the record, whatever happens to its worker and its model."""

import asyncio
import json
import time

import pytest

from seamark_sidecar.model.errors import WorkerGone
from seamark_sidecar.model.memory import memory_id
from seamark_sidecar.retrieval.search import Search
from seamark_sidecar.retrieval.shelves import Shelves
from tests.integration.index.desk import Desk, desk_at, embedded, install, until

COUNT = 30


async def test_what_was_written_is_found_once_it_was_waited_for(desk):
    for number in range(1, 6):
        memory = await desk.put(number, f"anchor number {number}")
        assert await desk.indexer.wait_for(memory.seq, 5.0)
        by_vector, by_words = await desk.found(f"anchor number {number}")
        assert memory.id in by_vector
        assert memory.id in by_words


async def test_a_change_that_will_not_come_is_not_waited_for_longer_than_said(desk):
    await desk.put(1)
    await desk.caught_up()
    begin = time.monotonic()
    assert not await desk.indexer.wait_for(1000, 0.05)
    assert time.monotonic() - begin < 1.0


async def test_a_killed_worker_loses_nothing_and_its_index_is_used_again(desk):
    for first in (1, 1001, 2001):
        await desk.put_many(COUNT, first)
        await desk.caught_up()
        await desk.kill_worker()
    await desk.caught_up()
    await desk.assert_equals_record()
    assert (await desk.indexer.progress()).rebuilds == 0


async def test_it_is_back_soon_after_its_worker_was_killed(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    begin = time.monotonic()
    await desk.kill_worker()
    await desk.caught_up()
    assert time.monotonic() - begin < 2.0


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("method", ["state", "embed", "apply", "holds", "flush"])
async def test_a_worker_that_dies_in_the_middle_is_caught_up_with(data_dir, moment, method):
    (data_dir / f"die {moment} {method}").touch()
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
        await desk.assert_equals_record()
        assert not list(data_dir.glob("die *"))
        assert desk.worker.restarts == 1


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_worker_that_dies_while_it_builds_anew_builds_anew(data_dir, moment):
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
    meta = data_dir / "index.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"applied": 999}))
    (data_dir / f"die {moment} rebuild").touch()
    async with desk_at(data_dir) as desk:
        await desk.caught_up()
        await desk.assert_equals_record()


async def test_a_worker_that_is_stuck_ends_and_is_caught_up_with(data_dir):
    (data_dir / "hang at state").touch()
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
        await desk.assert_equals_record()
        assert desk.worker.restarts == 1


async def test_writers_and_a_dying_worker_at_the_same_time(desk):
    async def write(first):
        for number in range(first, first + 40):
            await desk.put(number)
            await asyncio.sleep(0.01)

    async def kill():
        for _ in range(3):
            await asyncio.sleep(0.15)
            await desk.kill_worker()

    await asyncio.gather(write(1), write(1001), kill())
    await desk.caught_up()
    await desk.assert_equals_record()


async def test_stopping_in_the_middle_is_quick_and_the_rest_comes_later(data_dir):
    desk = Desk(data_dir)
    await desk.start()
    await desk.put_many(1500)
    await until(lambda: desk.indexer._applied > 0)
    begin = time.monotonic()
    await desk.stop()
    assert time.monotonic() - begin < 3.0
    async with desk_at(data_dir) as desk:
        await desk.caught_up()
        await desk.assert_equals_record()


async def test_a_model_installed_later_gives_vectors_to_what_is_there(data_dir):
    install(data_dir, None)
    async with desk_at(data_dir) as desk:
        await desk.put_many(COUNT)
        await desk.caught_up()
        assert (await desk.found("memory number 3"))[0] == []
        assert (await desk.indexer.progress()).model == ""
        install(data_dir, "m1")
        await desk.kill_worker()
        await desk.caught_up()
        await desk.assert_equals_record()
        assert (await desk.indexer.progress()).model == "m1"
        assert len((await desk.found("memory number 3"))[0]) == COUNT


async def test_without_its_model_words_still_answer(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    install(desk.data_dir, None)
    await desk.kill_worker()
    await desk.caught_up()
    await desk.assert_equals_record()
    by_vector, by_words = await desk.found("memory number 3")
    assert by_vector == []
    assert by_words[0] == memory_id(3)


async def test_another_model_embeds_again_and_the_first_ones_vectors_are_kept(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    for model, dimensions, texts in (("m2", 24, 2 * COUNT), ("m1", 16, 2 * COUNT)):
        install(desk.data_dir, model, dimensions)
        await desk.kill_worker()
        await desk.caught_up()
        await desk.assert_equals_record()
        assert len(embedded(desk.data_dir)) == texts


async def test_a_text_that_cannot_be_embedded_is_found_by_its_words(desk):
    await desk.put_many(COUNT)
    bad = await desk.put(1000, "an unembeddable anchor")
    await desk.caught_up()
    assert await desk.found("anchor", types=("gotcha",)) != ([], [])
    assert (await desk.found("anchor"))[1] == [bad.id]
    assert (await desk.index.state()).count == COUNT + 1
    await desk.kill_worker()
    await desk.caught_up()
    assert (await desk.indexer.progress()).rebuilds == 0


async def test_a_changed_text_is_embedded_again_and_nothing_else(desk):
    await desk.put_many(COUNT)
    await desk.caught_up()
    await desk.put(3, "another text")
    await desk.put(4, needs_review=True)
    await desk.caught_up()
    await desk.assert_equals_record()
    assert len(embedded(desk.data_dir)) == COUNT + 1


async def test_at_a_long_first_opening_progress_is_told_and_words_answer_meanwhile(data_dir):
    async with desk_at(data_dir) as desk:
        await desk.put_many(1500)
    for path in data_dir.glob("index*"):
        path.rename(data_dir / f"old {path.name}")
    async with desk_at(data_dir) as desk:
        search = Search(Shelves(desk.record), desk.index, desk.indexer)
        seen = []
        while not desk.indexer.is_ready:
            progress = await desk.indexer.progress()
            found = await search.find(desk.project_id, "memory number 77", limit=3)
            assert found[0].memory.id == memory_id(77)
            if not progress.ready:
                seen.append(progress.applied)
            await asyncio.sleep(0.01)
        assert seen == sorted(seen)
        assert len(set(seen)) > 3
        assert progress.last == 1500
        found = await search.find(desk.project_id, "memory number 77", limit=3)
        assert found[0].memory.id == memory_id(77)


async def test_words_answer_while_the_worker_is_away(desk):
    search = Search(Shelves(desk.record), desk.index, desk.indexer)
    await desk.put_many(COUNT)
    await desk.caught_up()
    (desk.data_dir / "die before search").touch()
    found = await search.find(desk.project_id, "memory number 7", limit=3)
    assert found[0].memory.id == memory_id(7)
    with pytest.raises(WorkerGone):
        await desk.index.state()


async def test_a_search_that_fails_is_answered_and_the_index_looked_over(desk):
    search = Search(Shelves(desk.record), desk.index, desk.indexer)
    await desk.put_many(COUNT)
    await desk.caught_up()
    (desk.data_dir / "fail at search").touch()
    found = await search.find(desk.project_id, "memory number 7", limit=3)
    assert found[0].memory.id == memory_id(7)
    assert not desk.indexer.is_ready
    await desk.caught_up()
    assert (await desk.indexer.progress()).rebuilds == 0


async def test_search_fuses_what_words_and_vectors_find(desk):
    search = Search(Shelves(desk.record), desk.index, desk.indexer)
    await desk.put(1, "the cart rounds to cents")
    await desk.put(2, "a gotcha about anchors")
    await desk.put(3, "cart", files=("src/cart.py",))
    await desk.caught_up()
    found = await search.find(desk.project_id, "cart cents", limit=8)
    assert found[0].memory.id == memory_id(1)
    assert len(found) == 3
    only = await search.find(desk.project_id, "cart", files=["src/cart.py"], limit=8)
    assert [each.memory.id for each in only] == [memory_id(3)]
    assert len(await search.find(desk.project_id, "cart", limit=2)) == 2
    assert await search.find(desk.project_id, "  ", limit=8) == []


async def test_what_was_just_learnt_is_found(desk):
    shelves = Shelves(desk.record)
    search = Search(shelves, desk.index, desk.indexer)
    for number in range(1, 21):
        memory = await desk.put(number, f"lantern number {number}")
        await shelves.put([memory])
        found = await search.find(desk.project_id, f"lantern number {number}", limit=30)
        assert memory.id in [each.memory.id for each in found]
