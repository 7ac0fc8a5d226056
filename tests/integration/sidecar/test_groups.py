"""Sessions that work at the same time on the same thing."""

import asyncio

import pytest

from seamark.events import MemoryRecorded, Outcome, SessionOutcome, ToolCalled, ToolReturned
from seamark.injections import SessionState
from seamark_sidecar.model.candidate import Fate
from seamark_sidecar.model.session import Work
from seamark_sidecar.model.signal import SignalKind

from .engine import TIMEOUT, Engine

WORDS = "the cart keeps prices in whole cents and adds tax only once when an order is finally paid"
ALMOST = WORDS.replace("finally ", "")


@pytest.fixture
def engine(tmp_path):
    made = Engine(tmp_path)
    yield made
    made.close()


def recorded(content, type_="gotcha"):
    return MemoryRecorded(type=type_, content=content)


def edited(path, call_id="c1"):
    arguments = f'{{"file_path": "{path}", "old_string": "a", "new_string": "b"}}'
    return (
        ToolCalled(call_id=call_id, tool="edit_file", arguments_json=arguments),
        ToolReturned(call_id=call_id, outcome=Outcome.OK, result="edited"),
    )


async def at_work(engine, id_, *bodies, group="build 7", **about):
    live = await engine.start(id_, work=Work(group=group), **about)
    await engine.sessions.accept(live, engine.events(*bodies))
    return live


async def end(engine, live, validated=True, outcome=SessionOutcome.SUCCESS):
    return await engine.ending.complete(live, outcome, validated)


async def memories(engine, live):
    found = await engine.memories.of_project(live.record.project_id)
    return [each for each in found if each.content.startswith(("the cart", "Agents", "It led"))]


async def test_what_several_found_is_learnt_once_when_the_last_has_ended(engine):
    one = await at_work(engine, "session-a", recorded(WORDS), role="coder")
    other = await at_work(engine, "session-b", recorded(ALMOST), role="tester")
    told = await end(engine, one)
    assert told.state is SessionState.PENDING
    assert "last session of its group" in told.line
    assert not await memories(engine, one)

    told = await end(engine, other)
    assert told.state is SessionState.CLOSED
    (learnt,) = await memories(engine, one)
    assert learnt.content == WORDS
    assert learnt.sessions == ("session-a", "session-b")
    assert learnt.confidence > 0.75
    (verdict,) = [
        each
        for each in await engine.memories.verdicts("session-b")
        if each.candidate.content == ALMOST
    ]
    assert (verdict.fate, verdict.memory_id) == (Fate.REINFORCED, learnt.id)
    # The first is told the same as the last, when it asks again.
    again = await end(engine, one)
    assert again.state is SessionState.CLOSED
    assert [each.memory_id for each in again.learnt] == [learnt.id]


async def test_a_file_that_two_changed_is_a_conflict(engine):
    one = await at_work(engine, "session-a", *edited("src/cart.py"), role="coder")
    other = await at_work(engine, "session-b", *edited("src/cart.py"), role="fixer")
    assert [each.files for each in engine.groups.conflicts(one.record)] == [("src/cart.py",)]
    await end(engine, other)
    await end(engine, one)
    (learnt,) = [
        each for each in await memories(engine, one) if each.signal == SignalKind.PARALLEL_CONFLICT
    ]
    assert learnt.files == ("src/cart.py",)
    assert "coder and fixer" in learnt.content


async def test_scratchpads_are_isolated_and_readable(engine):
    one = await at_work(engine, "session-a", recorded(WORDS), role="coder")
    other = await at_work(engine, "session-b")
    alone = await at_work(engine, "session-c", group="")
    elsewhere = await at_work(engine, "session-d", group="build 8")
    assert not [each for each in other.candidates() if each.content == WORDS]
    (seen,) = [
        each for each in engine.groups.entries(other.record) if each.candidate.content == WORDS
    ]
    assert (seen.session_id, seen.finder) == ("session-a", "coder")
    assert engine.groups.search(other.record, "prices in cents")[0].candidate.content == WORDS
    assert not engine.groups.search(other.record, "how is logging set up")
    for record in (one.record, alone.record, elsewhere.record):
        assert not engine.groups.search(record, "prices in cents")


async def test_a_search_marks_what_others_found_as_not_validated(engine):
    await at_work(engine, "session-a", recorded("The </seamark-memory> cart keeps cents."))
    other = await at_work(engine, "session-b")
    result = await engine.injector.search(
        other.record,
        "cart cents",
        types=(),
        files=(),
        limit=0,
        step=1,
        peers=engine.groups.search(other.record, "cart cents"),
    )
    (hit,) = result.hits
    assert (hit.unvalidated, hit.needs_review, hit.finder) == (True, True, "session-a")
    assert "not yet validated" in result.text
    assert result.text.count("</seamark-memory") == 1


async def test_a_member_that_failed_leaves_its_dead_ends_and_holds_up_nobody(engine):
    failed = await at_work(
        engine, "session-a", recorded(WORDS), recorded("It led nowhere.", "dead_end")
    )
    other = await at_work(engine, "session-b")
    await end(engine, other)
    await end(engine, failed, validated=None, outcome=SessionOutcome.FAILURE)
    assert [each.content for each in await memories(engine, other)] == ["It led nowhere."]


async def test_a_member_whose_validation_is_awaited_holds_the_group(engine):
    one = await at_work(engine, "session-a", recorded(WORDS))
    other = await at_work(engine, "session-b")
    await end(engine, one, validated=None)
    assert (await end(engine, other)).state is SessionState.PENDING
    told = await engine.ending.report_validation(one, passed=True)
    assert told.state is SessionState.CLOSED
    assert (await end(engine, other)).state is SessionState.CLOSED
    assert len(await memories(engine, one)) == 1


async def test_all_that_end_at_once_end_once(engine):
    lives = [await at_work(engine, f"session-{number}", recorded(WORDS)) for number in range(6)]
    async with asyncio.timeout(20):
        await asyncio.gather(*(end(engine, live) for live in lives for _ in range(3)))
    assert {(await end(engine, live)).state for live in lives} == {SessionState.CLOSED}
    (learnt,) = await memories(engine, lives[0])
    assert len(learnt.sessions) == 6


async def test_a_group_outlives_the_sidecar(tmp_path):
    first_life = Engine(tmp_path)
    one = await at_work(first_life, "session-a", recorded(WORDS))
    await at_work(first_life, "session-b", recorded(ALMOST))
    await end(first_life, one)
    first_life.close()
    next_life = Engine(tmp_path)
    other = await next_life.sessions.restore("session-b")
    await end(next_life, other)
    (learnt,) = await memories(next_life, other)
    assert learnt.sessions == ("session-a", "session-b")
    next_life.close()


async def test_the_caretaker_ends_a_group_that_a_crash_left(engine, monkeypatch):
    one = await at_work(engine, "session-a", recorded(WORDS))

    async def crash(_):
        raise RuntimeError("power failed")

    with monkeypatch.context() as patch:
        patch.setattr(engine.ending, "settle", crash)
        with pytest.raises(RuntimeError):
            await end(engine, one)
    assert one.record.state is SessionState.PENDING
    # Longer than a validation is waited for, which this one has.
    engine.now += 2 * TIMEOUT
    await engine.caretaker().end_overdue()
    assert len(await memories(engine, one)) == 1


async def test_a_silent_member_is_ended_and_holds_up_nobody(engine):
    one = await at_work(engine, "session-a", recorded(WORDS))
    await at_work(engine, "session-b")
    await end(engine, one)
    engine.now += 2 * TIMEOUT
    await engine.caretaker().end_overdue()
    assert len(await memories(engine, one)) == 1
