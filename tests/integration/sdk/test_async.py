"""The async calls answer as the blocking ones do, from any loop, and let go when cancelled."""

import asyncio
import logging
import threading
import time

import pytest

from seamark import MemoryRecorded, SessionOutcome, UserSaid
from seamark.breaker import FIRST_PAUSE
from seamark.injections import NOTHING
from seamark.session import DELIVERED_LATER
from tests.integration.sdk.conftest import PATIENT

NOTE = MemoryRecorded(type="gotcha", content="c")
START = {"project_path": "/p", "project_name": "n", "role": "coder", "task": "t"}


def blocking(client):
    session = client.start_session(**START)
    return [
        session.start,
        session.observe(UserSaid(text="1")),
        session.prepare_step(1),
        session.augment_tool_result("c"),
        session.search("q", types=["gotcha"], files=["a.py"], limit=3),
        session.record(NOTE),
        session.checkpoint("unit"),
        session.complete(SessionOutcome.PARTIAL),
        session.report_validation(True, "pytest"),
    ]


async def waiting(client):
    session = await client.astart_session(**START)
    return [
        session.start,
        session.observe(UserSaid(text="1")),
        await session.aprepare_step(1),
        await session.aaugment_tool_result("c"),
        await session.asearch("q", types=["gotcha"], files=["a.py"], limit=3),
        await session.arecord(NOTE),
        await session.acheckpoint("unit"),
        await session.acomplete(SessionOutcome.PARTIAL),
        await session.areport_validation(True, "pytest"),
    ]


FAULTS = {
    "well": {},
    "garbage": {"garbage": True},
    "refused": {"refusal": "NOT_TODAY"},
    "of another version": {"refusal": "WIRE_TOO_NEW"},
    "slow": {"delay": 0.15},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_both_kinds_of_calls_answer_the_same(sidecar, fault):
    for name, value in fault.items():
        setattr(sidecar, name, value)
    deadlines = (
        dict.fromkeys(PATIENT, 0.05) if fault else PATIENT  # An answer that is late is none.
    )
    clients = [sidecar.client(**deadlines) for _ in range(2)]
    answers = await asyncio.to_thread(blocking, clients[0])
    assert await waiting(clients[1]) == answers
    for client in clients:
        client.close(0)


async def test_both_kinds_of_calls_ask_the_same(sidecar):
    clients = [sidecar.client(**PATIENT) for _ in range(2)]
    await asyncio.to_thread(blocking, clients[0])
    await waiting(clients[1])
    for name in ("PrepareStep", "AugmentToolResult", "Search", "Record", "CompleteSession"):
        first, second = sidecar.requests(name)
        for request in (first, second):
            request.ClearField("events")
        assert first == second
    for client in clients:
        client.close()


async def test_the_loop_goes_on_while_a_call_waits(sidecar):
    client = sidecar.client(**PATIENT)
    session = await client.astart_session()
    sidecar.delay = 0.2
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.005)
            beats += 1

    heart = asyncio.create_task(beat())
    assert (await session.aprepare_step(1)).text == "[step]"
    heart.cancel()
    assert beats > 10
    client.close()


async def test_many_calls_at_once_all_get_their_answer(sidecar, client):
    sessions = await asyncio.gather(*(client.astart_session() for _ in range(20)))
    answers = await asyncio.gather(
        *(session.aprepare_step(step) for session in sessions for step in range(10))
    )
    assert [answer.text for answer in answers] == ["[step]"] * 200


async def test_a_cancelled_call_is_cancelled_and_leaves_nothing_behind(sidecar, client):
    session = await client.astart_session()
    sidecar.delay = 0.3
    task = asyncio.create_task(session.asearch("q"))
    await asyncio.sleep(0.05)
    task.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.2
    sidecar.delay = 0.0
    assert (await session.asearch("q")).text
    assert client.why_without_memory == ""


async def test_a_cancelled_start_is_cancelled(sidecar, client):
    sidecar.delay = 0.3
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.astart_session(), 0.05)
    sidecar.delay = 0.0
    assert (await client.astart_session()).start.system.text == "[system]"


async def test_a_cancelled_probe_does_not_shut_memory_out_for_ever(sidecar):
    client = sidecar.client(**PATIENT | {"step_deadline": 0.05})
    session = await client.astart_session()
    sidecar.delay = 0.3
    for step in (1, 2):
        assert await session.aprepare_step(step) == NOTHING
    await asyncio.sleep(FIRST_PAUSE + 0.05)
    probe = asyncio.create_task(session.aprepare_step(3))
    await asyncio.sleep(0.01)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    sidecar.delay = 0.0
    await asyncio.sleep(0.3)
    assert (await session.aprepare_step(4)).text == "[step]"
    client.close()


async def test_a_cancelled_end_is_delivered_all_the_same(sidecar, client, eventually):
    session = await client.astart_session()
    sidecar.delay = 0.1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(session.acomplete(), 0.02)
    assert await asyncio.to_thread(client.flush, 5)
    assert len(sidecar.requests("CompleteSession")) == 1
    assert client.outbox.faults == 0


def test_a_loop_that_ended_does_not_miss_the_end_of_its_session(sidecar, eventually, caplog):
    client = sidecar.client(**PATIENT | {"close_deadline": 0.05})
    sidecar.refusal = "WIRE_TOO_NEW"

    async def agent():
        session = await client.astart_session()
        return await session.acomplete()

    assert asyncio.run(agent()).line == DELIVERED_LATER
    sidecar.refusal = ""
    assert client.flush(10)
    assert len(sidecar.requests("CompleteSession")) >= 1
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    client.close()


def test_a_loop_that_ends_in_the_middle_of_a_call_leaves_no_noise(sidecar, client, caplog, capfd):
    loop = asyncio.new_event_loop()
    session = client.start_session()
    sidecar.delay = 0.1
    task = loop.create_task(session.aprepare_step(1))
    loop.run_until_complete(asyncio.sleep(0.02))
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    time.sleep(0.15)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "Traceback" not in capfd.readouterr().err


def test_one_client_serves_many_loops_and_threads(sidecar, client, caplog):
    session = client.start_session()
    texts: list[str] = []

    async def agent(number):
        mine = await client.astart_session()
        mine.observe(UserSaid(text=str(number)))
        answers = await asyncio.gather(*(mine.aprepare_step(step) for step in range(5)))
        answers.append(await session.aprepare_step(number))
        texts.extend(answer.text for answer in answers)
        await mine.acomplete()

    def run(number):
        for each in range(3):
            asyncio.run(agent(number * 3 + each))
            texts.append(session.prepare_step(number).text)

    threads = [threading.Thread(target=run, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["[step]"] * (8 * 3 * 7)
    assert len(sidecar.requests("CompleteSession")) == 24
    assert len(sidecar.bodies()) == 24
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
