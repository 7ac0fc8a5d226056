"""The program itself, as the sidecar starts it: its files, and what it does without a model."""

import os
import shutil
import stat

import pytest

from seamark_sidecar.index_worker import DATA_DIR
from seamark_sidecar.models.catalog import DEFAULT_MODEL
from seamark_sidecar.models.installed import models_dir
from seamark_sidecar.retrieval.index import Condition, Entry
from seamark_sidecar.retrieval.indexer import embedded_text
from seamark_sidecar.workers.index import IndexWorker
from seamark_sidecar.workers.worker import Worker
from tests.integration.index.desk import SOON, a_memory, answering, desk_at
from tests.shared_model import shared_model


@pytest.fixture
async def index(data_dir):
    arguments = (DATA_DIR, str(data_dir))
    worker = Worker("index", "seamark_sidecar.index_worker", arguments, memory_cap=2 << 30)
    worker.start()
    await answering(worker)
    yield IndexWorker(worker)
    await worker.stop()


async def test_with_no_model_installed_it_finds_words(index):
    entry = Entry(a_memory(1, "the cart rounds", seq=1), None)
    await index.apply([entry])
    assert await index.holds([entry])
    assert await index.embed(["a text"]) == []
    arms = await index.search("cart", Condition(project_id="p"), dense=5, keyword=5, within=SOON)
    assert arms.dense == ()
    assert [name for name, _ in arms.keyword] == [entry.memory.id]
    assert (await index.state()).fault == ""


@pytest.fixture
def a_model(data_dir):
    directory = models_dir(data_dir) / DEFAULT_MODEL
    shutil.copytree(shared_model(), directory)
    return directory


@pytest.mark.usefixtures("a_model")
async def test_with_a_model_it_finds_what_means_the_same(index):
    state = await index.state()
    assert (state.model, state.fault) == (DEFAULT_MODEL, "")
    texts = ["Prices are kept in cents.", "The tests need a running database.", "Sails need wind."]
    memories = [a_memory(number, text, seq=number) for number, text in enumerate(texts, 1)]
    vectors = await index.embed([embedded_text(memory) for memory in memories])
    entries = [Entry(*each) for each in zip(memories, vectors, strict=True)]
    await index.apply(entries)
    assert await index.holds(entries)
    condition = Condition(project_id="p")
    arms = await index.search("postgres server", condition, dense=5, keyword=5, within=SOON)
    assert arms.dense[0][0] == memories[1].id
    assert arms.keyword == ()


@pytest.fixture
def an_altered_model(a_model):
    path = a_model / "model.onnx"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)


@pytest.mark.usefixtures("an_altered_model")
async def test_an_altered_model_is_named_and_words_answer(index):
    state = await index.state()
    assert state.model == ""
    assert "model.onnx" in state.fault
    entry = Entry(a_memory(1, "the cart rounds", seq=1), None)
    await index.apply([entry])
    assert await index.holds([entry])


@pytest.fixture
def half_a_model(data_dir):
    directory = models_dir(data_dir) / DEFAULT_MODEL
    directory.mkdir(parents=True)
    (directory / "model.onnx").write_bytes(b"half")


@pytest.mark.usefixtures("half_a_model")
async def test_with_half_a_model_it_finds_words(index):
    assert (await index.state()).model == ""


async def test_its_files_are_its_users_alone_and_nowhere_else(data_dir):
    before = os.umask(0o022)
    try:
        async with desk_at(data_dir) as desk:
            await desk.put_many(10)
            await desk.caught_up()
            await desk.index.rebuild()
            await desk.index.flush(0)
    finally:
        os.umask(before)
    names = {path.name for path in data_dir.iterdir()}
    ours = {"index", "index.json", "index.lock"}
    assert ours < names
    assert {name for name in names - ours if "index" in name} == set()
    for name in ours:
        for path in (data_dir / name, *(data_dir / name).rglob("*")):
            mode = path.lstat().st_mode
            expected = 0o700 if stat.S_ISDIR(mode) else 0o600
            assert stat.S_IMODE(mode) == expected, path
