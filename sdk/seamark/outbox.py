"""Bounded buffer with one sender thread, so that the agent never waits for the sidecar."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, Protocol

from seamark.errors import SeamarkError
from seamark.events import Body

log = logging.getLogger("seamark")

POLL = 0.02  # seconds; waking the sender for every event would cost the agent 15 times as much
BATCH = 256
MOST_ERRANDS = 1024  # beyond the capacity for events
FIRST_BACKOFF = 0.05
LONGEST_BACKOFF = 1.0
LONGEST_IDLE = 5.0


class Reporter(Protocol):
    """What the outbox needs to know of the session an entry belongs to."""

    dropped: int


@dataclass(slots=True, eq=False)
class Errand:
    """A call that comes after all that was reported before it and is made until it succeeds."""

    # Runs on the sender's thread; raises SeamarkError to be called again later.
    run: Callable[[], Any]
    # Set to None when the errand is given up.
    result: Future[Any] = field(default_factory=Future)


# The reporter, the sequence (0 for an errand), the time in seconds, and what happened.
Entry = tuple[Any, int, float, Body | Errand]
# Sends a batch; what it returns has to be sent again. Raises SeamarkError when nothing got through.
Deliver = Callable[[Sequence[Entry]], Sequence[Entry]]


class Outbox:
    """Entries wait here until they are acknowledged; when it is full the newest are dropped."""

    def __init__(self, deliver: Deliver, capacity: int) -> None:
        self.capacity = capacity
        # Public because `observe` appends to it directly: a method call would double its cost.
        self.queue: _Queue = _Resting(self)
        self.faults = 0
        self._deliver = deliver
        self._dropped = 0
        self._in_flight: Sequence[Entry] = ()
        self._closed = False
        self._reset_threading()

    def _reset_threading(self) -> None:
        # Reentrant: a finalizer may report something while its thread is in here.
        self._moving = threading.RLock()
        self._counting = threading.RLock()
        self._wake = threading.Event()
        self._settled = threading.Condition(self._moving)
        self._thread: threading.Thread | None = None

    @property
    def dropped(self) -> int:
        """Entries that were taken from an agent and never delivered."""
        # An append that overlaps with closing ends up in a queue that nobody sends.
        return self._dropped + (len(self.queue) if self._closed else 0)

    def drop(self, reporter: Reporter) -> None:
        """Counts an entry that found the buffer full."""
        with self._counting:
            self._dropped += 1
            reporter.dropped += 1

    def offer(self, entry: Entry) -> bool:
        """Appends the entry; False when it was dropped."""
        if self._closed or len(self.queue) >= self.capacity:
            self.drop(entry[0])
            return False
        self.queue.append(entry)
        return True

    def run_errand(self, reporter: Reporter, run: Callable[[], Any]) -> Future[Any]:
        """Makes the call after everything appended before."""
        errand = Errand(run)
        entry = (reporter, 0, 0.0, errand)
        if len(self.queue) < self.capacity + MOST_ERRANDS:
            self.queue.append(entry)
            self._wake.set()
        else:
            self._give_up([entry])
        return errand.result

    def wake(self) -> None:
        """There is reason to try again at once."""
        self._wake.set()

    def unacknowledged(self, reporter: Reporter, limit: int = BATCH) -> list[Entry]:
        """The reporter's oldest entries that no acknowledgement has come for."""
        with self._moving:
            waiting = [*self._in_flight, *_copy(self.queue)]
        mine = [entry for entry in waiting if entry[0] is reporter and entry[1]]
        return mine[:limit]

    def flush(self, timeout: float) -> bool:
        """Waits until all is acknowledged; False when the time was too short."""
        self._wake.set()
        with self._settled:
            if self.queue:
                self.start()
            return self._settled.wait_for(lambda: not self.queue and not self._in_flight, timeout)

    def close(self, timeout: float) -> bool:
        """Flushes, then takes nothing in any more; what still waits is dropped."""
        if self._closed:
            return True
        flushed = self.flush(timeout)
        with self._settled:
            self._closed = True
            self.queue.become(_Shut)
            while self.queue:
                self._give_up([self.queue.popleft()])
            self._settled.notify_all()
        self._wake.set()
        return flushed

    def join(self, timeout: float) -> None:
        """Waits until the sender of a closed outbox has ended."""
        if (thread := self._thread) is not None:
            thread.join(timeout)

    def switch_off(self) -> None:
        """From now on every entry vanishes, uncounted."""
        self._closed = True
        self.queue.become(_Off)

    def after_fork(self) -> None:
        """An empty outbox for a forked child; what was waiting is the parent's to send."""
        self._reset_threading()
        self._in_flight = ()
        self.queue = _Shut(self) if self._closed else _Resting(self)
        self._dropped = 0

    def start(self) -> bool:
        """Makes sure that the sender runs; False when it cannot."""
        with self._moving:
            if self._closed:
                return False
            if self._thread is None:
                thread = threading.Thread(
                    target=self._send_forever, name="seamark-sender", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:  # No more threads, or the interpreter is leaving.
                    return False
                self._thread = thread
            self.queue.become(_Sending)
            return True

    def _send_forever(self) -> None:
        backoff = FIRST_BACKOFF
        idle_since = time.monotonic()
        while not self._closed:
            if self._in_flight or self._take():
                if self._send():
                    backoff = FIRST_BACKOFF
                else:
                    self._pause(backoff)
                    backoff = min(LONGEST_BACKOFF, backoff * 2)
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since < LONGEST_IDLE:
                self._pause(POLL)
            elif self._retire():
                return
        with self._settled:
            self._give_up(self._in_flight)
            self._in_flight = ()

    def _pause(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _retire(self) -> bool:
        """Ends an idle sender: it would keep a client alive that everybody else forgot."""
        with self._moving:
            self.queue.become(_Resting)
        # For an append that looked the queue up before and has not come to its end.
        self._pause(POLL)
        with self._moving:
            if self.queue or self._closed:
                return False
            self._thread = None
            return True

    def _take(self) -> bool:
        """Moves the next entries into flight: events up to an errand, or one errand."""
        taken: list[Entry] = []
        with self._moving:
            while self.queue and len(taken) < BATCH:
                if isinstance(self.queue[0][3], Errand) and taken:
                    break
                taken.append(self.queue.popleft())
                if isinstance(taken[0][3], Errand):
                    break
            self._in_flight = taken
        return bool(taken)

    def _send(self) -> bool:
        """One attempt; True when it made progress."""
        batch = self._in_flight
        errand = batch[0][3]
        rest: Sequence[Entry] = ()
        try:
            if isinstance(errand, Errand):
                _settle(errand, errand.run())
            else:
                rest = self._deliver(batch)
        except SeamarkError:
            return False
        except Exception as error:  # noqa: BLE001 - the sender must outlive its own bugs
            self.faults += 1
            log.warning("seamark lost %d entries to a fault of its own: %r", len(batch), error)
            self._give_up(batch)
        with self._settled:
            self._in_flight = rest
            self._settled.notify_all()
        return len(rest) < len(batch)

    def _give_up(self, entries: Iterable[Entry]) -> None:
        for reporter, _, _, body in entries:
            if isinstance(body, Errand):
                _settle(body, None)
            else:
                self.drop(reporter)


class _Queue(deque[Entry]):
    """One object for the outbox's whole life, so that no append misses it.

    What an append does depends on the state of the outbox; the class of the object is that state.
    """

    __slots__ = ("outbox",)

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self.outbox = outbox

    def become(self, state: type[_Queue]) -> None:
        self.__class__ = state


class _Sending(_Queue):
    """A sender runs: a plain deque, the cheapest there is."""

    __slots__ = ()


class _Resting(_Queue):
    """No sender runs: the next append starts one."""

    __slots__ = ()

    def append(self, entry: Entry) -> None:
        with self.outbox._moving:
            if self.outbox.start():
                deque.append(self, entry)  # By now this object is of another class.
                return
        self.outbox._give_up([entry])


class _Shut(_Queue):
    """Nothing will be sent any more."""

    __slots__ = ()

    def append(self, entry: Entry) -> None:
        self.outbox._give_up([entry])


class _Off(_Queue):
    """Nothing was ever to be sent."""

    __slots__ = ()

    def append(self, entry: Entry) -> None:
        return


def _copy(queue: deque[Entry]) -> list[Entry]:
    while True:
        try:
            return list(queue)
        except RuntimeError:  # Appended to while it was being read.
            continue


def _settle(errand: Errand, value: Any) -> None:
    # Whoever waited for it may have given up; the errand was run all the same.
    with contextlib.suppress(InvalidStateError):
        errand.result.set_result(value)
