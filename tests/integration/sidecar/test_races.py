"""Things that happen at the same time."""

import asyncio
import gc
from datetime import timedelta

import pytest

from seamark.events import MemoryRecorded, SessionOutcome, UserSaid
from seamark.injections import SessionState
from seamark.wire.v1 import events_pb2
from seamark_sidecar.api.intake import Intake
from seamark_sidecar.api.servicer import SidecarServicer
from seamark_sidecar.methodology.registry import Registry
from seamark_sidecar.model.errors import SessionClosed, StorageFull
from seamark_sidecar.sessions import capability
from seamark_sidecar.sessions.quarantine import Quarantine

from .engine import CLAIM, TIMEOUT, Engine

CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.")
TALK = UserSaid(text="x")


@pytest.fixture
def engine(tmp_path):
    made = Engine(tmp_path)
    yield made
    made.close()


async def end(engine, live, validated=True, outcome=SessionOutcome.SUCCESS):
    return await engine.ending.complete(live, outcome, validated)


async def within(seconds, *work):
    """All of it, in time: what hangs is a failure."""
    async with asyncio.timeout(seconds):
        return await asyncio.gather(*work, return_exceptions=True)


async def test_a_session_that_is_ended_many_times_at_once_ends_once(engine):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))
    told = await within(
        10,
        *(end(engine, live) for _ in range(10)),
        *(engine.ending.report_validation(live, passed) for passed in (True, False) * 5),
    )
    assert all(each == told[0] for each in told)
    assert told[0].state is SessionState.CLOSED
    assert len(told[0].learnt) == 1
    assert len(await engine.memories.of_project(live.record.project_id)) == 1


async def test_events_that_race_with_the_end_are_in_it_or_refused(engine):
    for round_ in range(10):
        live = await engine.start(f"session-{round_}")
        reports = [
            engine.sessions.accept(
                live,
                engine.events(
                    MemoryRecorded(type="gotcha", content=f"fact{number} of{round_}"), first=number
                ),
            )
            for number in range(1, 13)
        ]
        answers = await within(10, *reports[:6], end(engine, live), *reports[6:])
        told = answers.pop(6)
        taken = [answer for answer in answers if answer == 1]
        refused = [answer for answer in answers if isinstance(answer, SessionClosed)]
        assert len(taken) + len(refused) == 12
        # What was acknowledged was learnt, and nothing is left behind.
        assert len(told.learnt) == len(taken)
        assert await engine.journal.events(live.record.id) == []


async def test_a_late_report_to_a_session_that_is_gone_does_not_wait_for_ever(engine):
    live = await engine.start()
    await end(engine, live)
    (answer,) = await within(5, engine.sessions.accept(live, engine.events(TALK)))
    assert isinstance(answer, SessionClosed)
    assert await engine.journal.event_count() == 0


async def test_sessions_that_end_at_once_reinforce_one_memory(engine):
    lives = [await engine.start(f"session-{number}") for number in range(8)]
    for live in lives:
        await engine.sessions.accept(live, engine.events(CENTS))
    await within(10, *(end(engine, live) for live in lives))
    (memory,) = await engine.memories.of_project(lives[0].record.project_id)
    assert sorted(memory.sessions) == sorted(live.record.id for live in lives)
    assert memory.seq == 8


async def test_a_caller_that_gives_up_leaves_nothing_half_done(engine):
    live = await engine.start()
    for attempt in range(20):
        report = asyncio.create_task(
            engine.sessions.accept(live, engine.events(CENTS, TALK, first=1 + attempt * 2))
        )
        for _ in range(attempt):
            await asyncio.sleep(0)
        report.cancel()
        await asyncio.gather(report, return_exceptions=True)
    ending = asyncio.create_task(end(engine, live))
    await asyncio.sleep(0)
    ending.cancel()
    await asyncio.gather(ending, return_exceptions=True)
    await live.settled()
    # What reached the journal also reached the scratchpad, and the session ended whole.
    assert live.record.state is SessionState.CLOSED
    assert await engine.journal.event_count() == 0
    assert (await engine.memories.session(live.record.id)).state is SessionState.CLOSED


async def test_what_is_committed_is_applied_although_the_caller_left(engine):
    live = await engine.start()
    report = asyncio.create_task(engine.sessions.accept(live, engine.events(CENTS)))
    await asyncio.sleep(0)
    report.cancel()
    await asyncio.gather(report, return_exceptions=True)
    await live.settled()
    stored = await engine.journal.events(live.record.id)
    assert live.pad.event_count == len(stored)


async def test_a_session_is_restored_once_by_all_that_ask_for_it(engine, tmp_path):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(*[TALK] * 600))
    engine.sessions.forget(live)
    right = capability.derive(live.record.id, CLAIM)
    found = await within(
        10,
        *(engine.sessions.enter(live.record.id, right) for _ in range(5)),
        *(engine.sessions.restore(live.record.id) for _ in range(5)),
        engine.start(),
    )
    assert len({id(each) for each in found}) == 1
    assert found[0] is not live
    assert found[0].pad.event_count == 600


async def test_callers_that_give_up_do_not_keep_a_session_from_being_restored(engine, monkeypatch):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))
    engine.sessions.forget(live)
    real, reads = engine.journal.events, []

    async def slow(session_id):
        reads.append(session_id)
        await asyncio.sleep(0.1)
        return await real(session_id)

    monkeypatch.setattr(engine.journal, "events", slow)
    for _ in range(5):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(engine.sessions.restore(live.record.id), 0.01)
    found = await engine.sessions.restore(live.record.id)
    assert found.pad.event_count == 1
    assert len(reads) == 1


async def test_sessions_that_ended_leave_nothing_in_memory(engine):
    for number in range(20):
        live = await engine.start(f"session-{number}")
        await live.run(lambda live=live: engine.injector.before_step(live.record, live, 5))
        await end(engine, live)
    right = capability.derive("session-3", CLAIM)
    # Also not when somebody asks for them again.
    for _ in range(3):
        again = await engine.sessions.enter("session-3", right)
        assert again.record.state is SessionState.CLOSED
        assert (await end(engine, again)).line == "used 0 memories, learnt 0"
        with pytest.raises(SessionClosed):
            await engine.sessions.accept(again, engine.events(TALK))
    for unknown in range(50):
        assert await engine.sessions.restore(f"nobody-{unknown}") is None
    gc.collect()
    assert list(engine.sessions) == []
    assert len(engine.sessions._opening) == 0
    assert engine.injector._ledgers == {}


async def test_two_starts_of_one_session_at_once_are_one_session(engine):
    lives = await within(10, *(engine.start() for _ in range(10)))
    assert len({id(each) for each in lives}) == 1


async def test_tidying_up_spares_a_session_that_starts_meanwhile(engine):
    class StartsMeanwhile:
        """A record that is read just before a session starts and reports."""

        async def unfinished_sessions(self):
            read = await engine.memories.unfinished_sessions()
            live = await engine.start("session-new")
            await engine.sessions.accept(live, engine.events(CENTS))
            return read

    await engine.caretaker(record=StartsMeanwhile()).tidy()
    assert len(await engine.journal.events("session-new")) == 1


async def test_a_session_that_is_heard_of_in_time_is_not_ended(engine):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))
    engine.now += TIMEOUT * 2

    right = capability.derive(live.record.id, CLAIM)
    caretaker = engine.caretaker()
    await engine.sessions.enter(live.record.id, right)
    await caretaker.end_overdue()
    assert live.record.state is SessionState.OPEN
    engine.now += TIMEOUT + timedelta(seconds=1)
    await caretaker.end_overdue()
    assert (await engine.memories.session(live.record.id)).state is SessionState.CLOSED


async def test_a_session_that_speaks_while_it_is_found_silent_is_not_ended(engine):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))
    engine.sessions.forget(live)
    engine.now += TIMEOUT * 2

    class SpeaksMeanwhile:
        """A journal that is read just before the session is used again."""

        async def last_time(self, session_id):
            read = await engine.journal.last_time(session_id)
            await engine.sessions.enter(session_id, capability.derive(session_id, CLAIM))
            return read

    await engine.caretaker(journal=SpeaksMeanwhile()).end_overdue()
    assert (await engine.memories.session(live.record.id)).state is SessionState.OPEN


async def test_a_question_that_waited_behind_the_end_is_refused(engine, monkeypatch):
    live = await engine.start()
    is_ending, may_end = asyncio.Event(), asyncio.Event()
    real = engine.memories.finish

    async def finish(*rest, **more):
        is_ending.set()
        await may_end.wait()
        return await real(*rest, **more)

    async def unasked():
        raise AssertionError("nobody asks how it is")

    monkeypatch.setattr(engine.memories, "finish", finish)
    servicer = SidecarServicer(
        intake=Intake(Quarantine(engine.marks, {})),
        sessions=engine.sessions,
        ending=engine.ending,
        injector=engine.injector,
        journal=engine.journal,
        groups=engine.groups,
        methodologies=Registry(()),
        report=unasked,
    )
    batch = events_pb2.EventBatch(
        session_id=live.record.id, capability=capability.derive(live.record.id, CLAIM)
    )

    async def choose(live):
        return await engine.injector.before_step(live.record, live, 5)

    ending = asyncio.create_task(end(engine, live))
    await is_ending.wait()
    question = asyncio.create_task(servicer._decided(batch, choose))
    await asyncio.sleep(0.01)
    may_end.set()
    told, answer = await within(5, ending, question)
    assert told.state is SessionState.CLOSED
    assert isinstance(answer, SessionClosed)
    assert engine.injector._ledgers == {}


async def test_what_nobody_uses_is_not_loaded_by_the_caretaker(engine):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))
    engine.sessions.forget(live)
    await engine.caretaker().end_overdue()
    assert list(engine.sessions) == []


async def test_one_session_that_cannot_be_ended_does_not_keep_the_others(engine, monkeypatch):
    lives = [await engine.start(f"session-{number}") for number in range(3)]
    real = engine.memories.finish

    async def finish(session, *rest, **more):
        if session.id == "session-0":
            raise StorageFull("no room")
        return await real(session, *rest, **more)

    monkeypatch.setattr(engine.memories, "finish", finish)
    engine.now += TIMEOUT * 2
    await engine.caretaker().end_overdue()
    states = [live.record.state for live in lives]
    assert states == [SessionState.OPEN, SessionState.CLOSED, SessionState.CLOSED]


async def test_an_end_whose_events_cannot_be_deleted_is_an_end_all_the_same(engine, monkeypatch):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))

    async def no_room(session_id):
        raise StorageFull("no room")

    with monkeypatch.context() as patch:
        patch.setattr(engine.journal, "delete", no_room)
        assert len((await end(engine, live)).learnt) == 1
    await engine.caretaker().tidy()
    assert await engine.journal.event_count() == 0


async def test_an_end_that_cannot_be_stored_can_be_told_again(engine, monkeypatch):
    live = await engine.start()
    await engine.sessions.accept(live, engine.events(CENTS))

    async def no_room(*_, **__):
        raise StorageFull("no room")

    with monkeypatch.context() as patch:
        patch.setattr(engine.memories, "finish", no_room)
        with pytest.raises(StorageFull):
            await end(engine, live)
    assert live.record.state is SessionState.OPEN
    assert len(await engine.shelves.of(live.record.project_id)) == 0
    assert len((await end(engine, live)).learnt) == 1
