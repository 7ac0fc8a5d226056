"""A session that is in use: its state, and the one task that touches it."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import structlog

from seamark.events import Event, MemoryRecorded
from seamark.injections import SessionState
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.errors import SessionClosed
from seamark_sidecar.model.marks import NO_MARKS, EarlierMarks
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.observer.calls.tool_rows import NO_ROWS, UserRows
from seamark_sidecar.observer.calls.use import Origin
from seamark_sidecar.observer.scratchpad import Scratchpad
from seamark_sidecar.observer.taint import Source, Taint
from seamark_sidecar.sessions.lane import Lane
from seamark_sidecar.sessions.quarantine import Quarantine, event_name

log = structlog.get_logger("seamark.sessions")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """What a client last said of its own side of the session."""

    # Events that its full buffer has dropped so far.
    dropped: int = 0
    # Events that wait there.
    queued: int = 0
    # It skips calls, because the sidecar did not answer in time.
    breaker_open: bool = False


class LiveSession:
    """Handlers hand their work to the session's task, which does one piece after the other."""

    def __init__(
        self,
        record: SessionRecord,
        quarantine: Quarantine,
        last_seen: datetime,
        earlier: EarlierMarks = NO_MARKS,
        rows: UserRows = NO_ROWS,
    ) -> None:
        self.record = record
        self.last_seen = last_seen
        self.producers: dict[str, Producer] = {}
        self._quarantine = quarantine
        self._earlier = earlier
        self._rows = rows
        # A session that is not closed has nothing there but what its parent had.
        self._inherited = (
            Source(Origin.SUBAGENT, 0, record.contaminated_by) if record.contaminated_by else None
        )
        self._pad = self._new_pad()
        self._state = Lane(f"session {record.id}")
        # Apart, so that deciding what to show never waits for a disk.
        self._commits = Lane(f"commits of session {record.id}")

    @property
    def pad(self) -> Scratchpad:
        """What is known of the session; read it on the session's own task."""
        return self._pad

    def candidates(self) -> list[Candidate]:
        """What the session proposes to remember; read it on the session's own task."""
        found = self._pad.candidates()
        if not self.record.is_hearsay:
            return found
        return [
            dataclasses.replace(each, contaminated_by=each.contaminated_by or Origin.REPLAY)
            for each in found
        ]

    @property
    def contaminated_by(self) -> str:
        """Where text from outside came in so far; empty: nowhere."""
        source = self._pad.taint.inherited or self._pad.taint.source
        return str(source) if source is not None else ""

    # What deciding on injections needs to see.

    @property
    def records(self) -> Sequence[MemoryRecorded]:
        return self._pad.records

    def in_sight(self) -> Sequence[str]:
        return self._pad.in_sight()

    def files_of(self, call_id: str) -> Sequence[str]:
        use = self._pad.use(call_id)
        return use.files if use is not None else ()

    # What the session's own task does.

    def require_open(self) -> None:
        """Raises when the session has ended."""
        if self.record.state is not SessionState.OPEN:
            raise SessionClosed("the session has ended; start a new one")

    def begin_again(self) -> None:
        """Forgets what was seen, to see it in another order. Only on the session's own task."""
        self._pad = self._new_pad()

    def apply(self, events: Iterable[Event]) -> int:
        """Takes events in; returns how many were new. Only on the session's own task."""
        new = 0
        for event in events:
            name = event_name(self.record.id, event.producer_id, event.sequence)
            if self._quarantine.holds(name):
                continue
            with self._quarantine.at_work_on(name):
                try:
                    new += self._pad.apply(event)
                except Exception as error:  # noqa: BLE001 - one odd event must not stop a session
                    log.error("event_not_understood", event_name=name, error=type(error).__name__)
        return new

    async def take(self, events: Sequence[Event]) -> int:
        """Applies events after all that was handed in before."""

        async def apply() -> int:
            return self.apply(events)

        return await self.run(apply)

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Does the work on the session's task, after all that was handed in before."""
        return await self._state.run(work)

    async def commit(self, work: Callable[[], Awaitable[T]]) -> T:
        """Does work that changes what is stored, in the order it was handed in."""
        return await self._commits.run(work)

    def _new_pad(self) -> Scratchpad:
        taint = Taint(self._earlier, self._inherited)
        return Scratchpad(
            root=self.record.root,
            rows=self._rows,
            planned_steps=self.record.work.planned_steps,
            taint=taint,
        )

    async def settled(self) -> None:
        """Waits until all that was handed in is done."""
        await self._commits.settled()
        await self._state.settled()
