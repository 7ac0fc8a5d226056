"""Bounded buffer with one sender thread, so that the agent never waits for the sidecar."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from seamark.errors import SeamarkError
from seamark.events import Body

log = logging.getLogger("seamark")

POLL = 0.02  # seconds; waking the sender for every event would cost the agent 15 times as much
BATCH = 256
FIRST_BACKOFF = 0.05
LONGEST_BACKOFF = 1.0


class Reporter(Protocol):
    """What the outbox needs to know of the session an entry belongs to."""

    dropped: int


@dataclass(slots=True, eq=False)
class Errand:
    """A call that comes after all that was reported before it and is made until it succeeds."""

    # Runs on the sender's thread; raises SeamarkError to be called again later.
    run: Callable[[], Any]
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
        self.queue: deque[Entry] = _FirstAppend(self)
        self.dropped = 0
        self.faults = 0
        self._deliver = deliver
        self._in_flight: Sequence[Entry] = ()
        self._reset_threading()

    def _reset_threading(self) -> None:
        self._moving = threading.Lock()
        self._counting = threading.Lock()
        # Held while a call is under way, so that a fork can wait for it.
        self.sending = threading.Lock()
        self._wake = threading.Event()
        self._settled = threading.Condition(self._moving)
        self._thread: threading.Thread | None = None
        self._closed = False

    def drop(self, reporter: Reporter) -> None:
        """Counts an entry that found the buffer full."""
        with self._counting:
            self.dropped += 1
            reporter.dropped += 1

    def run_errand(self, reporter: Reporter, run: Callable[[], Any]) -> Future[Any]:
        """Makes the call after everything appended before; never dropped."""
        errand = Errand(run)
        self.queue.append((reporter, 0, 0.0, errand))
        self._wake.set()
        return errand.result

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
            return self._settled.wait_for(lambda: not self.queue and not self._in_flight, timeout)

    def close(self, timeout: float) -> bool:
        """Flushes and ends the sender."""
        flushed = self._thread is None or self.flush(timeout)
        self._closed = True
        self._wake.set()
        self.discard()
        return flushed

    def discard(self) -> None:
        """Takes nothing in any more, and forgets what waits."""
        with self._moving:
            self.dropped += len(self.queue)
            self.queue = deque(maxlen=0)

    def after_fork(self) -> None:
        """An empty outbox for a forked child; what was waiting is the parent's to send."""
        self._reset_threading()
        self._in_flight = ()
        self.queue = _FirstAppend(self)
        self.dropped = 0

    def start(self) -> None:
        """Starts the sender unless it runs."""
        with self._counting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._send_forever, name="seamark-sender", daemon=True
                )
                self._thread.start()

    def _send_forever(self) -> None:
        backoff = FIRST_BACKOFF
        while not (self._closed and not self._in_flight and not self.queue):
            if not self._in_flight and not self._take():
                self._wake.wait(POLL)
                self._wake.clear()
                continue
            if self._send():
                backoff = FIRST_BACKOFF
                continue
            if self._closed:
                return
            time.sleep(backoff)
            backoff = min(LONGEST_BACKOFF, backoff * 2)

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
            with self.sending:
                if isinstance(errand, Errand):
                    _settle(errand, errand.run())
                else:
                    rest = self._deliver(batch)
        except SeamarkError:
            return False
        except Exception as error:  # noqa: BLE001 - the sender must outlive its own bugs
            self.faults += 1
            log.warning("seamark lost %d entries to a fault of its own: %r", len(batch), error)
            if isinstance(errand, Errand):
                _settle(errand, None)
        with self._settled:
            self._in_flight = rest
            self._settled.notify_all()
        return len(rest) < len(batch)


class _FirstAppend(deque[Entry]):
    """The queue before its first entry: starts the sender, then gives way to a plain deque."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def append(self, entry: Entry) -> None:
        outbox = self._outbox
        outbox.start()
        with outbox._moving:
            if outbox.queue is self:
                outbox.queue = deque()
        outbox.queue.append(entry)


def _copy(queue: deque[Entry]) -> list[Entry]:
    while True:
        try:
            return list(queue)
        except RuntimeError:  # Appended to while it was being read.
            continue


def _settle(errand: Errand, value: Any) -> None:
    if not errand.result.done():
        errand.result.set_result(value)
