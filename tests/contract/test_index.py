"""What every index must do, run on each implementation of the port."""

import contextlib
import dataclasses

import numpy as np
import pytest
import pytest_asyncio

from seamark_sidecar.model.errors import SidecarError
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.vector import Vector
from seamark_sidecar.retrieval.index import Condition, Entry, text_hash
from seamark_sidecar.workers.index import IndexWorker
from tests.integration.index.desk import SOON, a_memory, answering, install, scripted_worker

MODEL = "m1"
DIMENSIONS = 16
ANYWHERE = Condition(project_id="p")


@contextlib.asynccontextmanager
async def edge_index(data_dir, model):
    install(data_dir, model, DIMENSIONS)
    worker = scripted_worker(data_dir)
    worker.start()
    await answering(worker)
    try:
        yield IndexWorker(worker)
    finally:
        await worker.stop()


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(params=[edge_index])
def opened(request, tmp_path):
    """Opens the same index every time, for the model of this name."""
    return lambda model=MODEL: request.param(tmp_path, model)


@pytest_asyncio.fixture(params=[edge_index], scope="module", loop_scope="module")
async def shared(request, tmp_path_factory):
    async with request.param(tmp_path_factory.mktemp("data"), MODEL) as index:
        yield index


@pytest_asyncio.fixture(loop_scope="module")
async def index(shared):
    """An empty index."""
    await shared.rebuild()
    return shared


def an_entry(number, content="", *, seq=0, axis=None, **changes):
    """An entry whose vector points along one axis, that of its number unless another is given."""
    memory = a_memory(number, content, seq=seq or number, **changes)
    return Entry(memory, a_vector(memory.content, number if axis is None else axis))


def a_vector(text, axis, model=MODEL):
    values = np.zeros(DIMENSIONS, "<f2")
    values[axis % DIMENSIONS] = 1
    return Vector(
        model=model,
        dimensions=DIMENSIONS,
        pooling="mean",
        text_hash=text_hash(text),
        values=values.tobytes(),
    )


async def found(index, query, condition=ANYWHERE, dense=50, keyword=50):
    arms = await index.search(query, condition, dense=dense, keyword=keyword, within=SOON)
    return [name for name, _ in arms.dense], [name for name, _ in arms.keyword]


def names(*entries):
    return [each.memory.id for each in entries]


async def test_a_new_index_is_empty(index):
    state = await index.state()
    assert (state.applied, state.count, state.model, state.fault) == (0, 0, MODEL, "")
    assert await index.holds([])
    assert await found(index, "anything") == ([], [])


async def test_applying_again_changes_nothing(index):
    entries = [an_entry(number) for number in range(1, 11)]
    await index.apply(entries)
    await index.apply(entries[:5])
    await index.apply([])
    assert (await index.state()).count == 10
    assert await index.holds(entries)


async def test_a_newer_version_takes_the_place_of_the_older(index):
    older, newer = an_entry(1, "the cart", seq=1), an_entry(1, "the anchor", seq=2)
    await index.apply([older])
    await index.apply([newer])
    assert (await index.state()).count == 1
    assert await index.holds([newer])
    assert not await index.holds([older])
    assert await found(index, "anchor") == (names(newer), names(newer))
    assert (await found(index, "cart"))[1] == []


@pytest.mark.parametrize(
    "other",
    [
        an_entry(2, "content", seq=1),
        an_entry(1, "content", seq=2),
        an_entry(1, "content other", seq=1),
        an_entry(1, "content", seq=1, axis=5),
    ],
    ids=["another id", "another version", "other words", "another vector"],
)
async def test_what_differs_is_not_held(index, other):
    entry = an_entry(1, "content", seq=1)
    await index.apply([entry])
    assert await index.holds([entry])
    assert not await index.holds([other])
    assert not await index.holds([entry, other])


async def test_an_entry_that_came_without_its_vector_is_not_held_with_it(index):
    entry = an_entry(1)
    await index.apply([Entry(entry.memory, None)])
    assert await index.holds([Entry(entry.memory, None)])
    assert not await index.holds([entry])


async def test_a_search_sees_its_project_alone(index):
    ours, theirs = an_entry(1, "cart", project_id="p"), an_entry(2, "cart", project_id="q")
    await index.apply([ours, theirs])
    assert await found(index, "cart") == (names(ours), names(ours))
    assert await found(index, "cart", Condition(project_id="r")) == ([], [])


async def test_types_and_files_narrow_both_arms(index):
    plain = an_entry(1, "cart")
    typed = an_entry(2, "cart", type=MemoryType.DEAD_END)
    filed = an_entry(3, "cart", files=("src/a.py", "src/b.py"))
    await index.apply([plain, typed, filed])

    async def only(**condition):
        by_vector, by_words = await found(index, "cart", Condition(project_id="p", **condition))
        assert sorted(by_vector) == sorted(by_words)
        return sorted(by_words)

    assert await only() == names(plain, typed, filed)
    assert await only(types=("dead_end",)) == names(typed)
    assert await only(types=("dead_end", "gotcha")) == names(plain, typed, filed)
    assert await only(files=("src/b.py", "src/c.py")) == names(filed)
    assert await only(types=("dead_end",), files=("src/a.py",)) == []


async def test_each_arm_gives_as_many_as_it_was_asked_for_best_first(index):
    entries = [an_entry(number, "word " * number) for number in range(1, 9)]
    await index.apply(entries)
    arms = await index.search("word", ANYWHERE, dense=3, keyword=5, within=SOON)
    assert (len(arms.dense), len(arms.keyword)) == (3, 5)
    for arm in (arms.dense, arms.keyword):
        scores = [score for _, score in arm]
        assert scores == sorted(scores, reverse=True)


async def test_how_rare_a_word_is_depends_on_the_project_alone(index):
    await index.apply([an_entry(1, "cart wheel"), an_entry(2, "wheel"), an_entry(3, "sail")])
    before = await index.search("cart wheel", ANYWHERE, dense=9, keyword=9, within=SOON)
    await index.apply([an_entry(10 + n, "cart", project_id="q") for n in range(30)])
    after = await index.search("cart wheel", ANYWHERE, dense=9, keyword=9, within=SOON)
    assert dict(after.keyword) == pytest.approx(dict(before.keyword))


async def test_a_memory_is_found_by_its_files_and_tags(index):
    entry = an_entry(1, "mind this", files=("src/cart.py",), tags=("rounding",))
    await index.apply([entry])
    assert (await found(index, "cart.py"))[1] == names(entry)
    assert (await found(index, "rounding"))[1] == names(entry)


@pytest.mark.parametrize("content", ["...", "ünïcode 漢字 🚢", "x" * 20_000, "a\x00b", "-- ' \" ;"])
async def test_any_text_goes_in_and_is_held(index, content):
    entry = an_entry(2**48 - 1, content, files=(f"dir/{content[:50]}",))
    await index.apply([entry])
    assert await index.holds([entry])
    assert (await found(index, content))[0] == names(entry)


async def test_memories_alike_to_the_letter_are_all_held(index):
    entries = [an_entry(number, "the same words", axis=1) for number in range(1, 200)]
    await index.apply(entries)
    assert await index.holds(entries)


async def test_nothing_of_it_is_left_when_it_is_built_anew(index):
    await index.apply([an_entry(1)])
    await index.flush(7)
    await index.rebuild()
    state = await index.state()
    assert (state.applied, state.count) == (0, 0)
    await index.apply([an_entry(2)])
    assert await index.holds([an_entry(2)])


async def test_what_was_flushed_is_there_when_it_is_opened_again(opened):
    entry = an_entry(1, "cart")
    async with opened() as index:
        await index.apply([entry])
        await index.flush(7)
    async with opened() as index:
        state = await index.state()
        assert (state.applied, state.count) == (7, 1)
        assert await index.holds([entry])


async def test_texts_are_embedded_by_the_model_that_is_said(index):
    one, other, again = await index.embed(["a text", "another", "a text"])
    assert (one.model, one.dimensions, one.pooling) == (MODEL, DIMENSIONS, "mean")
    assert one.text_hash == text_hash("a text") != other.text_hash
    assert one == again != other
    assert len(one.values) == 2 * DIMENSIONS


async def test_a_text_is_found_by_its_own_vector_first(index):
    texts = ["the cart rounds to cents", "anchors are heavy", "sails need wind"]
    vectors = await index.embed(texts)
    memories = [a_memory(number, text, seq=number) for number, text in enumerate(texts, 1)]
    await index.apply([Entry(*each) for each in zip(memories, vectors, strict=True)])
    arms = await index.search("anchors are heavy", ANYWHERE, dense=3, keyword=3, within=SOON)
    assert arms.dense[0] == (memories[1].id, pytest.approx(1.0, abs=0.01))


async def test_vectors_of_another_model_are_refused(index):
    entry = dataclasses.replace(an_entry(1), vector=a_vector("", 1, model="m2"))
    with pytest.raises(SidecarError, match="m2"):
        await index.apply([entry])
    with pytest.raises(SidecarError, match="m2"):
        await index.holds([entry])
    assert (await index.state()).count == 0


async def test_without_a_model_words_alone_answer(opened):
    entry = Entry(a_memory(1, "cart", seq=1), None)
    async with opened(None) as index:
        assert (await index.state()).model == ""
        assert await index.embed(["a text"]) == []
        await index.apply([entry])
        assert await index.holds([entry])
        assert await found(index, "cart") == ([], names(entry))


async def test_an_index_of_another_model_starts_empty(opened):
    async with opened("m1") as index:
        await index.apply([an_entry(1)])
        await index.flush(1)
    for other in ("m2", None, "m1"):
        async with opened(other) as index:
            state = await index.state()
            assert (state.applied, state.count, state.model) == (0, 0, other or "")
            await index.flush(1)
