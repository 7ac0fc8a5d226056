"""Our own faults stay ours; everything else passes."""

from __future__ import annotations

import asyncio

import pytest
from langgraph.errors import GraphInterrupt

from seamark_langgraph._guard import Faults


def test_a_fault_ends_the_block_and_nothing_else():
    faults, reached = Faults(), []
    with faults.guarded("count"):
        reached.append("before")
        raise KeyError("x")
    reached.append("behind")
    assert reached == ["before", "behind"]


def test_each_kind_is_told_once_and_counted_always(caplog):
    faults = Faults()
    for error in (KeyError("a"), KeyError("b"), ValueError("c")):
        with faults.guarded("count"):
            raise error
    with faults.guarded("measure"):
        raise KeyError("d")
    assert faults.counts == {"count: KeyError": 2, "count: ValueError": 1, "measure: KeyError": 1}
    assert len(caplog.records) == 3
    assert {record.name for record in caplog.records} == {"seamark"}


@pytest.mark.parametrize(
    "passing", [GraphInterrupt(), KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()]
)
def test_control_flow_is_not_a_fault(passing):
    faults = Faults()
    with pytest.raises(type(passing)) as caught, faults.guarded("count"):
        raise passing
    assert caught.value is passing
    assert not faults.counts


async def test_awaits_inside_are_guarded_too():
    async def fail() -> None:
        await asyncio.sleep(0)
        raise OSError("x")

    faults = Faults()
    with faults.guarded("wait"):
        await fail()
    assert faults.counts == {"wait: OSError": 1}
