"""One kill after the other, at random moments of a busy sidecar, and a check after each."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from bench.measure import spread
from seamark import Client, Settings
from seamark_sidecar.model.memory import Memory, MemoryType, Source, memory_id
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.store.sqlite_memories import SqliteMemories
from tests.chaos.campaign import Result, await_index, leaks, of_calls
from tests.chaos.checks import Violation, check_store
from tests.chaos.family import Family, FamilyFailed
from tests.chaos.history import History, Reader, counts
from tests.chaos.model import lend_model, take_model_back
from tests.chaos.probe import Probe
from tests.chaos.pulse import Pulse
from tests.chaos.seat import Seat
from tests.chaos.torment import POINTS

MEMORIES = 1000
PROJECT = "chaos 0"
SEATS = 3
STEP_PAUSE = 0.04  # seconds
LONGEST_LIFE = 1.5  # seconds after it is ready
LONGEST_START = 0.4
FAULTY_LIFE = 2.0
PARKED_WITHIN = 15.0
FLUSH = 30.0
INDEX_WITHIN = 60.0
BLOCK = 25  # cycles with, then as many without the embedding model

# How the last sidecar ended, and the seconds until the next one must answer a step.
BARS: Mapping[str, float] = MappingProxyType({"stopped": 1.0, "killed": 6.0})

# How a cycle ends, and how often.
ENDS: Mapping[str, int] = MappingProxyType(
    {
        "kill sidecar": 10,
        "kill worker": 5,
        "kill both": 2,
        "kill while it starts": 3,
        "die at a point": 6,
        "stop": 3,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many kills, and with what luck."""

    cycles: int
    seed: int
    memories: int = MEMORIES
    # Whether the embedding model comes and goes.
    model: bool = True


def run(plan: Plan, directory: Path, say: Callable[[str], None]) -> Result:
    """All cycles; what they leave is in the directory."""
    result = Result()
    family = Family(directory, directory / "d")
    try:
        with _writers(plan, family, directory) as writers:
            Cycles(plan, family, writers, say, result).run()
    except FamilyFailed as error:
        result.violations.append(Violation("the sidecar failed", str(error), family.last_words()))
    finally:
        family.end()
    return result


@dataclass(frozen=True, slots=True)
class Writers:
    """Agents in this process that can be asked to sit still."""

    client: Client
    seats: Sequence[Seat]
    reader: Reader

    def park(self) -> None:
        """Everybody sits still, and all that was reported is acknowledged."""
        for seat in self.seats:
            seat.pause()
        for seat in self.seats:
            if not seat.await_pause(PARKED_WITHIN):
                raise FamilyFailed(f"an agent did not come back within {PARKED_WITHIN:g} s")
        if not self.client.flush(FLUSH):
            raise FamilyFailed(f"not all was acknowledged: {self.client.why_without_memory}")

    def resume(self) -> None:
        for seat in self.seats:
            seat.resume()


class Cycles:
    """The kills, and what is looked at between them."""

    def __init__(
        self,
        plan: Plan,
        family: Family,
        writers: Writers,
        say: Callable[[str], None],
        result: Result,
    ) -> None:
        self._plan = plan
        self._family = family
        self._writers = writers
        self._say = say
        self._result = result
        self._chance = random.Random(plan.seed)
        self._probe = Probe(family, PROJECT)
        self._model = False
        self._kills: Counter[str] = Counter()
        self._ready: defaultdict[str, list[float]] = defaultdict(list)
        self._equal: list[float] = []

    def run(self) -> None:
        self._family.data_dir.mkdir(mode=0o700)
        asyncio.run(_fill(self._family.data_dir, self._plan.memories))
        self._begin()
        for number in range(self._plan.cycles):
            (end,) = self._chance.choices(list(ENDS), list(ENDS.values()))
            if number % BLOCK == 0:
                self._say(f"cycle {number}, {'with' if self._model else 'without'} the model")
            self._writers.resume()
            time.sleep(self._chance.uniform(0, LONGEST_LIFE))
            switch = self._plan.model and (number + 1) % BLOCK == 0
            self._end(end if not switch else "kill sidecar", switch=switch)
            self._check()
            if self._result.violations:
                self._say(f"cycle {number}: {end}")
                break
        self._finish()

    def _begin(self) -> None:
        if not self._family.start(skewed=False):
            raise FamilyFailed("the sidecar did not start")
        self._probe.begin()
        await_index(self._family, embedded=False, within=INDEX_WITHIN)

    def _end(self, end: str, *, switch: bool) -> None:
        family = self._family
        how = "killed"
        match end:
            case "kill worker":
                self._kill_worker()
                return
            case "kill both":
                self._kill_worker()
                self._kill()
            case "kill while it starts":
                self._kill()
                family.launch(skewed=False)
                time.sleep(self._chance.uniform(0, LONGEST_START))
                self._kill()
            case "die at a point":
                self._kill()
                self._die_at_a_point()
            case "stop":
                family.stop()
                how = "stopped"
            case _:
                self._kill()
        if switch:
            self._switch_model()
        self._start(how)

    def _start(self, how: str) -> None:
        began = time.monotonic()
        self._family.launch(skewed=False)
        ready = self._probe.await_answer(began)
        if ready is None:
            raise FamilyFailed(f"the sidecar ended at its start with {self._family.exit_code}")
        self._ready[how].append(ready)

    def _kill(self) -> None:
        if self._family.is_running:
            self._family.kill()
            self._kills["sidecar"] += 1

    def _kill_worker(self) -> None:
        for worker in self._family.workers():
            worker.kill()
            self._kills["worker"] += 1

    def _die_at_a_point(self) -> None:
        point = self._chance.choice(POINTS)
        self._family.launch(f"{point}=kill:{self._chance.choice((0.03, 0.1, 0.3))}", skewed=False)
        limit = time.monotonic() + FAULTY_LIFE
        while self._family.is_running and time.monotonic() < limit:
            time.sleep(0.02)
        if self._family.is_running:
            self._kill()
        else:
            self._kills["at a point"] += 1

    def _switch_model(self) -> None:
        self._model = not self._model
        if self._model:
            lend_model(self._family.data_dir)
        else:
            take_model_back(self._family.data_dir)

    def _check(self) -> None:
        self._writers.park()
        began = time.monotonic()
        stored, different = await_index(self._family, embedded=self._model, within=INDEX_WITHIN)
        self._equal.append(time.monotonic() - began)
        told = self._writers.reader.read()
        told.take({"what": "flushed"})
        found = [*different, *check_store([told], stored), *of_calls(0, told)]
        self._result.violations += found

    def _finish(self) -> None:
        family, result = self._family, self._result
        client = self._writers.client
        if client.rejected or client.outbox.faults:
            detail = f"{client.rejected} refused, {client.outbox.faults} faults"
            result.violations.append(Violation("events were refused or lost", "sender", detail))
        result.violations += leaks(family)
        family.down()
        for trace in family.tracebacks():
            result.violations.append(Violation("the sidecar wrote a traceback", trace))
        for name in ("sidecar", "worker", "at a point"):
            result.add(f"kills: {name}", self._kills[name])
        result.add("orderly stops", len(self._ready["stopped"]))
        for how, bar in BARS.items():
            result.violations += self._tell_ready(how, bar)
        for name, number in counts([self._writers.reader.told]):
            result.add(name, number)
        result.add("index rebuilds", family.logged()["index_rebuilding"])
        equal = spread(self._equal)
        result.add("index = record after", f"{equal.p50:.2f} / {equal.p99:.2f} s (p50 / p99)")

    def _tell_ready(self, how: str, bar: float) -> Iterator[Violation]:
        if not self._ready[how]:
            return
        ready = spread(self._ready[how])
        said = f"{ready.p50:.2f} / {ready.p99:.2f} / {ready.most:.2f} s (p50 / p99 / longest)"
        self._result.add(f"first answered step after it was {how}", f"{said}, at most {bar:g}")
        if ready.p99 > bar:
            yield Violation("the sidecar was ready too late", how, said)


@contextmanager
def _writers(plan: Plan, family: Family, directory: Path) -> Iterator[Writers]:
    history = History(directory / "history-0.jsonl")
    client = Client(Settings(address=family.address))
    pulse = Pulse()
    over = threading.Event()
    seats = [
        Seat(
            client,
            history,
            f"c{number}",
            random.Random(f"{plan.seed}/{number}"),
            pulse,
            step_pause=STEP_PAUSE,
        )
        for number in range(SEATS)
    ]
    threads = [threading.Thread(target=seat.work, args=(over.is_set,)) for seat in seats]
    for seat, thread in zip(seats, threads, strict=True):
        seat.pause()
        thread.start()
    try:
        yield Writers(client, seats, Reader(directory / "history-0.jsonl"))
    finally:
        over.set()
        for seat in seats:
            seat.resume()
        for thread in threads:
            thread.join()
        client.close()
        pulse.stop()
        history.close()


async def _fill(data_dir: Path, count: int) -> None:
    """A record of so many memories."""
    record = SqliteMemories(data_dir)
    record.open()
    now = datetime.now(UTC)
    project = await record.project(f"name:{PROJECT}", PROJECT, now)
    await asyncio.gather(
        *(record.put(_memory(number, project.id, now)) for number in range(1, count + 1))
    )
    record.close(10.0)


def _memory(number: int, project_id: str, now: datetime) -> Memory:
    return Memory(
        id=memory_id(number),
        project_id=project_id,
        type=MemoryType.GOTCHA,
        content=f"Warehouse {number} counts parcels in dozens{number}, see ledger{number}",
        confidence=0.8,
        source=Source.AGENT_EXPLICIT,
        signal=SignalKind.RECORDED,
        files=(f"src/warehouse_{number}.py",),
        created=now,
        accessed=now,
    )
