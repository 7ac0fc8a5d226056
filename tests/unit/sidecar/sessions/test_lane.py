"""One piece of work after the other."""

import asyncio
from functools import partial

import pytest

from seamark_sidecar.sessions.lane import Lane


async def test_work_is_done_in_the_order_it_was_handed_in():
    lane, done = Lane("test"), []

    async def work(number):
        await asyncio.sleep(0.002 * (5 - number))
        done.append(number)
        return number

    handed_in = [lane.run(partial(work, number)) for number in range(5)]
    assert await asyncio.gather(*handed_in) == [0, 1, 2, 3, 4]
    assert done == [0, 1, 2, 3, 4]


async def test_an_error_belongs_to_whoever_asked_and_stops_nobody_else():
    lane = Lane("test")

    async def fail():
        raise ValueError("mine")

    async def succeed():
        return "fine"

    failing, fine = lane.run(fail), lane.run(succeed)
    results = await asyncio.gather(failing, fine, return_exceptions=True)
    assert isinstance(results[0], ValueError)
    assert results[1] == "fine"


async def test_work_goes_on_when_nobody_waits_for_it_any_more():
    lane, done = Lane("test"), []

    async def work(name):
        await asyncio.sleep(0.01)
        done.append(name)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lane.run(lambda: work("first")), 0.001)
    await lane.run(lambda: work("second"))
    assert done == ["first", "second"]


async def test_work_that_was_given_up_before_it_began_is_done_all_the_same():
    lane, done = Lane("test"), []

    async def work(name):
        await asyncio.sleep(0.01)
        done.append(name)

    first = asyncio.create_task(lane.run(lambda: work("first")))
    second = asyncio.create_task(lane.run(lambda: work("second")))
    await asyncio.sleep(0.001)
    second.cancel()
    await first
    await lane.settled()
    assert done == ["first", "second"]


async def test_an_idle_lane_has_no_task():
    lane = Lane("test of idleness")

    async def nothing():
        pass

    await lane.run(nothing)
    await lane.settled()
    assert all(task.get_name() != "test of idleness" for task in asyncio.all_tasks())
    await lane.run(nothing)


async def test_a_lane_that_has_nothing_to_do_is_settled():
    await Lane("test").settled()
