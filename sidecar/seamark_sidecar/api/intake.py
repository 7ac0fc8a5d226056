"""Turns a batch from the wire into events that are cut, redacted and safe to look at."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from seamark import codec
from seamark.errors import UndecodableMessage
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
from seamark.wire.v1 import events_pb2 as wire
from seamark_sidecar.model.errors import BadRequest
from seamark_sidecar.model.secrets import redact
from seamark_sidecar.sessions.quarantine import Quarantine, event_name

MOST_EVENTS = 4096
LONGEST_PRODUCER = 64
READ_AT_ONCE = 128 * 1024  # bytes, between which others get their turn


@dataclass(frozen=True, slots=True)
class Read:
    """What a batch held."""

    events: tuple[Event, ...]
    rejected: int = 0
    reason: str = ""


@dataclass(slots=True)
class Tally:
    """What came in since the start, for the status."""

    events: int = 0
    rejected: int = 0
    redacted: int = 0
    quarantined: int = 0
    dropped: int = 0


class Intake:
    """Reads batches. An event that took the sidecar down twice is not looked at again."""

    def __init__(self, quarantine: Quarantine) -> None:
        self.tally = Tally()
        self._quarantine = quarantine

    async def read(self, batch: wire.EventBatch) -> Read:
        """The events of a batch; a bad one is left out and counted, the others go on."""
        if not 1 <= len(batch.producer_id) <= LONGEST_PRODUCER and batch.events:
            raise BadRequest(f"a producer id has 1 to {LONGEST_PRODUCER} characters")
        if len(batch.events) > MOST_EVENTS:
            raise BadRequest(f"a batch has at most {MOST_EVENTS} events")
        events: list[Event] = []
        reason = ""
        size = 0
        for message in batch.events:
            size += message.ByteSize()
            if size > READ_AT_ONCE:
                size = 0
                await asyncio.sleep(0)
            name = event_name(batch.session_id, batch.producer_id, message.sequence)
            if self._quarantine.holds(name):
                self.tally.quarantined += 1
                reason = "QUARANTINED"
                continue
            with self._quarantine.at_work_on(name):
                try:
                    events.append(self._redacted(codec.event_from_wire(batch.producer_id, message)))
                except UndecodableMessage:
                    reason = reason or "UNDECODABLE"
        rejected = len(batch.events) - len(events)
        self.tally.rejected += rejected
        return Read(tuple(events), rejected, reason)

    def _redacted(self, event: Event) -> Event:
        body, count = redact_body(event.body)
        if not count:
            return event
        self.tally.redacted += count
        return dataclasses.replace(event, body=body)


# Where each kind of event has text in which a secret may stand.
_TEXTS: Mapping[type[Body], tuple[str, ...]] = MappingProxyType({
    UserSaid: ("text",),
    ToolCalled: ("arguments_json",),
    ToolReturned: ("result",),
    TextProduced: ("text",),
    StepCompleted: (),
    MemoryRecorded: ("type", "content", "files", "tags"),
    FileChanged: ("path",),
})  # fmt: skip


def redact_body(body: Body | None) -> tuple[Body | None, int]:
    """The body without secrets, and how many there were."""
    if body is None:
        return None, 0
    changes: dict[str, Any] = {}
    count = 0
    for name in _TEXTS[type(body)]:
        value = getattr(body, name)
        safe = [redact(text) for text in ((value,) if isinstance(value, str) else value)]
        if found := sum(each.count for each in safe):
            count += found
            texts = tuple(each.text for each in safe)
            changes[name] = texts[0] if isinstance(value, str) else texts
    return (dataclasses.replace(body, **changes), count) if changes else (body, 0)
