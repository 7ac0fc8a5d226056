"""Turns a batch from the wire into events that are cut, redacted and safe to look at."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass

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


def redact_body(body: Body | None) -> tuple[Body | None, int]:
    """The body without secrets, and how many there were."""
    match body:
        case UserSaid() | TextProduced():
            safe = redact(body.text)
            return dataclasses.replace(body, text=safe.text), safe.count
        case ToolCalled():
            safe = redact(body.arguments_json)
            return dataclasses.replace(body, arguments_json=safe.text), safe.count
        case ToolReturned():
            safe = redact(body.result)
            return dataclasses.replace(body, result=safe.text), safe.count
        case MemoryRecorded():
            content = redact(body.content)
            files = [redact(file) for file in body.files]
            tags = [redact(tag) for tag in body.tags]
            record = dataclasses.replace(
                body,
                content=content.text,
                files=tuple(each.text for each in files),
                tags=tuple(each.text for each in tags),
            )
            return record, sum(each.count for each in (content, *files, *tags))
        case FileChanged():
            safe = redact(body.path)
            return dataclasses.replace(body, path=safe.text), safe.count
        case StepCompleted() | None:
            return body, 0
