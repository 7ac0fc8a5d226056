"""Takes what sessions reported to the sidecar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from seamark import calls
from seamark.errors import CallRefused, SeamarkError
from seamark.link import Link
from seamark.outbox import Entry
from seamark.session import MOST_BYTES, Session
from seamark.wire.v1 import events_pb2 as events
from seamark.wire.v1 import sidecar_pb2 as wire

INGEST_TIMEOUT = 2.0  # seconds, on the sender's thread
MOST_REFUSALS = 8  # of one batch or errand, before it is given up


class Mood(Protocol):
    """Who wants to know how it went."""

    def with_memory(self) -> None: ...
    def without_memory(self, error: Exception) -> None: ...


@dataclass(frozen=True, slots=True)
class Parcel:
    """Entries of one session, and what of them can be sent."""

    session: Session
    entries: Sequence[Entry]
    batch: events.EventBatch


class Delivery:
    """Sends batches on the sender's thread."""

    def __init__(self, link: Link, mood: Mood) -> None:
        self.rejected = 0
        self._link = link
        self._mood = mood
        self._refusals = 0

    def send(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Returns what has to be sent again; raises SeamarkError when nothing got through."""
        try:
            again = self._send(entries)
        except SeamarkError as error:
            self._mood.without_memory(error)
            # What the sidecar cannot digest must not stand before everything else for ever.
            self._refusals += isinstance(error, CallRefused)
            if self._refusals < MOST_REFUSALS:
                raise
            self.rejected += len(entries)
            again = ()
        self._refusals = 0
        return again

    def _send(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        groups: dict[Session, list[Entry]] = {}
        for entry in entries:
            groups.setdefault(entry[0], []).append(entry)
        parcels: list[Parcel] = []
        later: list[Entry] = []
        rejected = 0
        room = MOST_BYTES
        for session, group in groups.items():
            if room <= 0:
                later += group
            elif not self._knows(session):
                rejected += len(group)
            else:
                batch, count = session.batch(group, room)
                room -= batch.ByteSize()
                parcels.append(Parcel(session, group[:count], batch))
                later += group[count:]
        again: list[Entry] = []
        for parcel, receipt in zip(parcels, self._receipts(parcels), strict=True):
            sent = len(parcel.batch.events)
            if receipt.acknowledged_count + receipt.rejected_count >= sent:
                rejected += min(receipt.rejected_count, sent) + len(parcel.entries) - sent
                continue
            if receipt.rejected_reason:
                parcel.session.forget_capability()
            again += parcel.entries
        self.rejected += rejected
        return again + later

    def _receipts(self, parcels: Sequence[Parcel]) -> Sequence[wire.BatchReceipt]:
        if not parcels:
            return ()
        request = wire.IngestRequest(batches=[parcel.batch for parcel in parcels])
        response = self._link.call(calls.INGEST, request, INGEST_TIMEOUT)
        self._mood.with_memory()
        # A sidecar that returns too few receipts has acknowledged nothing for the others.
        return [*response.receipts, *[wire.BatchReceipt()] * len(parcels)][: len(parcels)]

    def _knows(self, session: Session) -> bool:
        """Makes a session known to the sidecar; False when it is refused for good."""
        if not session.is_established:
            try:
                session.establish()
            except CallRefused as error:
                self._mood.without_memory(error)
                return False
        return True
