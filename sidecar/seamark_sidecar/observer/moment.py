"""One observed event in the context a detector needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from seamark.events import Body
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.observer.tools import ToolUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What happened, at which step, with what in sight."""

    step: int
    body: Body
    # The call that a tool event belongs to.
    use: ToolUse | None = None
    # Files touched within the last steps, newest first.
    in_sight: tuple[str, ...] = ()
    # All files the session touched so far.
    touched: Collection[str] = ()


class Detector(Protocol):
    """Watches one session for one kind of signal."""

    def see(self, moment: Moment) -> None:
        """Takes the moment into account; cheap, called for every event."""

    def candidates(self) -> Iterable[Candidate]:
        """What has been found so far."""
