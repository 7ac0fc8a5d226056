"""Runs are found by their ticket, within bounds, and know what they are doing."""

from __future__ import annotations

import pytest
from langgraph.errors import GraphInterrupt

from seamark import Client, Settings
from seamark_langgraph._runs import Run, Runs


@pytest.fixture
def start():
    client = Client(Settings(address="", disabled=True))
    return lambda: Run(client.start_session())


def test_a_run_is_found_by_its_ticket(start):
    runs, run = Runs(), start()
    assert runs.find(run.session.ticket) is None
    assert runs.add(run) is run
    assert runs.find(run.session.ticket) is run
    runs.forget(run)
    assert runs.find(run.session.ticket) is None


def test_of_two_with_one_ticket_the_first_stays(start):
    runs, run = Runs(), start()
    runs.add(run)
    assert runs.add(Run(run.session)) is run


def test_the_one_not_used_for_longest_is_forgotten_first(start):
    runs = Runs(most=2)
    first, second, third = start(), start(), start()
    runs.add(first)
    runs.add(second)
    runs.find(first.session.ticket)
    runs.add(third)
    assert runs.find(second.session.ticket) is None
    assert runs.find(first.session.ticket) is first
    assert runs.find(third.session.ticket) is third


def test_what_is_at_work_is_not_taken(start):
    runs, idle, busy, ended = Runs(), start(), start(), start()
    for run in (idle, busy, ended):
        runs.add(run)
    ended.is_ended = True
    with busy.working():
        assert runs.take_idle() == [idle, ended]
        assert runs.take_idle() == []
    assert runs.take_idle() == [busy]


def test_a_call_is_new_until_it_is_open_and_new_again_once_closed(start):
    run = start()
    assert run.opens("c1")
    assert not run.opens("c1")
    run.closes("c1")
    assert run.opens("c1")


def test_failures_are_told_and_interrupts_are_not(start):
    run = start()
    told: list[Exception] = []
    error = ValueError("x")
    with pytest.raises(ValueError, match="x"), run.working(told.append):
        raise error
    for passing in (GraphInterrupt(), KeyboardInterrupt()):
        with pytest.raises(type(passing)), run.working(told.append):
            raise passing
    assert told == [error]
    assert run.is_idle
