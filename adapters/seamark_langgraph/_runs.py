"""The runs that one middleware looks after, found by their ticket."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType

from langgraph.errors import GraphBubbleUp

from seamark import Session

# A run pushed out is found again by its ticket; only its validation can then no longer be reported.
MOST_RUNS = 1024


class Run:
    """One run of an agent and its session."""

    def __init__(self, session: Session, *, steps: int = 0) -> None:
        self.session = session
        # Its session was completed; only the validation is still awaited.
        self.is_ended = False
        self._lock = threading.Lock()
        self._steps = steps
        self._open_calls: set[str] = set()
        self._working = 0

    @property
    def is_idle(self) -> bool:
        """No model or tool of this run is at work."""
        return self._working == 0

    def next_step(self) -> int:
        """The number of model calls so far, before one more begins."""
        with self._lock:
            self._steps += 1
            return self._steps - 1

    def opens(self, call_id: str) -> bool:
        """Whether the call is a new one, and not one that goes on after an interrupt."""
        with self._lock:
            is_new = call_id not in self._open_calls
            self._open_calls.add(call_id)
            return is_new

    def closes(self, call_id: str) -> None:
        """The call came to its end."""
        with self._lock:
            self._open_calls.discard(call_id)

    def working(self, on_failure: Callable[[Exception], None] | None = None) -> Working:
        """Around a model or tool call of the app."""
        return Working(self, on_failure)

    def add_working(self, change: int) -> None:
        """Counts model and tool calls in and out."""
        with self._lock:
            self._working += change


class Working:
    """The time in which the app's own code runs; its exceptions pass, and failures are told."""

    def __init__(self, run: Run, on_failure: Callable[[Exception], None] | None) -> None:
        self._run = run
        self._on_failure = on_failure

    def __enter__(self) -> None:
        self._run.add_working(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._run.add_working(-1)
        # Interrupts travel as exceptions and are no failure; neither is a cancelled task.
        if isinstance(error, GraphBubbleUp) or not isinstance(error, Exception):
            return
        if self._on_failure is not None:
            self._on_failure(error)


class Runs:
    """A bounded register of runs; the one that was not used for longest is forgotten first."""

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._by_ticket: OrderedDict[str, Run] = OrderedDict()

    def find(self, ticket: str) -> Run | None:
        """The run with this ticket, if this process knows it."""
        with self._lock:
            run = self._by_ticket.get(ticket)
            if run is not None:
                self._by_ticket.move_to_end(ticket)
            return run

    def add(self, run: Run) -> Run:
        """Registers a run; returns the one that already has its ticket, if there is one."""
        with self._lock:
            known = self._by_ticket.setdefault(run.session.ticket, run)
            while len(self._by_ticket) > self._most:
                self._by_ticket.popitem(last=False)
            return known

    def forget(self, run: Run) -> None:
        """Nothing more is awaited of this run."""
        with self._lock:
            self._by_ticket.pop(run.session.ticket, None)

    def take_idle(self) -> list[Run]:
        """Takes out every run that ended or stopped, oldest first; those at work stay."""
        with self._lock:
            idle = [run for run in self._by_ticket.values() if run.is_ended or run.is_idle]
            for run in idle:
                del self._by_ticket[run.session.ticket]
            return idle
