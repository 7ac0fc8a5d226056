"""How the sidecar is, in the words of the wire."""

from __future__ import annotations

import os
from datetime import datetime

from seamark import __version__
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.api.door import NEWEST_WIRE, OLDEST_WIRE
from seamark_sidecar.api.intake import Tally
from seamark_sidecar.api.ports import Gauge, Record, Room
from seamark_sidecar.retrieval.indexer import Indexer, Progress
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.sessions import Sessions

MOST_COUNTED = 2**63 - 1
MOST_QUEUED = 2**32 - 1
MOST_LISTED = 100


class StatusReport:
    """Asks every part that has something to say."""

    def __init__(
        self,
        *,
        record: Record,
        tally: Tally,
        sessions: Sessions,
        indexer: Indexer,
        gauge: Gauge,
        room: Room,
        data_dir: str,
        started: datetime,
    ) -> None:
        self._record = record
        self._tally = tally
        self._sessions = sessions
        self._indexer = indexer
        self._gauge = gauge
        self._room = room
        self._data_dir = data_dir
        self._started = started

    async def make(self) -> wire.StatusResponse:
        """How everything is at this moment."""
        counts = await self._record.counts()
        vitals = await self._gauge.read()
        tally = self._tally
        status = wire.StatusResponse(
            sidecar_version=__version__,
            process_id=os.getpid(),
            memory_count=counts.memories,
            project_count=counts.projects,
            open_session_count=counts.open_sessions,
            pending_session_count=counts.pending_sessions,
            event_count=tally.events,
            rejected_event_count=tally.rejected,
            dropped_event_count=tally.dropped,
            redacted_secret_count=tally.redacted,
            quarantined_event_count=tally.quarantined,
            data_dir=self._data_dir,
            oldest_wire=OLDEST_WIRE,
            newest_wire=NEWEST_WIRE,
            processes=[
                wire.ProcessStatus(
                    name=each.name,
                    process_id=each.pid,
                    resident_bytes=each.resident,
                    restart_count=each.restarts,
                )
                for each in vitals.processes
            ],
            files=[wire.FileStatus(name=each.name, size_bytes=each.size) for each in vitals.files],
            index=_index(await self._indexer.progress()),
            sessions=[_session(each) for each in self._latest()],
            learning_stop_reason=self._room.reason,
        )
        status.start_time.FromDatetime(self._started)
        return status

    def _latest(self) -> list[LiveSession]:
        by_time = sorted(self._sessions, key=lambda live: live.last_seen, reverse=True)
        return by_time[:MOST_LISTED]


def _index(progress: Progress) -> wire.IndexStatus:
    return wire.IndexStatus(
        ready=progress.ready,
        applied_seq=progress.applied,
        last_seq=progress.last,
        rebuild_count=progress.rebuilds,
        model=progress.model,
        fault=progress.fault,
    )


def _session(live: LiveSession) -> wire.SessionStatus:
    producers = live.producers.values()
    status = wire.SessionStatus(
        session_id=live.record.id,
        project_id=live.record.project_id,
        state=live.record.state.value,
        event_count=live.pad.event_count,
        missing_count=min(MOST_COUNTED, live.pad.missing_count),
        dropped_count=min(MOST_COUNTED, sum(each.dropped for each in producers)),
        queued_count=min(MOST_QUEUED, sum(each.queued for each in producers)),
        breaker_open=any(each.breaker_open for each in producers),
    )
    status.last_seen_time.FromDatetime(live.last_seen)
    return status
