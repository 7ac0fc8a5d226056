"""What `session.observe(event)` takes from the agent's thread.

Timed: `perf_counter_ns()` before and after one call with a prebuilt event, on the thread that made
the session, garbage collection on, nothing subtracted. A bare `deque.append` is timed in the same
way right beside it, and so is nothing at all: the timer's own cost, the floor.

The sidecar is alive, dead (SIGKILL, its socket left behind) or frozen (SIGSTOP). In each:
- paced: an agent's step of four observations after a wait of 1 ms, some JSON work before each;
- burst: 250 observations at once, and the next 250 while the sender still works on earlier ones;
- full (dead and frozen only): the buffer holds all it can, every observation is dropped.
Alive, paced as fast as the sidecar takes events in, nothing may be dropped. Dead and frozen, fresh
clients with room in their buffers take turns, except in the full case.

Bar: p50 ≤ 0.5 µs and p99 ≤ 10 µs in every case; every drop counted.

How an agent is paced decides the median: four observations a step stay under the bar because three
of them find the processor's caches warm. A single observation straight after a sleep finds them
cold; it is shown without a bar, and its p50 would miss one of 0.5 µs on most machines.
"""

from __future__ import annotations

import itertools
import json
import logging
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from bench import journal
from bench.measure import Spread, spread
from bench.report import Report, Row, at_most, conclude, parser
from bench.sidecar import Sidecar, SidecarFailed
from seamark import Client, Outcome, Session, ToolReturned

COUNT = 50_000
P50_BAR = at_most(0.5)  # microseconds
P99_BAR = at_most(10.0)

STEP = 4  # observations
WAIT = 0.001  # seconds
BURST = 250
# A client's share of the observations while nothing is acknowledged; its buffer has 8,192 places.
ROUND = 8_000
MOST_WAITING = 2_000  # entries; fewer than fit, so that the alive sidecar's client never drops
FLUSH = 30.0  # seconds

EVENT = ToolReturned(
    call_id="call_0123456789",
    outcome=Outcome.OK,
    result="def total(rows):\n    return sum(row.cents for row in rows)\n" * 4,
)
_MESSAGE = {
    "role": "assistant",
    "content": "The totals are kept in cents. " * 20,
    "tool_calls": [{"name": "read_file", "args": {"path": f"src/{n}.py"}} for n in range(4)],
}

Pace = Callable[[int, "Agent"], Iterator[None]]


def _nanoseconds() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Timings:
    """One case: nanoseconds for each call, its peer and the timer."""

    observe: array[int] = field(default_factory=_nanoseconds)
    append: array[int] = field(default_factory=_nanoseconds)
    timer: array[int] = field(default_factory=_nanoseconds)
    # How often the sender had work left right before an observation.
    backlog: int = 0
    dropped: int = 0
    # Observations that are neither stored, nor waiting, nor counted as dropped.
    unaccounted: int = 0


@dataclass(slots=True)
class Agent:
    """A session with what it reported so far."""

    client: Client
    session: Session
    observed: int = 0

    @property
    def waiting(self) -> int:
        """Entries in the buffer."""
        return len(self.client.outbox.queue)

    def unacknowledged(self) -> int:
        """Observations that still wait to be sent, or for their acknowledgement."""
        return len(self.client.outbox.unacknowledged(self.session, self.observed))


def run(count: int = COUNT) -> Report:
    """Measures every case."""
    # That it goes without memory is wanted here, not worth a warning for each client.
    logging.getLogger("seamark").setLevel(logging.ERROR)
    cases: dict[str, Timings] = {}
    with Sidecar() as sidecar:
        cases["alive, paced"] = _alive(sidecar, count, _paced)
        cases["alive, burst"] = _alive(sidecar, count, _bursts_taken_in)
        cold = _alive(sidecar, max(1, count // 5), _cold)
        # Its clients are known to the sidecar before it dies, so that they have events to send.
        with_room = [[_agent(sidecar) for _ in range(_rounds(count))] for _ in range(4)]
        overfull = [_agent(sidecar) for _ in range(2)]
        sidecar.freeze()
        cases["frozen, paced"] = _in_rounds(with_room[0], count, _paced)
        cases["frozen, burst"] = _in_rounds(with_room[1], count, _bursts)
        cases["frozen, full"] = _full(overfull[0], count)
        sidecar.thaw()
        sidecar.kill()
        cases["dead, paced"] = _in_rounds(with_room[2], count, _paced)
        cases["dead, burst"] = _in_rounds(with_room[3], count, _bursts)
        cases["dead, full"] = _full(overfull[1], count)
    rows = [row for name, timings in cases.items() for row in _rows(name, timings)]
    timer = spread(itertools.chain.from_iterable(each.timer for each in cases.values()))
    return Report(
        name="observe",
        counts=f"{count:,} observations a case; {len(cold.observe):,} straight after a sleep",
        rows=(
            *rows,
            *_rows("alive, straight after a sleep", cold, with_bars=False),
            Row(figure="the timer alone, p50", value=timer.p50 / 1e3, unit="µs"),
            Row(
                figure="dropped with room in the buffer",
                value=sum(each.dropped for name, each in cases.items() if "full" not in name),
                bar=at_most(0),
            ),
            Row(
                figure="dropped by a full buffer",
                value=sum(each.dropped for name, each in cases.items() if "full" in name),
            ),
            Row(
                figure="observations unaccounted for",
                value=sum(each.unaccounted for each in cases.values()),
                bar=at_most(0),
            ),
        ),
        notes=(
            "Timed: perf_counter_ns before and after one call on the agent's thread, garbage "
            "collection on, nothing subtracted. The timer alone is the floor of every figure.",
            "The sender had events left to send at this share of the observations: "
            + "; ".join(f"{name} {_share(each):.0%}" for name, each in cases.items())
            + ". Dead, its calls fail at once and it waits before the next one.",
            "The paced cases have four observations a step. With one a step the caches are cold "
            "each time, as they are straight after a sleep: that figure has no bar, and "
            + ("would meet" if P50_BAR.is_met_by(_microseconds(cold.observe).p50) else "would miss")
            + " the one for p50.",
        ),
    )


def _agent(sidecar: Sidecar) -> Agent:
    client = sidecar.client()
    session = client.start_session(project_name="bench")
    if not session.is_established:
        raise SidecarFailed(f"no session could be started: {client.why_without_memory}")
    return Agent(client, session)


def _rounds(count: int) -> int:
    return -(-count // ROUND)


def _alive(sidecar: Sidecar, count: int, pace: Pace) -> Timings:
    """Everything is stored in the end."""
    agent = _agent(sidecar)
    timings = Timings()
    _time(agent, pace(count, agent), timings)
    if not agent.client.flush(FLUSH):
        raise SidecarFailed(f"the sidecar did not take the events in within {FLUSH:g} s")
    timings.dropped = agent.client.dropped
    stored = journal.count(sidecar.data_dir, agent.session.id)
    timings.unaccounted = agent.observed - timings.dropped - stored
    agent.client.close()
    return timings


def _in_rounds(agents: Iterable[Agent], count: int, pace: Pace) -> Timings:
    """Nothing is acknowledged; each agent takes as much as its buffer has room for."""
    timings = Timings()
    left = count
    for agent in agents:
        share = min(ROUND, left)
        left -= share
        _time(agent, pace(share, agent), timings)
        _account(agent, timings)
    return timings


def _full(agent: Agent, count: int) -> Timings:
    """The buffer is full before the first timed observation."""
    timings = Timings()
    while not agent.client.dropped:
        agent.session.observe(EVENT)
        agent.observed += 1
        if agent.waiting == agent.client.settings.buffer:
            # The sender takes its one batch out; after that nothing moves any more.
            time.sleep(0.1)
    _time(agent, _bursts(count, agent), timings)
    _account(agent, timings)
    return timings


def _account(agent: Agent, timings: Timings) -> None:
    timings.dropped += agent.client.dropped
    timings.unaccounted += agent.observed - agent.client.dropped - agent.unacknowledged()
    agent.client.close(timeout=0)


def _time(agent: Agent, pace: Iterator[None], timings: Timings) -> None:
    clock = time.perf_counter_ns
    observe = agent.session.observe
    queue = agent.client.outbox.queue
    # Bounded, so that it costs no memory; as deep as ours when it is full.
    peer: deque[ToolReturned] = deque(maxlen=agent.client.settings.buffer)
    append = peer.append
    event = EVENT
    for _ in pace:
        timings.backlog += bool(queue)
        before = clock()
        observe(event)
        after = clock()
        timings.observe.append(after - before)
        agent.observed += 1
        next(pace)
        before = clock()
        append(event)
        after = clock()
        timings.append.append(after - before)
        before = clock()
        after = clock()
        timings.timer.append(after - before)


# Each pace yields twice for an observation: before it, and before its peer.


def _paced(count: int, agent: Agent) -> Iterator[None]:
    """Steps of an agent: it waits for its model, then works on what came."""
    for number in range(count):
        if number % STEP == 0:
            time.sleep(WAIT)
        json.loads(json.dumps(_MESSAGE))
        yield
        json.loads(json.dumps(_MESSAGE))
        yield


def _bursts(count: int, agent: Agent) -> Iterator[None]:
    """One burst after the other; the sender gets its turn between them."""
    for number in range(count):
        if number % BURST == 0:
            time.sleep(WAIT)
        yield
        yield


def _bursts_taken_in(count: int, agent: Agent) -> Iterator[None]:
    """The next burst comes when the buffer has room for it, and not when it is empty."""
    for number in range(count):
        if number % BURST == 0:
            while agent.waiting > MOST_WAITING:
                time.sleep(WAIT)
        yield
        yield


def _cold(count: int, agent: Agent) -> Iterator[None]:
    """One at a time, each straight after a sleep."""
    for _ in range(count):
        time.sleep(WAIT / 4)
        yield
        time.sleep(WAIT / 4)
        yield


def _share(timings: Timings) -> float:
    return timings.backlog / len(timings.observe)


def _rows(name: str, timings: Timings, *, with_bars: bool = True) -> list[Row]:
    observe, append = _microseconds(timings.observe), _microseconds(timings.append)
    return [
        Row(
            figure=f"observe, {name}, p50",
            value=observe.p50,
            unit="µs",
            peer="deque.append",
            peer_value=append.p50,
            bar=P50_BAR if with_bars else None,
        ),
        Row(
            figure=f"observe, {name}, p99",
            value=observe.p99,
            unit="µs",
            peer="deque.append",
            peer_value=append.p99,
            bar=P99_BAR if with_bars else None,
        ),
    ]


def _microseconds(nanoseconds: Iterable[int]) -> Spread:
    return spread(nanoseconds).scaled(1e-3)


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--count", type=int, default=COUNT, help="observations a case")
    chosen = options.parse_args()
    return conclude(run(chosen.count), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
