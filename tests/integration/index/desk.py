"""A record, its index worker and the indexer between them, all of them real."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from seamark_sidecar.index_worker import DATA_DIR
from seamark_sidecar.model.memory import Memory, MemoryType, Source, memory_id
from seamark_sidecar.retrieval.index import Condition
from seamark_sidecar.retrieval.indexer import Indexer
from seamark_sidecar.store.sqlite_memories import SqliteMemories
from seamark_sidecar.workers.index import IndexWorker
from seamark_sidecar.workers.worker import Worker

SCRIPTED = Path(__file__).with_name("scripted_worker.py")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON = 60.0  # seconds that are never needed but on a machine that is busy


def a_memory(number, content="", project_id="p", **changes):
    memory = Memory(
        id=memory_id(number),
        project_id=project_id,
        type=MemoryType.GOTCHA,
        content=content or f"memory number {number}",
        confidence=0.65,
        source=Source.AGENT_EXPLICIT,
        signal="recorded",
        created=NOW,
        accessed=NOW,
    )
    return dataclasses.replace(memory, **changes)


def install(data_dir, model_id, dimensions=16):
    """Makes the scripted model of this name the one that the next worker loads; None removes it."""
    path = data_dir / "scripted.json"
    if model_id is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(json.dumps({"id": model_id, "dimensions": dimensions}))


def embedded(data_dir):
    """The lines of all texts that were embedded so far."""
    path = data_dir / "embedded.txt"
    return path.read_text().splitlines() if path.exists() else []


def scripted_worker(data_dir, **options):
    worker = Worker("index", "unused", memory_cap=2 << 30, **options)
    worker._command = (sys.executable, str(SCRIPTED), DATA_DIR, str(data_dir))
    return worker


async def until(holds, within=SOON):
    """Waits until something holds."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"not within {within} s"
        await asyncio.sleep(0.005)


async def answering(worker):
    """Waits until the worker runs."""
    await until(lambda: worker.pid is not None)


class Desk:
    """What the sidecar wires together, without the sidecar."""

    def __init__(self, data_dir):
        self.data_dir = data_dir
        self.record = SqliteMemories(data_dir)
        self.record.open()
        self.worker = scripted_worker(data_dir, on_start=self._started)
        self.index = IndexWorker(self.worker)
        self.indexer = Indexer(self.record, self.index)
        self.project_id = ""
        self._following: asyncio.Task[None]

    async def start(self):
        self.project_id = (await self.record.project("key", "name", NOW)).id
        self.worker.start()
        self._following = asyncio.create_task(self.indexer.run_forever())

    async def stop(self):
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
        await self.indexer.close()
        await self.worker.stop()
        self.record.close(SOON)

    def _started(self):
        self.indexer.reopen()

    async def put(self, number, content="", **changes):
        changes.setdefault("project_id", self.project_id)
        memory = await self.record.put(a_memory(number, content, **changes))
        self.indexer.poke()
        return memory

    async def put_many(self, count, first=1):
        await asyncio.gather(*(self.put(number) for number in range(first, first + count)))

    async def caught_up(self, within=SOON):
        """Waits until the index has all there is."""
        assert await self.indexer.wait_for(await self.record.last_seq(), within), (
            await self.indexer.progress()
        )

    async def kill_worker(self):
        """Kills it and waits until there is another one."""
        await answering(self.worker)
        earlier = self.worker.pid
        # It may just have died by itself.
        with contextlib.suppress(ProcessLookupError):
            os.kill(earlier, signal.SIGKILL)
        await until(lambda: self.worker.pid not in {earlier, None})

    async def found(self, query, **condition):
        """Names by vector and by words."""
        condition.setdefault("project_id", self.project_id)
        arms = await self.index.search(
            query, Condition(**condition), dense=50, keyword=50, within=SOON
        )
        return [name for name, _ in arms.dense], [name for name, _ in arms.keyword]

    async def assert_equals_record(self):
        """The index has the record's memories, each in its newest version, and nothing else."""
        memories = await self.record.changes(0, 1_000_000)
        model = (await self.index.state()).model
        entries = await self.indexer._entries(memories)
        assert all((each.vector is not None) == bool(model) for each in entries)
        assert (await self.index.state()).count == len(memories)
        assert await self.index.holds(entries)


@contextlib.asynccontextmanager
async def desk_at(data_dir):
    desk = Desk(data_dir)
    await desk.start()
    try:
        yield desk
    finally:
        await desk.stop()
