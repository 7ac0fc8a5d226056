"""What is known of a running session: all that its events said, in a form for decisions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from seamark.events import (
    Body,
    Event,
    FileChanged,
    MemoryRecorded,
    Outcome,
    StepCompleted,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_sidecar.model.candidate import Candidate, proposed
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.moment import Detector, Moment
from seamark_sidecar.observer.paths import project_path
from seamark_sidecar.observer.results import Result, read_result
from seamark_sidecar.observer.signals import DETECTORS
from seamark_sidecar.observer.tools import understand
from seamark_sidecar.observer.use import CHANGES, ToolUse, Touch

IN_SIGHT_STEPS = 5
# Bounds for sessions that never end, or never complete a step.
MOST_IN_SIGHT = 50
MOST_CALLS = 20_000
MOST_RECORDS = 200
MOST_EARLY = 100


@dataclass(slots=True)
class FileAccess:
    """How a session touched one file."""

    reads: int = 0
    edits: int = 0
    last_step: int = 0


@dataclass(slots=True)
class Scratchpad:
    """The state of one session; a function of its events alone, so that replay restores it."""

    root: str = ""
    step: int = 0
    # Project-relative path to how it was touched, the latest touched last.
    files: dict[str, FileAccess] = field(default_factory=dict)
    records: list[MemoryRecorded] = field(default_factory=list)
    _seen: dict[str, set[int]] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)
    _calls: dict[str, ToolUse] = field(default_factory=dict)
    _returned: set[str] = field(default_factory=set)
    # Results that came before their calls.
    _early: dict[str, ToolReturned] = field(default_factory=dict)
    _detectors: tuple[Detector, ...] = field(
        default_factory=lambda: tuple(make() for make in DETECTORS)
    )

    def apply(self, event: Event) -> bool:
        """Takes an event in; False when it was there before."""
        seen = self._seen.setdefault(event.producer_id, set())
        if event.sequence in seen:
            return False
        seen.add(event.sequence)
        self._last[event.producer_id] = max(event.sequence, self._last.get(event.producer_id, 0))
        for moment in self._moments(event.body, event.time.timestamp()):
            for detector in self._detectors:
                detector.see(moment)
        return True

    @property
    def event_count(self) -> int:
        """Events taken in so far."""
        return sum(len(seen) for seen in self._seen.values())

    @property
    def missing_count(self) -> int:
        """Events that must exist, because later ones of their producer came, and did not come."""
        return sum(self._last.values()) - self.event_count

    def use(self, call_id: str) -> ToolUse | None:
        """The tool call of this id."""
        return self._calls.get(call_id)

    def in_sight(self) -> tuple[str, ...]:
        """Files touched within the last steps, newest first."""
        oldest = self.step - IN_SIGHT_STEPS
        recent = itertools.takewhile(
            lambda item: item[1].last_step >= oldest, reversed(self.files.items())
        )
        return tuple(path for path, _ in itertools.islice(recent, MOST_IN_SIGHT))

    def signals(self) -> list[Signal]:
        """What the observer found so far, in the order of the detectors."""
        return [found for detector in self._detectors for found in detector.signals()]

    def candidates(self) -> list[Candidate]:
        """What the session proposes to remember, in the order of the detectors."""
        return [each for each in map(proposed, self.signals()) if each is not None]

    def _moments(self, body: Body | None, time: float) -> Iterator[Moment]:
        match body:
            case ToolCalled():
                # A resumed call runs again under the same id and counts once.
                if body.call_id in self._calls or len(self._calls) >= MOST_CALLS:
                    return
                use = understand(body.call_id, body.tool, body.arguments_json, self.root)
                self._calls[body.call_id] = use
                yield self._moment(body, time, use)
                if body.call_id in self._early:
                    yield from self._moments(self._early.pop(body.call_id), time)
            case ToolReturned():
                called = self._calls.get(body.call_id)
                if called is None and len(self._early) < MOST_EARLY:
                    self._early.setdefault(body.call_id, body)
                if called is None or body.call_id in self._returned:
                    return
                self._returned.add(body.call_id)
                result = read_result(called, body, self.root)
                if body.outcome is Outcome.OK:
                    for touch in called.touches:
                        self._touch(touch)
                yield self._moment(body, time, called, result)
            case StepCompleted():
                self.step += 1
                yield self._moment(body, time)
            case FileChanged():
                path = project_path(body.path, self.root)
                if path is not None:
                    self._note(path, edited=True)
                yield self._moment(body, time)
            case MemoryRecorded():
                record = self._at_home(body)
                if _is_usable(record) and len(self.records) < MOST_RECORDS:
                    self.records.append(record)
                    yield self._moment(record, time)
            case UserSaid() | TextProduced():
                yield self._moment(body, time)
            case None:
                return

    def _moment(
        self, body: Body, time: float, use: ToolUse | None = None, result: Result | None = None
    ) -> Moment:
        return Moment(
            step=self.step,
            time=time,
            body=body,
            use=use,
            result=result,
            in_sight=self.in_sight(),
            touched=self.files.keys(),
        )

    def _touch(self, touch: Touch) -> None:
        self._note(touch.path, edited=touch.action in CHANGES)

    def _note(self, path: str, *, edited: bool) -> None:
        access = self.files.pop(path, None) or FileAccess()
        access.reads += not edited
        access.edits += edited
        access.last_step = self.step
        self.files[path] = access

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
