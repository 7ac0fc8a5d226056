"""What is known of a running session: all that its events said, in a form for decisions."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from seamark.events import (
    Body,
    Event,
    FileChanged,
    MemoryRecorded,
    StepCompleted,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_sidecar.model.candidate import Candidate, proposed
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.behaviour.effects import took_place
from seamark_sidecar.observer.call_log import Calls
from seamark_sidecar.observer.calls.paths import project_path
from seamark_sidecar.observer.calls.tool_rows import NO_ROWS, UserRows
from seamark_sidecar.observer.calls.tools import understand
from seamark_sidecar.observer.calls.use import Action, ToolUse, Touch
from seamark_sidecar.observer.calls.workplace import Workplace
from seamark_sidecar.observer.cost import Cost
from seamark_sidecar.observer.history import FileAccess, History
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.order import Arrivals
from seamark_sidecar.observer.results.result import Result, read_result
from seamark_sidecar.observer.signals import Detectors
from seamark_sidecar.observer.taint import Taint

IN_SIGHT_STEPS = 5
# Bounds for sessions that never end, or never complete a step.
MOST_IN_SIGHT = 50
MOST_RECORDS = 200


@dataclass(slots=True)
class Scratchpad:
    """The state of one session; a function of its events alone, so that replay restores it."""

    root: str = ""
    rows: UserRows = NO_ROWS
    planned_steps: int = 0
    step: int = 0
    taint: Taint = field(default_factory=Taint)
    history: History = field(default_factory=History)
    records: list[MemoryRecorded] = field(default_factory=list)
    arrivals: Arrivals = field(default_factory=Arrivals)
    cost: Cost = field(default_factory=Cost)
    _workplace: Workplace = field(init=False)
    _calls: Calls = field(default_factory=Calls)
    _detectors: Detectors = field(default_factory=Detectors)
    _sight: tuple[str, ...] | None = ()

    def __post_init__(self) -> None:
        self._workplace = Workplace.at(self.root)

    def apply(self, event: Event) -> bool:
        """Takes an event in; False when it was there before."""
        start = time.thread_time_ns()
        if not self.arrivals.note(event):
            return False
        for moment in self._moments(event.body, event.time.timestamp()):
            self._detectors.see(moment)
            self.taint.see(moment)
        self.cost.note(time.thread_time_ns() - start)
        return True

    @property
    def files(self) -> dict[str, FileAccess]:
        """Project-relative path to how it was touched, the latest touched last."""
        return self.history.files

    @property
    def tainted_from(self) -> int | None:
        """The first step that text from outside may have shaped."""
        return self.taint.from_step

    @property
    def event_count(self) -> int:
        """Events taken in so far."""
        return self.arrivals.count

    @property
    def missing_count(self) -> int:
        """Events that must exist, because later ones of their producer came, and did not come."""
        return self.arrivals.missing

    def use(self, call_id: str) -> ToolUse | None:
        """The tool call of this id, if it was lately."""
        return self._calls.get(call_id)

    def in_sight(self) -> tuple[str, ...]:
        """Files touched within the last steps, newest first."""
        if self._sight is None:
            oldest = self.step - IN_SIGHT_STEPS
            recent = itertools.takewhile(
                lambda item: item[1].last_step >= oldest, reversed(self.files.items())
            )
            self._sight = tuple(path for path, _ in itertools.islice(recent, MOST_IN_SIGHT))
        return self._sight

    def signals(self) -> list[Signal]:
        """What the observer found so far, in the order of the detectors."""
        return list(self._detectors.signals())

    def candidates(self) -> list[Candidate]:
        """What the session proposes to remember, in the order of the detectors."""
        found = []
        for signal in self.signals():
            candidate = proposed(signal)
            if candidate is not None:
                source = self.taint.of(signal)
                found.append(
                    dataclasses.replace(candidate, contaminated_by=str(source))
                    if source is not None
                    else candidate
                )
        return found

    def size(self) -> int:
        """About how many bytes it holds."""
        held = self._detectors.size() + self.taint.size() + self._workplace.size()
        return held + self._calls.size() + self.history.size()

    def _moments(self, body: Body | None, at: float) -> Iterator[Moment]:
        match body:
            case ToolCalled():
                if not self._calls.is_new(body.call_id):
                    # A resumed call runs again under the same id and counts once.
                    return
                use = understand(
                    body.call_id,
                    body.tool,
                    body.arguments_json,
                    self.root,
                    rows=self.rows,
                    workplace=self._workplace,
                )
                early = self._calls.begin(use)
                self.history.called(use, self.step)
                yield self._moment(body, at, use)
                if early is not None:
                    yield from self._moments(early, at)
            case ToolReturned():
                ended = self._calls.end(body)
                if ended is not None:
                    result = read_result(ended, body, self.root, self._workplace.roots)
                    self._note_result(ended, result)
                    yield self._moment(body, at, ended, result)
            case StepCompleted():
                self.step += 1
                self._sight = None
                yield self._moment(body, at)
            case FileChanged():
                path = project_path(body.path, self.root)
                if path is not None:
                    self._touch(Touch(path, Action.EDIT))
                yield self._moment(body, at)
            case MemoryRecorded():
                record = self._at_home(body)
                if _is_usable(record) and len(self.records) < MOST_RECORDS:
                    self.records.append(record)
                    yield self._moment(record, at)
            case UserSaid() | TextProduced():
                yield self._moment(body, at)
            case None:
                return

    def _moment(
        self, body: Body, at: float, use: ToolUse | None = None, result: Result | None = None
    ) -> Moment:
        return Moment(
            step=self.step,
            planned_steps=self.planned_steps,
            time=at,
            body=body,
            use=use,
            result=result,
            in_sight=self.in_sight(),
            touched=self.files.keys(),
        )

    def _note_result(self, use: ToolUse, result: Result) -> None:
        for touch in took_place(use, result):
            self._touch(touch)
        if result.tests is not None:
            self.history.tested(result.tests, self.step)
        # Scripts change files that no call names; what version control shows of it counts.
        if result.changed and self.history.actions[Action.RUN]:
            known = self.files
            for path in result.changed:
                if path not in known or not known[path].is_changed:
                    self._touch(Touch(path, Action.EDIT))
        # `rm` fails over one file and removes the others.
        if result.failure is None or result.failure.was_run:
            for place in (*use.gone, *use.reverted):
                self.history.undone(place)

    def _touch(self, touch: Touch) -> None:
        self.history.touched(touch, self.step)
        self._sight = None

    def _at_home(self, record: MemoryRecorded) -> MemoryRecorded:
        def inside() -> Iterator[str]:
            for file in record.files:
                path = project_path(file, self.root)
                if path is not None:
                    yield path

        files = tuple(inside()) or self.in_sight()[:1]
        return MemoryRecorded(
            type=record.type, content=record.content, files=files, tags=record.tags
        )


def _is_usable(record: MemoryRecorded) -> bool:
    return bool(record.content.strip()) and MemoryType.named(record.type) is not None
