"""One place where an agent works: session after session, whatever happens to memory."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from seamark import Client, Session, SessionOutcome, SessionSummary, Settings
from tests.chaos import bodies
from tests.chaos.history import History
from tests.chaos.pulse import Pulse

PROJECTS = 6
STEP_PAUSE = 0.5  # seconds, on average
SLACK = 0.5  # seconds that a busy machine may add to a deadline
# Beyond these a call carries only the oldest of what waits.
MOST_CARRIED = 256
STORED = "Noted as"
LOST = "Memory cannot be reached right now. Go on without it."

# How long each call may take from the agent.
DEADLINES: Mapping[str, Callable[[Settings], float]] = MappingProxyType(
    {
        "start_session": lambda settings: settings.session_start_deadline,
        "observe": lambda settings: 0.0,
        "prepare_step": lambda settings: settings.step_deadline,
        "augment_tool_result": lambda settings: settings.tool_result_deadline,
        "search": lambda settings: settings.tool_deadline,
        "record": lambda settings: settings.tool_deadline,
        "checkpoint": lambda settings: settings.tool_deadline,
        "complete": lambda settings: settings.close_deadline,
        "report_validation": lambda settings: settings.close_deadline,
    }
)

# What a step does beside reporting and asking, and how often.
HABITS: Mapping[str, float] = MappingProxyType(
    {"record": 0.25, "augment": 0.3, "search": 0.1, "checkpoint": 0.1}
)


@dataclass(slots=True)
class Times:
    """How long the calls of one kind took."""

    count: int = 0
    slowest: float = 0.0
    # Beyond the deadline, and beyond what the machine itself was late.
    most_over: float = 0.0


@dataclass(slots=True)
class Pen:
    """One producer's side of a session: what it reported so far."""

    session: Session
    label: str
    sequence: int = 0
    dropped: int = 0
    noted: int = 0
    calls: list[int] = field(default_factory=list)


class Seat:
    """Works until it is told to stop; can be asked to pause between two calls."""

    def __init__(
        self,
        client: Client,
        history: History,
        name: str,
        chance: random.Random,
        pulse: Pulse,
        *,
        step_pause: float = STEP_PAUSE,
    ) -> None:
        self.times: dict[str, Times] = {}
        self.answered = 0
        self._client = client
        self._history = history
        self._name = name
        self._chance = chance
        self._pulse = pulse
        self._step_pause = step_pause
        self._may_go = threading.Event()
        self._may_go.set()
        self._parked = threading.Event()

    def pause(self) -> None:
        """Asks the agent to sit still."""
        self._parked.clear()
        self._may_go.clear()

    def await_pause(self, within: float) -> bool:
        """Waits until it does."""
        return self._parked.wait(within)

    def resume(self) -> None:
        self._may_go.set()

    def work(self, until: Callable[[], bool]) -> None:
        """Sessions one after the other; what an agent's app would have seen raised is noted."""
        number = 0
        while not until():
            number += 1
            try:
                self._session(f"{self._name}n{number}", until)
            except Exception:  # noqa: BLE001 - that there is none is what is checked
                self._history.note("raised", error=traceback.format_exc())
                time.sleep(STEP_PAUSE)
        self._parked.set()

    def _session(self, label: str, until: Callable[[], bool]) -> None:
        chance = self._chance
        project = f"chaos {chance.randrange(PROJECTS)}"
        (kind,) = chance.choices(("build", "insights", "pr_review"), (8, 1, 1))
        with self._timed("start_session"):
            session = self._client.start_session(project_name=project, session_type=kind)
        about = {"session": session.id, "project": project, "type": kind}
        self._history.note("began", producer=session.producer_id, label=label, **about)
        pens = [Pen(session, label)]
        if chance.random() < 0.1:
            other = self._client.resume_session(session.ticket)
            self._history.note("joined", producer=other.producer_id, label=f"{label}b", **about)
            pens.append(Pen(other, f"{label}b"))
        for step in range(1, chance.randint(2, 10)):
            self._step(chance.choice(pens), step)
            self._rest()
            if until():
                break
        for pen in pens:
            self._note_acknowledged(pen)
        if chance.random() > 0.05:  # Some never end.
            self._end(session)

    def _step(self, pen: Pen, step: int) -> None:
        session, chance = pen.session, self._chance
        self._report(pen, chance.randint(1, 8))
        with self._timed("prepare_step"):
            self.answered += bool(session.prepare_step(step))
        if chance.random() < HABITS["augment"] and pen.calls:
            with self._timed("augment_tool_result"):
                session.augment_tool_result(bodies.call_id(pen.calls[-1]))
        if chance.random() < HABITS["record"]:
            self._record(pen)
        if chance.random() < HABITS["search"]:
            with self._timed("search"):
                session.search("when is it rounded, and how are prices kept")
        if chance.random() < HABITS["checkpoint"]:
            self._checkpoint(pen)
        self._note_acknowledged(pen)

    def _report(self, pen: Pen, count: int) -> None:
        self._history.note("sending", to=pen.sequence + count, **_who(pen))
        for _ in range(count):
            pen.sequence += 1
            if pen.sequence % bodies.KINDS == 2:
                pen.calls.append(pen.sequence)
            report = bodies.body(pen.label, pen.sequence)
            with self._timed("observe"):
                pen.session.observe(report)
            if pen.session.dropped != pen.dropped:
                pen.dropped = pen.session.dropped
                self._history.note("dropped", sequences=[pen.sequence], **_who(pen))

    def _record(self, pen: Pen) -> None:
        pen.sequence += 1
        common = self._chance.random() < 0.3
        content = (
            self._chance.choice(bodies.COMMON) if common else bodies.unique(pen.label, pen.sequence)
        )
        self._history.note("recording", sequence=pen.sequence, content=content, **_who(pen))
        with self._timed("record"):
            told = pen.session.record(bodies.record(content))
        pen.dropped = pen.session.dropped
        self._history.note(
            "recorded",
            sequence=pen.sequence,
            stored=told.startswith(STORED),
            dropped=told == LOST,
            **_who(pen),
        )

    def _checkpoint(self, pen: Pen) -> None:
        waiting = len(self._client.outbox.unacknowledged(pen.session, MOST_CARRIED))
        with self._timed("checkpoint"):
            done = pen.session.checkpoint("half way")
        if done and waiting < MOST_CARRIED:
            self._history.note("acknowledged", to=pen.sequence, **_who(pen))

    def _note_acknowledged(self, pen: Pen) -> None:
        waiting = self._client.outbox.unacknowledged(pen.session, 1)
        to = waiting[0][1] - 1 if waiting else pen.sequence
        if to > pen.noted:
            pen.noted = to
            self._history.note("acknowledged", to=to, **_who(pen))

    def _end(self, session: Session) -> None:
        chance = self._chance
        (outcome,) = chance.choices(list(SessionOutcome), (9, 1, 1, 1))
        (validated,) = chance.choices((True, False, None), (5, 1, 4))
        self._history.note("ending", session=session.id, outcome=outcome.value, validated=validated)
        with self._timed("complete"):
            told = session.complete(outcome, validated=validated)
        self._note_end(session, told)
        if validated is None and chance.random() < 0.6:
            self._rest()
            passed = chance.random() < 0.8
            self._history.note("ending", session=session.id, outcome=None, validated=passed)
            with self._timed("report_validation"):
                told = session.report_validation(passed)
            self._note_end(session, told)

    def _note_end(self, session: Session, told: SessionSummary) -> None:
        self._history.note(
            "ended",
            session=session.id,
            state=told.state.value,
            learnt=[each.memory_id for each in told.learnt],
            line=told.line,
        )

    def _rest(self) -> None:
        time.sleep(self._step_pause * (0.5 + self._chance.random()))
        if not self._may_go.is_set():
            self._parked.set()
            self._may_go.wait()

    @contextmanager
    def _timed(self, call: str) -> Iterator[None]:
        began, late = time.monotonic(), self._pulse.late
        yield
        took = time.monotonic() - began
        over = took - DEADLINES[call](self._client.settings) - (self._pulse.late - late)
        times = self.times.setdefault(call, Times())
        times.count += 1
        times.slowest = max(times.slowest, took)
        times.most_over = max(times.most_over, over)
        if over > SLACK:
            self._history.note("overdue", call=call, took=took, over=over)


def _who(pen: Pen) -> dict[str, str]:
    return {"session": pen.session.id, "producer": pen.session.producer_id}
