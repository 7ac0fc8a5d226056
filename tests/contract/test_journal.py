"""What everything that keeps events must do, on every implementation there is."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from seamark.events import (
    Event,
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
from seamark_sidecar.store.sqlite_journal import SqliteJournal

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
BODIES = [
    UserSaid(text="please"),
    ToolCalled(call_id="c", tool="bash", arguments_json='{"command": "ls"}'),
    ToolReturned(call_id="c", outcome=Outcome.ERROR, result="größe 价格 \0 ✓"),
    TextProduced(kind=TextKind.ANSWER, text=""),
    StepCompleted(input_tokens=3, output_tokens=4),
    MemoryRecorded(type="gotcha", content="x", files=("a.py",), tags=("t",)),
    FileChanged(path="a.py"),
    None,
]


@pytest.fixture(params=[SqliteJournal])
def make(request, tmp_path):
    """Opens the journal of one place; opening it again is a new process's view."""
    opened = []

    def open_():
        journal = request.param(tmp_path)
        journal.open()
        opened.append(journal)
        return journal

    yield open_
    for journal in opened:
        assert journal.close(5.0)


@pytest.fixture
def journal(make):
    return make()


def event(sequence, body=None, producer="p", time=NOON):
    return Event(producer_id=producer, sequence=sequence, time=time, body=body)


def names(events):
    return [(each.producer_id, each.sequence) for each in events]


async def test_every_kind_of_event_comes_back_as_it_was(journal):
    sent = [event(number, body) for number, body in enumerate(BODIES, 1)]
    await journal.append("s", sent, NOON)
    assert await journal.events("s") == sent


async def test_an_event_is_stored_once_however_often_it_is_sent(journal):
    await journal.append("s", [event(1), event(2)], NOON)
    await journal.append("s", [event(2), event(3)], NOON)
    await journal.append("s", [event(1), event(1)], NOON)
    assert names(await journal.events("s")) == [("p", 1), ("p", 2), ("p", 3)]
    assert await journal.event_count() == 3


async def test_the_first_to_come_under_a_name_stays(journal):
    await journal.append("s", [event(1, UserSaid(text="first"))], NOON)
    await journal.append("s", [event(1, UserSaid(text="second"))], NOON)
    (kept,) = await journal.events("s")
    assert kept.body == UserSaid(text="first")


async def test_events_come_back_in_the_order_they_came(journal):
    await journal.append("s", [event(3), event(1, producer="q")], NOON)
    await journal.append("s", [event(2), event(2**63 - 1)], NOON)
    assert names(await journal.events("s")) == [("p", 3), ("q", 1), ("p", 2), ("p", 2**63 - 1)]


async def test_concurrent_batches_are_all_stored(journal):
    batches = [
        journal.append("s", [event(n, producer=f"p{who}") for n in range(1, 21)], NOON)
        for who in range(10)
    ]
    await asyncio.gather(*batches)
    assert await journal.event_count() == 200


async def test_sessions_do_not_mix(journal):
    await journal.append("one", [event(1)], NOON)
    await journal.append("two", [event(1), event(2)], NOON)
    assert len(await journal.events("one")) == 1
    assert await journal.events("three") == []
    assert await journal.session_ids() == {"one", "two"}
    await journal.delete("two")
    assert await journal.session_ids() == {"one"}
    assert await journal.events("two") == []


async def test_the_clock_of_the_agents_machine_decides_nothing(journal):
    past = datetime(1, 1, 1, tzinfo=UTC)
    future = datetime(9999, 12, 31, tzinfo=UTC)
    await journal.append("s", [event(1, time=past), event(2, time=future)], NOON)
    assert await journal.last_time("s") == NOON
    assert await journal.delete_before(NOON - timedelta(days=1)) == 0
    assert [each.time for each in await journal.events("s")] == [past, future]
    assert await journal.delete_before(NOON + timedelta(seconds=1)) == 2


async def test_a_session_without_events_has_no_last_time(journal):
    assert await journal.last_time("s") is None


async def test_a_checkpoint_alone_makes_a_session_known_until_it_is_deleted(journal):
    await journal.checkpoint("s", "unit 1", 7, NOON)
    assert await journal.session_ids() == {"s"}
    await journal.delete("s")
    assert await journal.session_ids() == set()
    await journal.checkpoint("s", "unit 2", 9, NOON)
    await journal.delete_before(NOON + timedelta(seconds=1))
    assert await journal.session_ids() == set()


async def test_crashes_are_counted_by_name(journal):
    assert await journal.suspect(["s/p/1", "s/p/2"]) == {"s/p/1": 1, "s/p/2": 1}
    assert await journal.suspect(["s/p/1"]) == {"s/p/1": 2, "s/p/2": 1}
    assert await journal.suspect([]) == {"s/p/1": 2, "s/p/2": 1}


async def test_a_sessions_suspects_go_with_it(journal):
    await journal.suspect(["s/p/1", "s2/p/1", "s"])
    await journal.delete("s")
    assert await journal.suspect([]) == {"s2/p/1": 1, "s": 1}


async def test_what_was_appended_is_there_for_the_next_process(make):
    first = make()
    await first.append("s", [event(1, BODIES[0])], NOON)
    await first.suspect(["s/p/1"])
    assert first.close(5.0)
    second = make()
    assert names(await second.events("s")) == [("p", 1)]
    assert await second.suspect([]) == {"s/p/1": 1}
