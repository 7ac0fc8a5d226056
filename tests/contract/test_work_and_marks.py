"""What the record keeps of work groups, of lineage, and of text from outside."""

import dataclasses
import sqlite3
from datetime import UTC, datetime

import pytest

from seamark.events import SessionOutcome
from seamark.injections import SessionState
from seamark_sidecar.model.candidate import Candidate, Fate, Promotion, Verdict
from seamark_sidecar.model.marks import Marks
from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.phase import Phase
from seamark_sidecar.model.session import SessionRecord, SessionType, Work
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.store.record_schema import MIGRATIONS
from seamark_sidecar.store.sqlite_memories import SqliteMemories

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
PLACE = Work(
    group="build 7",
    parent="session-0",
    methodology="tdd",
    stage="red",
    phase=Phase.DEFINE,
    unit=("cart", "total ü"),
)


@pytest.fixture
def memories(tmp_path):
    opened = SqliteMemories(tmp_path)
    opened.open()
    yield opened
    assert opened.close(5.0)


@pytest.fixture
async def project(memories):
    return await memories.project("git:abc", "shop", NOON)


def session(project, id_="session-1", **facts):
    return SessionRecord(
        id=id_,
        project_id=project.id,
        root="/r",
        type=SessionType.BUILD,
        role="coder",
        task="add tax",
        capability_hash=b"hash",
        state=SessionState.OPEN,
        started=NOON,
        **facts,
    )


def candidate(key="k", **facts):
    return Candidate(
        signal=SignalKind.RECORDED,
        source=Source.AGENT_EXPLICIT,
        type=MemoryType.GOTCHA,
        content="Prices are in cents.",
        key=key,
        **facts,
    )


async def finish(memories, record, *verdicts, marks=None, taught=True):
    promotion = Promotion(
        verdicts=verdicts, sightings=tuple(each.candidate.key for each in verdicts)
    )
    closed = dataclasses.replace(record, state=SessionState.CLOSED, ended=NOON)
    await memories.finish(closed, promotion, [], taught=taught, marks=marks)


async def test_a_sessions_place_in_the_work_comes_back(memories, project):
    record = session(project, work=PLACE, marks_until=7, contaminated_by="web: page")
    await memories.add_session(record)
    assert await memories.session(record.id) == record
    for validated in (True, False, None):
        pending = dataclasses.replace(
            record,
            state=SessionState.PENDING,
            ended=NOON,
            outcome=SessionOutcome.SUCCESS,
            validated=validated,
        )
        await memories.update_session(pending)
        assert await memories.session(record.id) == pending


async def test_relatives_are_found(memories, project):
    for number, work in enumerate((Work(), PLACE, PLACE, Work(group="other"))):
        await memories.add_session(session(project, f"session-{number}", work=work))
    group = await memories.group_sessions(project.id, "build 7")
    assert [each.id for each in group] == ["session-1", "session-2"]
    assert await memories.group_sessions(project.id, "") == []
    assert await memories.group_sessions("elsewhere", "build 7") == []
    children = await memories.child_sessions("session-0")
    assert [each.id for each in children] == ["session-1", "session-2"]
    assert await memories.child_sessions("") == []


async def test_contamination_comes_back_with_memories_and_verdicts(memories, project):
    memory = Memory(
        id="m_000000000001",
        project_id=project.id,
        type=MemoryType.GOTCHA,
        content="Prices are in cents.",
        confidence=0.5,
        source=Source.AGENT_EXPLICIT,
        signal=SignalKind.RECORDED,
        created=NOON,
        accessed=NOON,
        needs_review=True,
        contaminated_by="web: page",
    )
    await memories.put(memory)
    assert (await memories.of_project(project.id))[0].contaminated_by == "web: page"
    record = session(project)
    await memories.add_session(record)
    found = candidate(contaminated_by="web: page")
    await finish(memories, record, Verdict(candidate=found, fate=Fate.HELD, reason="r"))
    (verdict,) = await memories.verdicts(record.id)
    assert verdict.candidate == found
    assert await memories.contaminations(project.id, ["k", "other"]) == {"k": "web: page"}
    assert await memories.contaminations("elsewhere", ["k"]) == {}


async def test_a_session_that_taught_nothing_contaminates_no_finding(memories, project):
    record = session(project)
    await memories.add_session(record)
    found = Verdict(candidate=candidate(contaminated_by="web"), fate=Fate.DISCARDED, reason="r")
    await finish(memories, record, found, taught=False)
    assert await memories.contaminations(project.id, ["k"]) == {}


async def test_marks_keep_the_point_at_which_they_came(memories, project):
    assert not await memories.marks(project.id)
    for number, marks in enumerate(
        (
            Marks(spans=(1, 2**62), files=("a.py",)),
            Marks(),
            Marks(spans=(2, 1), files=("a.py", "ü.py")),
        )
    ):
        record = session(project, f"session-{number}")
        await memories.add_session(record)
        await finish(memories, record, marks=marks)
    found = await memories.marks(project.id)
    assert found.until == 2
    assert found.spans == {1: 1, 2**62: 1, 2: 2}
    assert found.files == {"a.py": 1, "ü.py": 2}
    assert not await memories.marks("elsewhere")


async def test_a_clean_file_loses_its_mark(memories, project):
    for number, marks in enumerate((Marks(files=("a.py", "b.py")), Marks(cleaned=("a.py", "c")))):
        record = session(project, f"session-{number}")
        await memories.add_session(record)
        await finish(memories, record, marks=marks)
    found = await memories.marks(project.id)
    assert (found.until, found.files) == (1, {"b.py": 1})


async def test_a_record_of_the_first_schema_is_read(tmp_path):
    with sqlite3.connect(tmp_path / "memory.db") as old:
        old.executescript(MIGRATIONS[0])
        old.execute("INSERT INTO projects VALUES ('p_1', 'git:abc', 'shop', 0)")
        old.execute(
            "INSERT INTO sessions (id, project_id, root, type, role, task, capability_hash, "
            "state, start_time) VALUES ('session-1', 'p_1', '', 'build', '', '', x'', 'open', 0)"
        )
        old.execute(
            "INSERT INTO memories VALUES ('m_000000000001', 'p_1', 'gotcha', 'Cents.', 0.7, "
            "'agent_explicit', 'recorded', '[]', '[]', '[]', 0, 0, 0, 0, 0, 1)"
        )
        old.execute(
            "INSERT INTO verdicts VALUES ('session-1', 0, 'recorded', 'agent_explicit', 'gotcha', "
            "'Cents.', 'k', 'promoted', 'r', '', 'm_000000000001')"
        )
        old.execute("PRAGMA user_version=1")
    old.close()
    memories = SqliteMemories(tmp_path)
    memories.open()
    try:
        (record,) = await memories.unfinished_sessions()
        assert record.work == Work()
        assert record.validated is None
        (memory,) = await memories.of_project("p_1")
        assert memory.contaminated_by == ""
        (verdict,) = await memories.verdicts("session-1")
        assert verdict.candidate.contaminated_by == ""
        project = await memories.project("git:abc", "shop", NOON)
        await memories.add_session(session(project, "session-2", work=PLACE))
        await finish(memories, session(project, "session-2"), marks=Marks(files=("a",)))
        assert (await memories.marks("p_1")).files == {"a": 1}
    finally:
        assert memories.close(5.0)
