"""The index against the record, whatever is done to its worker, its files and its model."""

import asyncio
import math
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.retrieval import sparse
from seamark_sidecar.retrieval.index import Condition
from seamark_sidecar.retrieval.indexer import embedded_text
from seamark_sidecar.retrieval.words import words
from seamark_sidecar.workers import worker as workers
from seamark_sidecar.workers.index import searched_text
from tests.integration.index.desk import NOW, SOON, Desk, install
from tests.integration.index.scripted_worker import scripted_embedder

VOCABULARY = ["cart", "cents", "readTokens", "src/cart.py", "anchor", "the", "retry"]
NUMBERS = st.integers(1, 12)
TEXTS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6).map(" ".join)
FILES = st.sampled_from([(), ("src/cart.py",), ("a.py", "b.py")])
TYPES = st.sampled_from([MemoryType.GOTCHA, MemoryType.DECISION])
MODELS = st.sampled_from([("m1", 16), ("m2", 8), (None, 0)])
QUERIES = ("cart cents", "anchor", "read the tokens")


@pytest.fixture(autouse=True, scope="module")
def hurry():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "LONGEST_BACKOFF", 0.02)
        patch.setattr(workers, "FIRST_BACKOFF", 0.02)
        yield


class IndexFollowsRecord(RuleBasedStateMachine):
    """All parts are real: a database, a worker process, the engine's files."""

    def __init__(self):
        super().__init__()
        self.data_dir = Path(tempfile.mkdtemp(prefix="seamark-index-"))
        self.runner = asyncio.Runner()
        install(self.data_dir, "m1")
        self.desk: Desk
        self.runner.run(self.start())

    def teardown(self):
        try:
            self.runner.run(self.compare())
        finally:
            self.runner.run(self.desk.stop())
            self.runner.close()
            shutil.rmtree(self.data_dir)

    async def start(self):
        self.desk = Desk(self.data_dir)
        await self.desk.start()
        other = await self.desk.record.project("other", "other", NOW)
        self.projects = (self.desk.project_id, other.id)

    @rule(number=NUMBERS, text=TEXTS, files=FILES, type_=TYPES)
    def put(self, number, text, files, type_):
        project_id = self.projects[number % 2]
        self.runner.run(self.desk.put(number, text, files=files, type=type_, project_id=project_id))

    @rule()
    def catch_up(self):
        self.runner.run(self.desk.caught_up())

    @rule()
    def compare_all(self):
        self.runner.run(self.compare())

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.05]))
    def kill_worker(self, seconds):
        async def kill():
            await asyncio.sleep(seconds)
            await self.desk.kill_worker()

        self.runner.run(kill())

    @rule(model=MODELS)
    def switch_model(self, model):
        install(self.data_dir, *model)
        self.runner.run(self.desk.kill_worker())

    @rule()
    def restart(self):
        self.away(lambda: None)

    @rule()
    def drop_meta(self):
        self.away(lambda: (self.data_dir / "index.json").unlink(missing_ok=True))

    @rule()
    def drop_directory(self):
        self.away(lambda: shutil.rmtree(self.data_dir / "index", ignore_errors=True))

    @rule(
        which=st.integers(0, 1000),
        how=st.sampled_from(["remove", "empty", "cut", "zero", "scribble"]),
        seed=st.integers(0, 2**32 - 1),
    )
    def damage_a_file(self, which, how, seed):
        def damage():
            files = [path for path in (self.data_dir / "index").rglob("*") if path.is_file()]
            if how == "scribble":
                # A large number in this one makes the engine take all the memory there is.
                files = [path for path in files if path.suffix != ".mappings"]
            if files:
                # Segments have random names.
                files.sort(key=lambda path: path.parts[-3:])
                damaged(files[which % len(files)], how, np.random.default_rng(seed))

        self.away(damage)

    def away(self, work):
        """Does something while nothing runs."""
        self.runner.run(self.desk.stop())
        work()
        self.runner.run(self.start())

    async def compare(self):
        await self.desk.caught_up()
        await self.desk.assert_equals_record()
        memories = await self.desk.record.changes(0, 1000)
        for project_id in self.projects:
            ours = [memory for memory in memories if memory.project_id == project_id]
            for query in QUERIES:
                await self.search_equals_brute_force(query, ours, Condition(project_id=project_id))
        for condition in (
            Condition(project_id=self.projects[0], types=("decision",)),
            Condition(project_id=self.projects[1], files=("a.py", "src/cart.py")),
        ):
            ours = [memory for memory in memories if memory.project_id == condition.project_id]
            await self.search_equals_brute_force(QUERIES[0], ours, condition)

    async def search_equals_brute_force(self, query, memories, condition):
        arms = await self.desk.index.search(query, condition, dense=99, keyword=99, within=SOON)
        allowed = {
            memory.id
            for memory in memories
            if (not condition.types or memory.type in condition.types)
            and (not condition.files or set(condition.files) & set(memory.files))
        }
        expected = {name: score for name, score in bm25(query, memories).items() if name in allowed}
        assert dict(arms.keyword) == pytest.approx(expected, rel=1e-4)
        embedder = scripted_embedder(self.data_dir)
        cosines = {
            memory.id: float(embedder.vector(query) @ embedder.vector(embedded_text(memory)))
            for memory in memories
            if embedder is not None and memory.id in allowed
        }
        assert dict(arms.dense) == pytest.approx(cosines, abs=5e-3)


def damaged(path, how, random):
    size = path.stat().st_size
    match how:
        case "remove":
            path.unlink()
        case "empty":
            os.truncate(path, 0)
        case "cut":
            os.truncate(path, int(random.integers(0, min(size, 4000) + 1)))
        case "zero":
            os.truncate(path, 0)
            os.truncate(path, size)
        case "scribble":
            with path.open("r+b") as file:
                file.seek(int(random.integers(0, min(size, 4000) + 1)))
                file.write(random.bytes(64))


def bm25(query, memories):
    """The formula written down plainly."""
    texts = {memory.id: Counter(words(searched_text(memory))) for memory in memories}
    scores: dict[str, float] = {}
    for word in set(words(query)):
        holding = [name for name, counts in texts.items() if word in counts]
        rarity = math.log(1 + (len(texts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for name in holding:
            count = texts[name][word]
            length = 0.25 + 0.75 * texts[name].total() / sparse.AVERAGE_LENGTH
            scores[name] = scores.get(name, 0.0) + rarity * count * 2.2 / (count + 1.2 * length)
    return scores


TestIndexFollowsRecord = IndexFollowsRecord.TestCase
# Processes are started and killed all along: fewer and shorter examples than elsewhere, and those
# that fail are not made shorter, which would take minutes.
TestIndexFollowsRecord.settings = settings(
    max_examples=max(1, settings().max_examples // 6),
    stateful_step_count=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
