"""What everything that keeps memories must do, on every implementation there is."""

import asyncio
import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from seamark.events import SessionOutcome
from seamark.injections import Citation, HeldBack, SessionState, SessionSummary
from seamark_sidecar.model.candidate import Candidate, Fate, Promotion, Verdict
from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.session import SessionRecord, SessionType
from seamark_sidecar.model.shown import Point, Shown
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.store.sqlite_memories import SqliteMemories

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(params=[SqliteMemories])
def make(request, tmp_path):
    """Opens the memories of one place; opening them again is a new process's view."""
    opened = []

    def open_():
        memories = request.param(tmp_path)
        memories.open()
        opened.append(memories)
        return memories

    yield open_
    for memories in opened:
        assert memories.close(5.0)


@pytest.fixture
def memories(make):
    return make()


@pytest.fixture
async def project(memories):
    return await memories.project("git:abc", "shop", NOON)


def session(project, id_="session-1", minute=0, **facts):
    kept = {"type": SessionType.BUILD, "state": SessionState.OPEN, **facts}
    return SessionRecord(
        id=id_,
        project_id=project.id,
        root="/r",
        role="coder",
        task="add tax",
        capability_hash=b"\0hash\xff",
        started=NOON + timedelta(minutes=minute),
        **kept,
    )


def memory(project, number=1, content="Prices are in cents.", **facts):
    kept = {"confidence": 0.75, "sessions": ("session-1",), "created": NOON, **facts}
    return Memory(
        id=f"m_{number:012x}",
        project_id=project.id,
        type=MemoryType.GOTCHA,
        content=content,
        source=Source.AGENT_EXPLICIT,
        signal=SignalKind.RECORDED,
        files=("src/größe.py",),
        tags=("money",),
        accessed=NOON,
        **kept,
    )


def verdict(key="k", fate=Fate.HELD, memory_id="", content="Prices are in cents."):
    return Verdict(
        candidate=Candidate(
            signal=SignalKind.RECORDED,
            source=Source.AGENT_EXPLICIT,
            type=MemoryType.GOTCHA,
            content=content,
            key=key,
        ),
        fate=fate,
        reason="because",
        release="one more",
        memory_id=memory_id,
    )


def shown(number=1, point=Point.PREPARE_STEP, step=3):
    return Shown(
        point=point, step=step, memory_id=f"m_{number:012x}", label="gotcha: x", reason="about a"
    )


async def end(memories, record, promotion, *, taught=True, accesses=()):
    summary = SessionSummary(
        state=SessionState.CLOSED,
        used=(Citation(memory_id="m", label="l", reason="r"),),
        held_back=(HeldBack(label="l", reason="r", release="x"),),
        line="learnt 1",
    )
    closed = dataclasses.replace(
        record,
        state=SessionState.CLOSED,
        ended=NOON,
        outcome=SessionOutcome.SUCCESS,
        summary=summary,
    )
    await memories.finish(closed, promotion, accesses, taught=taught)
    return closed


# Projects.


async def test_a_project_is_made_once_and_keeps_its_name(memories):
    first, second = await asyncio.gather(
        memories.project("git:abc", "shop", NOON), memories.project("git:abc", "other", NOON)
    )
    assert first == second
    another = await memories.project("dir:xyz", "shop", NOON)
    assert another.id != first.id
    assert await memories.projects() == {first.id: first, another.id: another}


# Sessions.


async def test_a_session_comes_back_as_it_was(memories, project):
    record = session(project)
    await memories.add_session(record)
    assert await memories.session(record.id) == record
    assert await memories.session("another") is None


async def test_a_session_is_found_by_its_beginning_newest_first(memories, project):
    for minute, id_ in enumerate(["abc-1", "abc-2", "ab%_-3"]):
        await memories.add_session(session(project, id_, minute))

    async def found(beginning):
        return [each.id for each in await memories.find_session(beginning)]

    assert await found("abc") == ["abc-2", "abc-1"]
    assert await found("") == ["ab%_-3", "abc-2", "abc-1"]
    assert await found("ab%") == ["ab%_-3"]
    assert await found("ABC") == []


async def test_a_session_is_unfinished_until_it_is_closed(memories, project):
    one, two = session(project, "session-1"), session(project, "session-2")
    await memories.add_session(one)
    await memories.add_session(two)
    pending = dataclasses.replace(
        two, state=SessionState.PENDING, ended=NOON, outcome=SessionOutcome.SUCCESS
    )
    await memories.update_session(pending)
    assert {each.id for each in await memories.unfinished_sessions()} == {one.id, two.id}
    assert await memories.session(two.id) == pending
    closed = await end(memories, one, Promotion())
    assert {each.id for each in await memories.unfinished_sessions()} == {two.id}
    assert await memories.session(one.id) == closed
    counts = await memories.counts()
    assert (counts.open_sessions, counts.pending_sessions, counts.projects) == (0, 1, 1)


# What an ended session changes.


async def test_a_session_changes_everything_or_nothing(memories, project):
    record = session(project)
    await memories.add_session(record)
    stranger = dataclasses.replace(memory(project, 2), project_id="p_nobody")
    promotion = Promotion(
        memories=(memory(project, 1), stranger), verdicts=(verdict(),), sightings=("k",)
    )
    with pytest.raises(Exception, match="FOREIGN KEY"):
        await end(memories, record, promotion)
    assert await memories.of_project(project.id) == []
    assert await memories.verdicts(record.id) == []
    assert await memories.sightings(project.id, ["k"]) == {"k": ()}
    assert (await memories.session(record.id)).state is SessionState.OPEN
    assert await memories.last_seq() == 0


async def test_what_a_session_taught_is_there_at_once(memories, project):
    record = session(project)
    await memories.add_session(record)
    made = memory(project)
    verdicts = (verdict("a", Fate.PROMOTED, made.id), verdict("b"), verdict("c", Fate.DISCARDED))
    promotion = Promotion(memories=(made,), verdicts=verdicts, sightings=("a", "b"))
    await end(memories, record, promotion, accesses=[("a.py", 2, 1), ("b.py", 0, 1)])
    (stored,) = await memories.of_project(project.id)
    assert stored == dataclasses.replace(made, seq=1)
    assert await memories.verdicts(record.id) == list(verdicts)
    assert await memories.taught_count(project.id) == 1
    assert await memories.touched_files(project.id) == {"a.py": 1, "b.py": 1}


async def test_a_failed_session_leaves_its_verdicts_and_nothing_else(memories, project):
    record = session(project)
    await memories.add_session(record)
    promotion = Promotion(verdicts=(verdict(fate=Fate.DISCARDED),), sightings=("k",))
    await end(memories, record, promotion, taught=False, accesses=[("a.py", 1, 0)])
    assert len(await memories.verdicts(record.id)) == 1
    assert await memories.sightings(project.id, ["k"]) == {"k": ()}
    assert await memories.touched_files(project.id) == {}
    assert await memories.taught_count(project.id) == 0


async def test_sightings_name_the_sessions_of_the_project_oldest_first(memories, project):
    other = await memories.project("git:other", "other", NOON)
    for minute, (where, id_) in enumerate(
        [(project, "session-z"), (project, "session-a"), (other, "session-o")]
    ):
        record = session(where, id_, minute)
        await memories.add_session(record)
        await end(memories, record, Promotion(sightings=("k", "k")))
    assert await memories.sightings(project.id, ["k", "new"]) == {
        "k": ("session-z", "session-a"),
        "new": (),
    }


async def test_what_a_finding_became_is_known_by_its_key(memories, project):
    other = await memories.project("git:other", "other", NOON)
    record = session(project)
    await memories.add_session(record)
    made = memory(project)
    promotion = Promotion(
        memories=(made,), verdicts=(verdict("k", Fate.PROMOTED, made.id), verdict("held"))
    )
    await end(memories, record, promotion)
    assert await memories.learnt(project.id, ["k", "held", "new"]) == {"k": made.id}
    assert await memories.learnt(other.id, ["k"]) == {}


# Memories.


async def test_every_change_takes_the_next_seq(memories, project):
    first = await memories.put(memory(project, 1))
    second = await memories.put(memory(project, 2))
    again = await memories.put(dataclasses.replace(first, content="changed"))
    assert [first.seq, second.seq, again.seq] == [1, 2, 3]
    assert [each.seq for each in await memories.of_project(project.id)] == [2, 3]
    assert await memories.last_seq() == 3


async def test_a_new_version_keeps_the_count_of_accesses(memories, project):
    made = await memories.put(memory(project))
    memories.note_shown("session-1", [shown()], NOON + timedelta(hours=1))
    await memories.put(dataclasses.replace(made, content="changed", access_count=99))
    (stored,) = await memories.of_project(project.id)
    assert (stored.content, stored.access_count) == ("changed", 1)
    assert stored.accessed == NOON + timedelta(hours=1)


async def test_the_latest_come_first_of_one_project_or_of_all(memories, project):
    other = await memories.project("git:other", "other", NOON)
    for number in range(1, 4):
        made = memory(project, number, created=NOON + timedelta(minutes=number))
        await memories.put(made)
    await memories.put(memory(other, 9, created=NOON + timedelta(hours=1)))

    async def latest(project_id, limit):
        return [int(each.id[2:], 16) for each in await memories.latest(project_id, limit)]

    assert await latest(project.id, 2) == [3, 2]
    assert await latest(None, 2) == [9, 3]


# What was shown.


async def test_what_was_shown_comes_back_in_the_order_of_the_decisions(memories):
    decisions = [shown(9, step=1), shown(2, step=1), shown(5, Point.SEARCH, step=2)]
    memories.note_shown("session-1", decisions[:2], NOON)
    memories.note_shown("session-1", decisions[2:], NOON)
    memories.note_shown("session-2", [shown(7)], NOON)
    assert await memories.shown("session-1") == decisions
    assert await memories.shown("nobody") == []


async def test_showing_again_counts_no_second_access(memories, project):
    await memories.put(memory(project))
    memories.note_shown("session-1", [shown()], NOON)
    memories.note_shown("session-1", [shown()], NOON)
    assert len(await memories.shown("session-1")) == 1
    assert (await memories.of_project(project.id))[0].access_count == 1


async def test_everything_is_there_for_the_next_process(make):
    first = make()
    project = await first.project("git:abc", "shop", NOON)
    record = session(project)
    await first.add_session(record)
    made = memory(project)
    closed = await end(first, record, Promotion(memories=(made,), verdicts=(verdict(),)))
    first.note_shown(record.id, [shown()], NOON)
    assert first.close(5.0)
    second = make()
    assert await second.session(record.id) == closed
    assert [each.content for each in await second.of_project(project.id)] == [made.content]
    assert await second.shown(record.id) == [shown()]
    assert await second.verdicts(record.id) == [verdict()]
