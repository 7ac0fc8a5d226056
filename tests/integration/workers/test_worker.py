"""A supervised worker process, with everything that can go wrong with it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from seamark_sidecar.model.errors import WorkerBusy, WorkerFault, WorkerGone, WorkerTooSlow
from seamark_sidecar.workers import worker as workers
from seamark_sidecar.workers.worker import Worker

ECHO = Path(__file__).with_name("echo.py")


def echo_worker(**options):
    worker = Worker("echo", "unused", memory_cap=options.pop("memory_cap", 1 << 30), **options)
    worker._command = (sys.executable, str(ECHO))
    return worker


@pytest.fixture
async def worker():
    worker = echo_worker()
    worker.start()
    await answered(worker)
    yield worker
    await worker.stop()


async def answered(worker, within=2.0):
    """Waits until the worker answers; returns how long that took."""
    begin = time.monotonic()
    while time.monotonic() - begin < within:
        try:
            assert await worker.ask("echo", 1.0, value=1) == 1
            return time.monotonic() - begin
        except WorkerGone:
            await asyncio.sleep(0.01)
    raise AssertionError(f"no answer within {within} s")


async def test_values_come_back_as_they_were_sent(worker):
    value = {"text": "ü", "bytes": b"\x00\xff", "list": [1, 2.5, None, True], "deep": {"a": [1]}}
    assert await worker.ask("echo", 1.0, value=value) == value


async def test_many_requests_are_answered_each_with_its_own_answer(worker):
    answers = await asyncio.gather(*(worker.ask("echo", 2.0, value=n) for n in range(60)))
    assert answers == list(range(60))


async def test_a_large_value_passes(worker):
    value = os.urandom(5_000_000)
    assert await worker.ask("echo", 5.0, value=value) == value


async def test_a_fault_in_the_worker_is_named_and_it_goes_on(worker):
    with pytest.raises(WorkerFault, match="ValueError: no such thing"):
        await worker.ask("fail", 1.0)
    with pytest.raises(WorkerFault, match="KeyError"):
        await worker.ask("no_such_method", 1.0)
    assert await worker.ask("echo", 1.0, value=1) == 1


async def test_a_slow_answer_is_given_up_at_the_deadline_and_not_mistaken_for_the_next(worker):
    begin = time.monotonic()
    with pytest.raises(WorkerTooSlow, match="sleep"):
        await worker.ask("sleep", 0.1, seconds=0.3)
    assert time.monotonic() - begin < 0.25
    assert await worker.ask("echo", 2.0, value="next") == "next"


async def test_more_than_the_most_in_flight_is_refused_as_busy(worker):
    waiting = [asyncio.create_task(worker.ask("echo", 5.0, value=n)) for n in range(64)]
    await asyncio.sleep(0)
    with pytest.raises(WorkerBusy):
        await worker.ask("echo", 1.0, value=0)
    assert await asyncio.gather(*waiting) == list(range(64))
    assert await worker.ask("echo", 1.0, value=0) == 0


async def test_a_worker_that_dies_in_a_request_is_typed_at_once_and_back_within_two_seconds(worker):
    first = await worker.ask("pid", 1.0)
    begin = time.monotonic()
    with pytest.raises(WorkerGone):
        await worker.ask("die", 5.0)
    assert time.monotonic() - begin < 1.0
    assert await answered(worker) < 2.0
    assert await worker.ask("pid", 1.0) != first
    assert worker.restarts == 1


async def test_a_killed_worker_fails_all_that_wait_for_it(worker):
    waiting = [asyncio.create_task(worker.ask("sleep", 5.0, seconds=5)) for _ in range(3)]
    await asyncio.sleep(0.05)
    os.kill(worker.pid, signal.SIGKILL)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in results] == [WorkerGone] * 3
    await answered(worker)


@pytest.mark.parametrize("length", [20, 2**32 - 1])
async def test_a_worker_that_answers_garbage_is_replaced(worker, length):
    first = await worker.ask("pid", 1.0)
    with pytest.raises(WorkerGone):
        await worker.ask("garbage", 3.0, length=length)
    await answered(worker)
    assert await worker.ask("pid", 1.0) != first


async def test_a_worker_over_its_memory_cap_is_replaced(monkeypatch):
    monkeypatch.setattr(workers, "MEMORY_CHECK", 0.05)
    worker = echo_worker(memory_cap=200 << 20)
    worker.start()
    await answered(worker)
    try:
        first = await worker.ask("pid", 1.0)
        for _ in range(4):
            await worker.ask("hoard", 5.0, size=100 << 20)
    except WorkerGone:
        pass
    for _ in range(150):
        if worker.restarts:
            break
        await asyncio.sleep(0.02)
    await answered(worker)
    assert await worker.ask("pid", 1.0) != first
    await worker.stop()


async def test_on_start_runs_after_each_start():
    starts = []

    worker = echo_worker(on_start=lambda: starts.append(1))
    worker.start()
    await answered(worker)
    with pytest.raises(WorkerGone):
        await worker.ask("die", 1.0)
    await answered(worker)
    await asyncio.sleep(0.05)
    await worker.stop()
    assert len(starts) == 2


async def test_a_stopped_worker_leaves_no_process_and_no_descriptor():
    before = psutil.Process().num_fds()
    worker = echo_worker()
    worker.start()
    await answered(worker)
    pid = await worker.ask("pid", 1.0)
    await worker.stop()
    await asyncio.sleep(0.1)
    assert not psutil.pid_exists(pid)
    assert psutil.Process().num_fds() <= before + 1
    with pytest.raises(WorkerGone):
        await worker.ask("echo", 1.0, value=1)


@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_ends_with_its_sidecar_after_sigkill(tmp_path, busy):
    script = tmp_path / "parent.py"
    script.write_text(
        f"""
import asyncio, sys
from seamark_sidecar.workers.worker import Worker
async def main():
    worker = Worker("echo", "unused", memory_cap=1 << 30)
    worker._command = (sys.executable, {str(ECHO)!r})
    worker.start()
    while True:
        try:
            print(await worker.ask("pid", 1.0), flush=True)
            break
        except Exception:
            await asyncio.sleep(0.01)
    {"await worker.ask('sleep', 60.0, seconds=60)" if busy else "await asyncio.sleep(60)"}
asyncio.run(main())
"""
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 2
    while psutil.pid_exists(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not psutil.pid_exists(pid)
