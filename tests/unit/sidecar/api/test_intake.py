"""From the wire to events that are cut, redacted and safe to look at."""

import contextlib
import dataclasses
import typing

import pytest

from seamark import codec, events
from seamark.events import (
    FileChanged,
    MemoryRecorded,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark.wire.v1 import events_pb2 as wire
from seamark_sidecar.api import intake as module
from seamark_sidecar.api.intake import Intake, redact_body
from seamark_sidecar.model.errors import BadRequest
from seamark_sidecar.model.secrets import redact
from seamark_sidecar.sessions.quarantine import MOST_CRASHES, Quarantine

SECRET = "ghp_" + "a1B2" * 10

LEAKS = [
    UserSaid(text=f"use {SECRET}"),
    ToolCalled(call_id="c", tool="bash", arguments_json=f'{{"command": "curl {SECRET}"}}'),
    ToolReturned(call_id="c", outcome=Outcome.OK, result=f"token={SECRET}"),
    TextProduced(kind=TextKind.REASONING, text=f"the token is {SECRET}"),
    MemoryRecorded(type="gotcha", content=f"use {SECRET}"),
    MemoryRecorded(type="gotcha", content="x", files=(f"{SECRET}.txt",)),
    MemoryRecorded(type="gotcha", content="x", tags=(SECRET,)),
    FileChanged(path=f"/r/{SECRET}"),
    StepCompleted(input_tokens=1),
]


class Marks:
    def __init__(self):
        self.now = []

    @contextlib.contextmanager
    def at_work_on(self, name):
        self.now.append(name)
        yield
        self.now.pop()


def intake(suspects=None, marks=None):
    return Intake(Quarantine(marks or Marks(), suspects or {}))


def batch(*bodies, producer="p"):
    return wire.EventBatch(
        session_id="s",
        producer_id=producer,
        events=[codec.event_to_wire(n, 1.0, body) for n, body in enumerate(bodies, 1)],
    )


def test_every_kind_of_event_is_in_the_table_below():
    assert {type(each) for each in LEAKS} == set(typing.get_args(events.Body))


@pytest.mark.parametrize("body", LEAKS, ids=lambda body: type(body).__name__)
async def test_no_text_of_any_event_keeps_a_secret(body):
    made = intake()
    (event,) = (await made.read(batch(body))).events
    assert SECRET not in repr(event)
    assert made.tally.redacted == (0 if isinstance(body, StepCompleted) else 1)
    for field in dataclasses.fields(body):
        if SECRET not in repr(getattr(body, field.name)):
            assert getattr(event.body, field.name) == getattr(body, field.name)


def test_an_event_of_an_unknown_kind_has_nothing_to_redact():
    assert redact_body(None) == (None, 0)


async def test_a_bad_event_is_left_out_and_the_others_go_on():
    sent = batch(UserSaid(text="one"), UserSaid(text="two"), UserSaid(text="three"))
    sent.events[1].sequence = 0
    made = intake()
    read = await made.read(sent)
    assert [event.sequence for event in read.events] == [1, 3]
    assert (read.rejected, read.reason, made.tally.rejected) == (1, "UNDECODABLE", 1)


async def test_an_event_that_took_the_sidecar_down_twice_is_not_looked_at(monkeypatch):
    def explode(text):
        raise AssertionError("looked at")

    monkeypatch.setattr(module, "redact", explode)
    made = intake({"s/p/1": MOST_CRASHES})
    read = await made.read(batch(UserSaid(text="poison")))
    assert (read.events, read.rejected, read.reason) == ((), 1, "QUARANTINED")
    assert made.tally.quarantined == 1


async def test_once_is_not_enough_to_be_passed_over():
    read = await intake({"s/p/1": MOST_CRASHES - 1}).read(batch(UserSaid(text="suspect")))
    assert len(read.events) == 1


async def test_each_event_is_marked_while_it_is_looked_at(monkeypatch):
    marks, seen = Marks(), []

    def watch(text):
        seen.append((text, *marks.now))
        return redact(text)

    monkeypatch.setattr(module, "redact", watch)
    await intake(marks=marks).read(batch(UserSaid(text="a"), UserSaid(text="b")))
    assert seen == [("a", "s/p/1"), ("b", "s/p/2")]
    assert marks.now == []


@pytest.mark.parametrize("producer", ["", "x" * (module.LONGEST_PRODUCER + 1)])
async def test_a_producer_has_a_name_of_some_length(producer):
    with pytest.raises(BadRequest, match="producer id"):
        await intake().read(batch(UserSaid(text="x"), producer=producer))


async def test_a_batch_without_events_needs_no_producer():
    assert (await intake().read(wire.EventBatch(session_id="s"))).events == ()


async def test_a_batch_has_only_so_many_events():
    sent = wire.EventBatch(producer_id="p", events=[wire.Event()] * (module.MOST_EVENTS + 1))
    with pytest.raises(BadRequest, match="at most"):
        await intake().read(sent)
