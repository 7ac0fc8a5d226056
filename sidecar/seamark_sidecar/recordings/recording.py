"""One recorded session, whatever form it was kept in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from seamark.events import Body, StepCompleted

# For recordings that do not say when: a replay has to give the same bytes each time.
BEGINNING = 1_767_225_600.0  # seconds; 2026 begins
_PAUSE = 1.0


class Unreadable(Exception):
    """A file that holds no recording we can read; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that happened."""

    # The recording's own number.
    step: int
    # StepCompleted says what its step took; it is sent at the step's end.
    body: Body
    # Since the epoch, if it is known.
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One event as the SDK reports it."""

    step: int
    seconds: float
    body: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A session with everything in it that an agent's process would have reported."""

    session_id: str
    turns: tuple[Turn, ...]
    task: str = ""
    # As `owner/name`, if it is known.
    repo: str = ""
    branch: str = ""
    # The root of the checkout on the machine of the agent; empty when unknown.
    root: str = ""
    started: float | None = None

    def events(self) -> Iterator[Sent]:
        """What to report in order; each run of turns with one step ends with a StepCompleted."""
        clock = _Clock(self)
        for step, turns in groupby(self.turns, key=lambda turn: turn.step):
            read = written = 0
            for turn in turns:
                now = clock.at(turn.seconds)
                if isinstance(turn.body, StepCompleted):
                    # Every part of an answer repeats what the whole of it took.
                    read = max(read, turn.body.input_tokens)
                    written = max(written, turn.body.output_tokens)
                else:
                    yield Sent(step=step, seconds=now, body=turn.body)
            completed = StepCompleted(input_tokens=read, output_tokens=written)
            yield Sent(step=step, seconds=clock.at(None), body=completed)

    def steps(self) -> tuple[int, ...]:
        """The recording's own step by the number of steps completed before."""
        return tuple(step for step, _ in groupby(self.turns, key=lambda turn: turn.step))


class _Clock:
    """Goes by the recording where that says the time, and never back."""

    def __init__(self, recording: Recording) -> None:
        known = (turn.seconds for turn in recording.turns if turn.seconds is not None)
        first = next(known, None)
        self._pause = _PAUSE if first is None else 0.0
        given = (each for each in (recording.started, first, BEGINNING) if each is not None)
        self._now = next(given)

    def at(self, seconds: float | None) -> float:
        self._now = max(self._now + self._pause, seconds or 0.0)
        return self._now
