"""For how long nobody has needed the sidecar."""

import asyncio

import pytest

from seamark_sidecar.idle import Idle


class Servicer:
    def __init__(self):
        self.go_on = asyncio.Event()

    async def Ask(self, request, context):  # noqa: N802 - as the contract names its calls
        await self.go_on.wait()
        if request == "fail":
            raise ValueError(request)
        return request


@pytest.fixture
def clock():
    return iter(range(0, 1000, 10)).__next__


async def test_time_runs_while_nobody_asks(clock):
    idle = Idle(clock)
    assert [idle.seconds(), idle.seconds()] == [10, 20]


@pytest.mark.parametrize("request_", ["answer", "fail"])
async def test_a_call_counts_until_it_is_answered(clock, request_):
    servicer = Servicer()
    idle = Idle(clock)
    call = asyncio.create_task(idle.watching(servicer).Ask(request_, None))  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    assert [idle.seconds(), idle.seconds()] == [0, 0]
    servicer.go_on.set()
    outcome = await asyncio.gather(call, return_exceptions=True)
    assert [str(answer) for answer in outcome] == [request_]
    assert idle.seconds() == 10


async def test_the_end_comes_when_nobody_asked_for_so_long():
    idle = Idle()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await idle.last_for(0.05, lambda: False)
    assert 0.05 <= loop.time() - began < 1


async def test_a_call_puts_the_end_off():
    servicer = Servicer()
    idle = Idle()
    end = asyncio.create_task(idle.last_for(0.05, lambda: False))
    call = asyncio.create_task(idle.watching(servicer).Ask("x", None))  # type: ignore[attr-defined]
    await asyncio.sleep(0.2)
    assert not end.done()
    servicer.go_on.set()
    await call
    await asyncio.wait_for(end, 2)


async def test_work_under_way_puts_the_end_off():
    busy = True
    end = asyncio.create_task(Idle().last_for(0.01, lambda: busy))
    await asyncio.sleep(0.2)
    assert not end.done()
    busy = False
    await asyncio.wait_for(end, 2)
