"""What the outbox promises when many threads use it, and when it ends."""

import gc
import random
import sys
import threading
import time
import weakref
from dataclasses import dataclass

import pytest

from seamark import outbox as outboxes
from seamark.errors import SidecarUnavailable
from seamark.events import UserSaid
from seamark.outbox import Outbox

BODY = UserSaid(text="")
PATIENCE = 10.0


@dataclass(eq=False)
class Producer:
    dropped: int = 0


class Receiver:
    """Takes everything, or nothing while it is away; forgets no call."""

    def __init__(self):
        self.away = False
        self.calls = 0
        self.got = []

    def deliver(self, entries):
        self.calls += 1
        if self.away:
            raise SidecarUnavailable("away")
        self.got.extend(sequence for _, sequence, _, _ in entries)
        return ()


@pytest.fixture
def receiver():
    return Receiver()


@pytest.fixture
def outbox(receiver):
    made = Outbox(receiver.deliver, 8192)
    yield made
    made.close(0)
    made.join(PATIENCE)


@pytest.fixture
def often():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def report(outbox, producer, sequence):
    """As `Session.observe` does it."""
    queue = outbox.queue
    if len(queue) < outbox.capacity:
        queue.append((producer, sequence, 0.0, BODY))
    else:
        outbox.drop(producer)


def together(count, work):
    start = threading.Barrier(count)

    def run(number):
        start.wait()
        work(number)

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_first_entries_of_many_threads_all_arrive(often):
    for _ in range(40):
        receiver = Receiver()
        outbox = Outbox(receiver.deliver, 8192)
        producer = Producer()

        def work(number, outbox=outbox, producer=producer):
            for each in range(3):
                report(outbox, producer, number * 3 + each)

        together(8, work)
        assert outbox.flush(PATIENCE)
        assert sorted(receiver.got) == list(range(24))
        outbox.close(0)


def test_entries_that_meet_a_sender_going_to_rest_arrive(outbox, receiver, often, monkeypatch):
    monkeypatch.setattr(outboxes, "POLL", 0.0002)
    monkeypatch.setattr(outboxes, "LONGEST_IDLE", 0.0003)
    producer = Producer()
    chance = random.Random(7)
    pauses = [[chance.random() * 0.002 for _ in range(100)] for _ in range(4)]

    def work(number):
        for each, pause in enumerate(pauses[number]):
            report(outbox, producer, number * 100 + each)
            time.sleep(pause)

    together(4, work)
    end = time.monotonic() + PATIENCE
    # Without a flush: that would wake a sender which had overlooked something.
    while len(receiver.got) < 400 and time.monotonic() < end:
        time.sleep(0.001)
    assert sorted(receiver.got) == list(range(400))


def test_an_idle_sender_ends_and_the_next_entry_starts_it_again(outbox, receiver, monkeypatch):
    monkeypatch.setattr(outboxes, "POLL", 0.001)
    monkeypatch.setattr(outboxes, "LONGEST_IDLE", 0.01)
    producer = Producer()
    for sequence in (1, 2):
        report(outbox, producer, sequence)
        outbox.join(PATIENCE)
        assert outbox._thread is None
        assert receiver.got == list(range(1, sequence + 1))


def test_what_is_reported_while_it_closes_is_delivered_or_counted(often):
    for _ in range(30):
        receiver = Receiver()
        outbox = Outbox(receiver.deliver, 8192)
        producer = Producer()

        def work(number, outbox=outbox, producer=producer):
            if number == 0:
                outbox.close(0.001)
            else:
                for each in range(50):
                    report(outbox, producer, number * 50 + each)

        together(5, work)
        outbox.join(PATIENCE)
        assert len(receiver.got) == len(set(receiver.got))
        assert len(receiver.got) + outbox.dropped == 200


def test_what_cannot_be_delivered_is_counted_when_it_closes(outbox, receiver):
    receiver.away = True
    producer = Producer()
    for sequence in range(1000):
        report(outbox, producer, sequence)
    assert not outbox.close(0.05)
    outbox.join(PATIENCE)
    assert outbox.dropped == producer.dropped == 1000
    assert not outbox.queue
    assert outbox.unacknowledged(producer) == []


def test_a_closed_outbox_counts_what_it_is_given(outbox, receiver):
    outbox.close(PATIENCE)
    producer = Producer()
    report(outbox, producer, 1)
    assert not outbox.offer((producer, 2, 0.0, BODY))
    assert outbox.dropped == producer.dropped == 2
    assert outbox.flush(0)
    assert receiver.calls == 0


def test_one_that_is_switched_off_takes_everything_and_keeps_nothing(outbox, receiver):
    outbox.switch_off()
    producer = Producer()
    for sequence in range(10):
        report(outbox, producer, sequence)
    assert not outbox.queue
    assert outbox.dropped == 0
    assert outbox.close(0)
    assert receiver.calls == 0


def test_nobody_waits_for_an_errand_that_comes_too_late(outbox):
    outbox.close(PATIENCE)
    assert outbox.run_errand(Producer(), lambda: "never").result(PATIENCE) is None


def test_nobody_waits_for_an_errand_that_closing_cut_off(outbox, receiver):
    receiver.away = True
    producer = Producer()
    report(outbox, producer, 1)
    waiting = [outbox.run_errand(producer, lambda: "never") for _ in range(3)]
    outbox.close(0.02)
    outbox.join(PATIENCE)
    assert [errand.result(PATIENCE) for errand in waiting] == [None] * 3
    assert outbox.dropped == 1


def test_nobody_waits_for_an_errand_that_was_under_way(outbox):
    def away():
        raise SidecarUnavailable("away")

    waiting = outbox.run_errand(Producer(), away)
    outbox.close(0.02)
    assert waiting.result(PATIENCE) is None


def test_an_errand_is_run_though_nobody_waits_for_it_any_more(outbox):
    ran = threading.Event()
    errand = outbox.run_errand(Producer(), ran.set)
    errand.cancel()
    assert ran.wait(PATIENCE)
    assert outbox.flush(PATIENCE)
    assert outbox.faults == 0


def test_errands_do_not_pile_up_without_end(receiver, monkeypatch):
    monkeypatch.setattr(outboxes, "MOST_ERRANDS", 5)
    receiver.away = True
    outbox = Outbox(receiver.deliver, 10)
    producer = Producer()
    report(outbox, producer, 1)
    while not receiver.calls:
        time.sleep(0.001)
    errands = [outbox.run_errand(producer, lambda: "done") for _ in range(50)]
    assert [errand.done() for errand in errands] == [False] * 15 + [True] * 35
    receiver.away = False
    assert outbox.flush(PATIENCE)
    assert [errand.result() for errand in errands] == ["done"] * 15 + [None] * 35
    outbox.close(0)


def test_a_sender_that_cannot_be_started_costs_the_event_and_no_more(outbox, receiver, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    producer = Producer()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        report(outbox, producer, 1)
        assert outbox.run_errand(producer, lambda: "never").result(PATIENCE) is None
        assert outbox.dropped == 1
    report(outbox, producer, 2)
    assert outbox.flush(PATIENCE)
    assert receiver.got == [2]


def test_flushing_what_is_empty_takes_no_time_and_no_thread(outbox):
    before = set(threading.enumerate())
    assert outbox.flush(0)
    assert outbox.close(0)
    assert set(threading.enumerate()) <= before


def test_flushing_does_not_wait_for_the_next_attempt(outbox, receiver, monkeypatch):
    monkeypatch.setattr(outboxes, "FIRST_BACKOFF", 60.0)
    monkeypatch.setattr(outboxes, "LONGEST_BACKOFF", 60.0)
    receiver.away = True
    report(outbox, Producer(), 1)
    while not receiver.calls:
        time.sleep(0.001)
    receiver.away = False
    assert outbox.flush(PATIENCE)


def test_an_errand_does_not_wait_for_the_next_attempt(outbox, receiver, monkeypatch):
    monkeypatch.setattr(outboxes, "FIRST_BACKOFF", 60.0)
    receiver.away = True
    producer = Producer()
    report(outbox, producer, 1)
    while not receiver.calls:
        time.sleep(0.001)
    receiver.away = False
    assert outbox.run_errand(producer, lambda: "done").result(PATIENCE) == "done"
    assert receiver.got == [1]


def test_attempts_become_rarer_while_the_sidecar_is_away(outbox, receiver, monkeypatch):
    monkeypatch.setattr(outboxes, "FIRST_BACKOFF", 0.01)
    receiver.away = True
    report(outbox, Producer(), 1)
    time.sleep(0.4)
    assert 3 <= receiver.calls <= 7


def test_a_finalizer_may_report_while_its_thread_is_in_the_outbox(outbox, receiver):
    """The collector runs wherever it likes, also where a lock is held."""
    producer = Producer()

    class Finalized:
        def __del__(self):
            report(outbox, producer, 1)

    with outbox._moving, outbox._counting:
        del [Finalized()][:]
        outbox.drop(producer)
    assert outbox.flush(PATIENCE)
    assert receiver.got == [1]


def test_what_was_delivered_is_not_kept(outbox):
    producer = Producer()
    watched = weakref.ref(producer)
    report(outbox, producer, 1)
    assert outbox.run_errand(producer, lambda: 5).result(PATIENCE) == 5
    assert outbox.flush(PATIENCE)
    del producer
    gc.collect()
    assert watched() is None
