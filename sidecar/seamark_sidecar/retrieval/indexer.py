"""Keeps the index equal to the record."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from seamark_sidecar.model.errors import SidecarError, WorkerFault, WorkerGone
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.vector import Vector
from seamark_sidecar.retrieval.index import Entry, Index, text_hash

log = structlog.get_logger("seamark.index")

BATCH = 128
EMBED_BATCH = 4  # small, so that a query waits for one such batch at the most
# Memories that are compared when the index is opened: the newest, and any.
NEWEST = 128
ANY = 32
FLUSH_AFTER = 2.0  # seconds after the last change
FLUSH_EVERY = 4096  # changes, when there is no such pause
RETRY_AFTER = 0.2  # seconds, doubled at each failure; a new life of the index ends the wait
LONGEST_RETRY = 30.0
# A worker that dies so often before the index is open dies of the index.
MOST_LIVES = 2


class Record(Protocol):
    """What the index is a copy of."""

    async def changes(self, after: int, limit: int) -> list[Memory]:
        """Memories changed after this `seq`, in its order."""

    async def last_seq(self) -> int: ...

    async def memory_count(self) -> int: ...

    async def vectors(self, memory_ids: Sequence[str], model: str) -> Mapping[str, Vector]:
        """Their stored vectors of this model."""

    async def put_vectors(self, vectors: Mapping[str, Vector]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the index is behind."""

    ready: bool
    applied: int
    last: int
    rebuilds: int
    # Of its vectors; empty without one.
    model: str
    # What keeps it behind, or without its model; empty when all is well.
    fault: str


class Indexer:
    """Follows the record by `seq`; starts anew whenever index and record disagree."""

    def __init__(self, record: Record, index: Index) -> None:
        self._record = record
        self._index = index
        self._ready = False
        self._model = ""
        self._applied = 0
        self._flushed = 0
        self._rebuilds = 0
        # What is known of the index is of this life of it.
        self._life = 0
        self._lives_unopened = 0
        self._fault = ""
        self._model_fault = ""
        self._changed = asyncio.Event()
        self._reopened = asyncio.Event()
        self._caught_up = asyncio.Condition()
        # It catches up at this moment; not while something keeps it from that.
        self.at_work = False

    @property
    def is_ready(self) -> bool:
        """Whether the index holds what it should, but for the newest changes."""
        return self._ready

    @property
    def applied(self) -> int:
        """The latest change that can be found."""
        return self._applied

    async def progress(self) -> Progress:
        """For the status."""
        return Progress(
            ready=self._ready,
            applied=self._applied,
            last=await self._record.last_seq(),
            rebuilds=self._rebuilds,
            model=self._model,
            fault=self._fault or self._model_fault,
        )

    def poke(self) -> None:
        """The record has changed."""
        self._changed.set()

    def reopen(self) -> None:
        """The index may have lost something: its worker was started anew."""
        self._lives_unopened = 0 if self._ready else self._lives_unopened + 1
        self._begin_life()

    def suspect(self) -> None:
        """The index failed at what it was asked, so it is compared with the record again."""
        if self._ready:
            self._begin_life()

    async def wait_for(self, seq: int, within: float) -> bool:
        """Waits until a change can be found; False when that takes longer."""
        self.poke()
        try:
            async with asyncio.timeout(within), self._caught_up:
                await self._caught_up.wait_for(lambda: self._ready and self._applied >= seq)
        except TimeoutError:
            return False
        return True

    async def run_forever(self) -> None:
        """Follows the record until it is cancelled; a worker that is away is waited for."""
        wait = RETRY_AFTER
        while True:
            self.at_work = True
            try:
                if not self._ready:
                    await self._open()
                await self._follow()
                self._fault, wait = "", RETRY_AFTER
                self.at_work = False
                await self._pause()
            except SidecarError as error:
                self.at_work = False
                self._failed(error)
                await _set_within(self._reopened, wait)
                wait = min(LONGEST_RETRY, wait * 2)
            except Exception:
                self.at_work = False
                log.exception("index_failed")
                self._fault = "the index cannot be kept up to date; the log says why"
                await _set_within(self._reopened, LONGEST_RETRY)

    async def close(self) -> None:
        """Makes the last changes durable; what cannot be is repeated at the next start."""
        try:
            if self._ready:
                await self._flush()
        except SidecarError as error:
            log.warning("index_not_flushed", reason=str(error))

    async def _open(self) -> None:
        """Replays what is missing, then compares; builds it anew on any difference."""
        life = self._life
        if not await self._is_sound():
            if self._life != life:
                return
            log.warning("index_rebuilding")
            self._rebuilds += 1
            await self._index.rebuild()
            if not await self._catch_up() and self._life == life:
                raise WorkerFault("the index differs from the record even after it was built anew")
        await self._flush()
        if self._life == life:
            self._lives_unopened = 0
            self._fault = ""
            self._ready = True
            await self._tell()

    async def _is_sound(self) -> bool:
        if self._lives_unopened > MOST_LIVES:
            return False
        try:
            return await self._catch_up()
        except WorkerFault as error:
            # Some damage shows only when it is used.
            log.warning("index_unusable", reason=str(error))
            return False

    async def _catch_up(self) -> bool:
        """Replays what is missing; whether the index then equals the record."""
        state = await self._index.state()
        self._model = state.model
        self._model_fault = state.fault
        self._applied = self._flushed = state.applied
        if state.applied > await self._record.last_seq():
            return False
        while True:
            before = await self._record.last_seq()
            await self._follow()
            if await self._agrees():
                return True
            # It may have been the record that moved.
            if await self._record.last_seq() == before:
                return False

    async def _follow(self) -> None:
        """Applies what the record has and the index has not."""
        life = self._life
        while self._life == life:
            changes = await self._record.changes(self._applied, BATCH)
            if not changes:
                return
            await self._index.apply(await self._entries(changes))
            if self._life != life:
                return
            self._applied = changes[-1].seq
            await self._tell()
            if self._applied - self._flushed >= FLUSH_EVERY:
                await self._flush()
                log.info(
                    "index_progress", applied=self._applied, last=await self._record.last_seq()
                )

    async def _entries(self, memories: Sequence[Memory]) -> list[Entry]:
        if not self._model:
            return [Entry(memory, None) for memory in memories]
        vectors = await self._stored(memories)
        missing = {each.id: embedded_text(each) for each in memories if each.id not in vectors}
        made: dict[str, Vector] = {}
        names = list(missing)
        for start in range(0, len(names), EMBED_BATCH):
            made |= await self._embedded(names[start : start + EMBED_BATCH], missing)
        if made:
            await self._record.put_vectors(made)
        return [Entry(each, vectors.get(each.id) or made.get(each.id)) for each in memories]

    async def _stored(self, memories: Sequence[Memory]) -> dict[str, Vector]:
        """The vectors that the record has of just these texts."""
        texts = {memory.id: embedded_text(memory) for memory in memories}
        stored = await self._record.vectors(list(texts), self._model)
        return {
            name: vector
            for name, vector in stored.items()
            if vector.text_hash == text_hash(texts[name])
            and len(vector.values) == 2 * vector.dimensions
        }

    async def _embedded(self, names: Sequence[str], texts: Mapping[str, str]) -> dict[str, Vector]:
        """Vectors of the texts; one that the model cannot take has none."""
        try:
            made = await self._index.embed([texts[name] for name in names])
        except WorkerFault as error:
            if len(names) == 1:
                log.warning("memory_not_embedded", memory_id=names[0], reason=str(error))
                return {}
            middle = len(names) // 2
            first = await self._embedded(names[:middle], texts)
            return first | await self._embedded(names[middle:], texts)
        if any(vector.model != self._model for vector in made) or len(made) != len(names):
            raise WorkerGone("the index worker was started anew with another model")
        return dict(zip(names, made, strict=True))

    async def _agrees(self) -> bool:
        if (await self._index.state()).count != await self._record.memory_count():
            return False
        memories = await self._sample()
        vectors = await self._stored(memories) if self._model else {}
        return await self._index.holds([Entry(each, vectors.get(each.id)) for each in memories])

    async def _sample(self) -> list[Memory]:
        last = await self._record.last_seq()
        found = await self._record.changes(max(0, last - NEWEST), NEWEST)
        for _ in range(ANY):
            found += await self._record.changes(random.randrange(last or 1), 1)
        return list({memory.id: memory for memory in found}.values())

    async def _flush(self) -> None:
        if self._applied > self._flushed:
            applied = self._applied
            await self._index.flush(applied)
            self._flushed = applied

    async def _pause(self) -> None:
        """Waits for a change; flushes when none comes for a while."""
        quiet = FLUSH_AFTER if self._applied > self._flushed else None
        if not await _set_within(self._changed, quiet):
            await self._flush()

    def _begin_life(self) -> None:
        self._life += 1
        self._ready = False
        self._changed.set()
        self._reopened.set()

    async def _tell(self) -> None:
        async with self._caught_up:
            self._caught_up.notify_all()

    def _failed(self, error: SidecarError) -> None:
        if isinstance(error, WorkerFault):
            self.suspect()
        if str(error) != self._fault:
            self._fault = str(error)
            # Whoever restarts a worker says so himself.
            level = log.info if isinstance(error, WorkerGone) else log.warning
            level("index_behind", reason=self._fault)


async def _set_within(event: asyncio.Event, seconds: float | None) -> bool:
    """Whether the event came; it is ready for the next one then."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


def embedded_text(memory: Memory) -> str:
    """What is embedded for a memory: its words, with where they belong."""
    return f"{memory.type.replace('_', ' ')}: {memory.content}"
