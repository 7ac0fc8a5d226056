"""Agents work while everything breaks; then the sidecar is started clean and checked."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.agents import FLUSH, Order
from tests.chaos.checks import Violation, check_index, check_store
from tests.chaos.descriptors import once_released
from tests.chaos.disk import Disk
from tests.chaos.family import Family, FamilyFailed, clean_environment
from tests.chaos.history import Reader, Told, counts
from tests.chaos.model import lend_model
from tests.chaos.seat import SLACK
from tests.chaos.stored import Stored, indexed
from tests.chaos.torment import Tormentor

PROCESSES = 4
CALM = 3.0  # seconds that the agents go on when nothing torments them any more
INDEX_WITHIN = 120.0  # seconds until the index must equal the record
WORKER_WITHIN = 5.0
MOST_SEARCHED = 300
_PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, and with what luck."""

    seconds: float
    sessions: int
    seed: int
    processes: int = PROCESSES
    # Whether the index works with the embedding model.
    model: bool = False


@dataclass(slots=True)
class Result:
    """What was seen."""

    rows: list[tuple[str, str]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def add(self, figure: str, value: object) -> None:
        self.rows.append((figure, f"{value:,}" if isinstance(value, int) else str(value)))


def run(plan: Plan, directory: Path, say: Callable[[str], None]) -> Result:
    """One campaign; all that it leaves is in the directory."""
    result = Result()
    disk = Disk(directory / "disk")
    family = Family(directory, disk.path / "d")
    try:
        _campaign(plan, family, disk, directory, say, result)
    except FamilyFailed as error:
        result.violations.append(Violation("the sidecar failed", str(error), family.last_words()))
    finally:
        family.end()
        if result.violations:
            _keep(family.data_dir, directory / "data")
        disk.remove()
    return result


def _campaign(
    plan: Plan,
    family: Family,
    disk: Disk,
    directory: Path,
    say: Callable[[str], None],
    result: Result,
) -> None:
    if plan.model:
        family.data_dir.mkdir(mode=0o700)
        lend_model(family.data_dir)
    if not family.start():
        raise FamilyFailed("the sidecar did not start")
    tormentor = Tormentor(family, disk, random.Random(plan.seed), say)
    histories = [directory / f"history-{number}.jsonl" for number in range(plan.processes)]
    with _agents(plan, family.address, histories, directory) as processes:
        tormentor.torment(time.monotonic() + plan.seconds)
        tormentor.calm()
        say("calm")
        for process in processes:
            _await(process)
    told = [Reader(path).read() for path in histories]
    say("checking")
    family.down()
    result.violations += _of_agents(told, directory)
    result.violations += _afterwards(plan, family, told)
    _tell(result, tormentor, family, told)


def _afterwards(plan: Plan, family: Family, told: list[Told]) -> Iterator[Violation]:
    """A clean start: the store holds what was promised, the index follows, nothing leaks."""
    if not family.start():
        raise FamilyFailed("the sidecar did not start after all was over")
    stored, different = await_index(family, embedded=plan.model, within=INDEX_WITHIN)
    yield from different
    yield from check_store(told, stored)
    yield from _unfound(family, told, stored)
    yield from leaks(family)
    family.down()
    # Once more from what is on disk, now that nobody has it open.
    yield from check_index(Stored.read(family.data_dir), indexed(family.data_dir), embedded=False)
    for trace in family.tracebacks():
        yield Violation("the sidecar wrote a traceback", trace)


def await_index(family: Family, *, embedded: bool, within: float) -> tuple[Stored, list[Violation]]:
    """Waits until index and record are the same; else what still differs."""
    limit = time.monotonic() + within
    while True:
        stored = Stored.read(family.data_dir)
        different = list(check_index(stored, indexed(family.data_dir), embedded=embedded))
        if not different:
            different = list(_own_view(family, stored))
        if not different or time.monotonic() > limit:
            return stored, different
        time.sleep(0.1)


def _own_view(family: Family, stored: Stored) -> Iterator[Violation]:
    """What the sidecar itself says of its index, where it says anything."""
    status = family.status()
    if not status.HasField("index"):
        return
    index = status.index
    if not index.ready or index.applied_seq != stored.last_seq:
        yield Violation(
            "the sidecar says that its index is behind",
            f"{index.applied_seq} of {stored.last_seq}",
            f"ready: {index.ready}",
        )


def _unfound(family: Family, told: Iterable[Told], stored: Stored) -> Iterator[Violation]:
    """Memories that were named as learnt are found by their own words."""
    contents = {memory.id: memory.content for memory in stored.memories}
    projects = {
        memory: session.project
        for one in told
        for session in one.sessions.values()
        for memory in session.learnt
        if memory in contents
    }
    for memory in list(projects)[-MOST_SEARCHED:]:
        if memory not in family.find(projects[memory], contents[memory]):
            yield Violation("a memory is not found by its own words", memory, contents[memory])


def leaks(family: Family) -> Iterator[Violation]:
    """Workers that die and clients that go leave no descriptor behind in the sidecar."""
    before = family.descriptors()
    for _ in range(3):
        old = family.workers()
        for worker in old:
            worker.kill()
        family.await_worker(other_than=old, within=WORKER_WITHIN)
        family.status()
    after = once_released(family.descriptors, len(before))
    if len(after) > len(before):
        yield Violation("the sidecar leaks descriptors", str(len(after)), f"{before} {after}")


def _of_agents(told: Sequence[Told], directory: Path) -> Iterator[Violation]:
    """What the agents themselves have to complain about."""
    for number, one in enumerate(told):
        yield from of_calls(number, one)
        account = one.account
        if not account:
            yield Violation("a process of agents gave no account", f"process {number}")
            continue
        if not account["flushed"]:
            yield Violation(
                "not all was acknowledged in the end", f"process {number}", account["why"]
            )
        if account["rejected"] or account["faults"]:
            detail = f"{account['rejected']} refused, {account['faults']} faults"
            yield Violation(
                "events were refused or lost by the sender", f"process {number}", detail
            )
        if len(account["descriptors_after"]) > len(account["descriptors_before"]):
            detail = f"{account['descriptors_before']} {account['descriptors_after']}"
            yield Violation("an agent's process leaks descriptors", f"process {number}", detail)
        said = (directory / f"agents-{number}.err").read_text(errors="replace").strip()
        if said:
            yield Violation("an agent's process wrote to standard error", f"process {number}", said)


def of_calls(process: int, told: Told) -> Iterator[Violation]:
    """Calls that raised, or took longer than they may."""
    for error in told.raised:
        yield Violation("an exception reached an agent", f"process {process}", error)
    for call in told.overdue:
        detail = f"{call['took']:.2f} s, {call['over']:.2f} s beyond its deadline"
        yield Violation("a call took too long", f"process {process}: {call['call']}", detail)


@contextmanager
def _agents(
    plan: Plan, address: str, histories: Sequence[Path], directory: Path
) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have begun to work."""
    with ExitStack() as stack:
        processes = []
        for number in range(plan.processes):
            process = _process(directory / f"agents-{number}.err")
            stack.callback(_end, process)
            processes.append(process)
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise FamilyFailed("a process of agents did not start")
        for number, process in enumerate(processes):
            order = Order(
                address=address,
                name=f"a{number}",
                seats=plan.sessions // plan.processes,
                seconds=plan.seconds + CALM,
                seed=f"{plan.seed}/{number}",
                history=str(histories[number]),
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(dataclasses.asdict(order)) + "\n")
            process.stdin.flush()
        yield processes


def _process(errors: Path) -> subprocess.Popen[str]:
    with errors.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.agents"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            cwd=_PROJECT,
            env=clean_environment(),
        )


def _await(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=FLUSH + 60)
    except subprocess.TimeoutExpired:
        raise FamilyFailed(f"the agents of process {process.pid} do not come to an end") from None
    if process.returncode:
        raise FamilyFailed(f"a process of agents ended with {process.returncode}")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()


def _tell(result: Result, tormentor: Tormentor, family: Family, told: list[Told]) -> None:
    stored = Stored.read(family.data_dir)
    logged = family.logged()
    result.add("SIGKILL of the sidecar", tormentor.sidecar_kills)
    result.add("SIGKILL of the index worker", tormentor.worker_kills)
    result.add("deaths at a fault point", tormentor.deaths_at_points)
    result.add("freezes", tormentor.freezes)
    result.add("orderly restarts", tormentor.restarts)
    for name, times in sorted(tormentor.done.items()):
        result.add(f"  {name}", times)
    result.add("starts of the sidecar", family.starts)
    result.add("index rebuilds", logged["index_rebuilding"])
    result.add("panics of the index engine", logged["panics"])
    for name, number in counts(told):
        result.add(name, number)
    result.add("events stored at the end", sum(map(len, stored.events.values())))
    result.add("memories stored", len(stored.memories))
    for name, (count, slowest, over) in sorted(_calls(told).items()):
        result.add(name, f"{count:,} calls, slowest {slowest:.3f} s, {over:+.3f} s to its deadline")
    late = max((one.account.get("late", 0.0) for one in told), default=0.0)
    result.add("an agent's process could not run for", f"{late:.2f} s in all")
    result.add("slack allowed for a call", f"{SLACK:g} s")


def _calls(told: Iterable[Told]) -> dict[str, tuple[int, float, float]]:
    calls: dict[str, tuple[int, float, float]] = {}
    for one in told:
        for name, times in one.account.get("calls", {}).items():
            count, slowest, over = calls.get(name, (0, 0.0, float("-inf")))
            calls[name] = (
                count + times["count"],
                max(slowest, times["slowest"]),
                max(over, times["most_over"]),
            )
    return calls


def _keep(data_dir: Path, target: Path) -> None:
    """Saves what a small disk would take with it."""
    subprocess.run(["cp", "-r", "--sparse=always", str(data_dir), str(target)], check=False)
