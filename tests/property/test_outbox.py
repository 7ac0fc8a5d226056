"""The outbox against a model of it, with its real sender thread stopped at every delivery."""

import logging
import queue
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from seamark import outbox as outboxes
from seamark.errors import SidecarUnavailable
from seamark.events import UserSaid
from seamark.outbox import Entry, Outbox

CAPACITY = 6
BATCH = 4
PATIENCE = 2.0


@pytest.fixture(autouse=True, scope="module")
def hurry():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outboxes, "POLL", 0.0005)
        patch.setattr(outboxes, "BATCH", BATCH)
        patch.setattr(outboxes, "FIRST_BACKOFF", 0.0005)
        patch.setattr(outboxes, "LONGEST_BACKOFF", 0.001)
        # Goes to rest at every opportunity.
        patch.setattr(outboxes, "LONGEST_IDLE", 0.002)
        yield


@dataclass(eq=False)
class Producer:
    """Reports events and knows what became of them."""

    name: str
    sequence: int = 0
    dropped: int = 0
    # What a receiver that forgets duplicates has, in the order it got it.
    received: list[int] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)


class Gate:
    """Where the sender stops, says what it has, and waits to be told how the attempt ends."""

    def __init__(self):
        self.arrived: queue.Queue[Any] = queue.Queue()
        self.verdicts: queue.Queue[Any] = queue.Queue()

    def deliver(self, entries):
        return self.pass_through(list(entries))

    def pass_through(self, what: Any) -> Any:
        self.arrived.put(what)
        verdict = self.verdicts.get(timeout=PATIENCE)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict


class OutboxMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        logging.getLogger("seamark").setLevel(logging.ERROR)
        self.gate = Gate()
        self.outbox = Outbox(self.gate.deliver, CAPACITY)
        self.producers = [Producer("a"), Producer("b")]
        self.errands: list[Future[Any]] = []
        self.model_dropped = 0
        # What the sender holds, and what waits behind it; an errand is its number.
        self.held: Any = None
        self.waiting: list[Any] = []

    # What agents do.

    @rule(who=st.integers(0, 1))
    def observe(self, who):
        producer = self.producers[who]
        producer.sequence += 1
        entry = (producer, producer.sequence, 0.0, UserSaid(text=""))
        # As `Session.observe` does it.
        if len(self.outbox.queue) < self.outbox.capacity:
            self.outbox.queue.append(entry)
        else:
            self.outbox.drop(producer)
        if len(self.waiting) < CAPACITY:
            self.waiting.append(entry)
            self.advance()
        else:
            self.model_dropped += 1

    @rule(who=st.integers(0, 1))
    def send_on_an_errand(self, who):
        number = len(self.errands)
        result = self.outbox.run_errand(self.producers[who], lambda: self.gate.pass_through(number))
        self.errands.append(result)
        self.waiting.append(number)
        self.advance()

    @rule(who=st.integers(0, 1), limit=st.integers(1, 10))
    def ask_what_is_unacknowledged(self, who, limit):
        producer = self.producers[who]
        assert self.outbox.unacknowledged(producer, limit) == self.expected(producer)[:limit]

    @rule()
    def flush(self):
        if self.held is None:
            assert self.outbox.flush(PATIENCE)
        else:
            assert not self.outbox.flush(0)

    # How deliveries end.

    @precondition(lambda self: isinstance(self.held, list))
    @rule()
    def delivered(self):
        self.receive(self.held)
        self.acknowledge(self.held)
        self.held = None
        self.conclude([])

    @precondition(lambda self: isinstance(self.held, list))
    @rule(arrives=st.booleans())
    def not_acknowledged(self, arrives):
        """The call fails; whether it had arrived, nobody can tell."""
        if arrives:
            self.receive(self.held)
        self.conclude(SidecarUnavailable("away"))

    @precondition(lambda self: isinstance(self.held, list))
    @rule(keep=st.sets(st.integers(0, 1)))
    def partly_refused(self, keep):
        """The entries of some producers have to be sent again."""
        again = [entry for entry in self.held if self.producers.index(entry[0]) in keep]
        done = [entry for entry in self.held if entry not in again]
        self.receive(done)
        self.acknowledge(done)
        self.held = again or None
        self.conclude(again)

    @precondition(lambda self: isinstance(self.held, list))
    @rule()
    def meets_a_fault_of_our_own(self):
        self.model_dropped += len(self.held)
        self.held = None
        self.conclude(RuntimeError("fault"))

    @precondition(lambda self: isinstance(self.held, int))
    @rule()
    def errand_succeeds(self):
        result = self.errands[self.held]
        self.held = None
        self.conclude("done")
        assert result.result(PATIENCE) == "done"

    @precondition(lambda self: isinstance(self.held, int))
    @rule()
    def errand_fails_for_now(self):
        self.conclude(SidecarUnavailable("away"))

    @precondition(lambda self: isinstance(self.held, int))
    @rule()
    def errand_meets_a_fault(self):
        result = self.errands[self.held]
        self.held = None
        self.conclude(RuntimeError("fault"))
        assert result.result(PATIENCE) is None

    # What must always hold.

    @invariant()
    def drops_are_counted_exactly(self):
        assert self.outbox.dropped == self.model_dropped
        assert sum(producer.dropped for producer in self.producers) == self.model_dropped

    @invariant()
    def nothing_acknowledged_is_lost(self):
        for producer in self.producers:
            assert set(producer.acknowledged) <= set(producer.received)

    @invariant()
    def the_order_of_a_producer_is_kept(self):
        for producer in self.producers:
            assert producer.received == sorted(set(producer.received))

    def teardown(self):
        while self.held is not None:
            if isinstance(self.held, int):
                self.errand_succeeds()
            else:
                self.delivered()
        assert self.outbox.flush(PATIENCE)
        assert all(errand.done() for errand in self.errands)
        for producer in self.producers:
            assert producer.sequence == len(producer.acknowledged) + producer.dropped
        self.outbox.close(PATIENCE)
        self.outbox.join(PATIENCE)
        self.drops_are_counted_exactly()

    # The model.

    def expected(self, producer: Producer) -> list[Entry]:
        held = self.held if isinstance(self.held, list) else []
        waiting = [entry for entry in self.waiting if not isinstance(entry, int)]
        return [entry for entry in [*held, *waiting] if entry[0] is producer]

    def conclude(self, verdict: Any) -> None:
        """Tells the sender how its attempt ended, and waits until it stands at the gate again."""
        self.gate.verdicts.put(verdict)
        if self.held is not None:
            assert self.gate.arrived.get(timeout=PATIENCE) == self.held
        elif self.waiting:
            self.advance()
        else:
            assert self.outbox.flush(PATIENCE)

    def advance(self) -> None:
        """An idle sender takes what comes next, and nothing else."""
        if self.held is not None or not self.waiting:
            return
        if isinstance(self.waiting[0], int):
            self.held = self.waiting.pop(0)
        else:
            self.held = []
            while self.waiting and len(self.held) < BATCH:
                if isinstance(self.waiting[0], int):
                    break
                self.held.append(self.waiting.pop(0))
        assert self.gate.arrived.get(timeout=PATIENCE) == self.held

    def receive(self, entries: Sequence[Entry]) -> None:
        for producer, sequence, _, _ in entries:
            if sequence not in producer.received:
                producer.received.append(sequence)

    def acknowledge(self, entries: Sequence[Entry]) -> None:
        for producer, sequence, _, _ in entries:
            assert sequence not in producer.acknowledged, "acknowledged twice"
            producer.acknowledged.append(sequence)


TestOutbox = OutboxMachine.TestCase
