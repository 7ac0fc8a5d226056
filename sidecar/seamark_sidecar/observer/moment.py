"""One observed event in the context a detector needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from seamark.events import Body
from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.calls.use import ToolUse
from seamark_sidecar.observer.results.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What happened, at which step, with what in sight."""

    step: int
    # Of the session, by its plan; 0: nobody planned.
    planned_steps: int = 0
    # Seconds, by the agent's clock.
    time: float
    body: Body
    # The call that a tool event belongs to.
    use: ToolUse | None = None
    # What the result of a tool says; only with its return.
    result: Result | None = None
    # Files touched within the last steps, newest first.
    in_sight: tuple[str, ...] = ()
    # All files the session touched so far.
    touched: Collection[str] = ()


class Detector(Protocol):
    """Watches one session for one kind of signal.

    Its state is a function of the moments it saw, and bounded.
    """

    def see(self, moment: Moment) -> None:
        """Takes the moment into account; cheap, called for every event."""

    def signals(self) -> Iterable[Signal]:
        """What has been found so far, in the order of its steps."""

    def size(self) -> int:
        """About how many bytes it holds."""

    def shrink(self) -> None:
        """Lets go of about half of what it holds, the least telling first."""
