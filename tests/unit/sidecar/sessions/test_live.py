"""A session in use."""

import contextlib
import dataclasses

import pytest

from seamark.injections import SessionState
from seamark_sidecar.model.errors import SessionClosed
from seamark_sidecar.observer.scratchpad import Scratchpad
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.quarantine import MOST_CRASHES, Quarantine, event_name
from tests.unit.sidecar.observer.sight import STEP, event, read, recorded, reported
from tests.unit.sidecar.promotion.sample import NOON, session


class Marks:
    """Remembers what was marked, and what is marked now."""

    def __init__(self):
        self.marked = []

    @contextlib.contextmanager
    def at_work_on(self, name):
        self.marked.append(name)
        yield


def live(marks=None, suspects=None):
    return LiveSession(session(), Quarantine(marks or Marks(), suspects or {}), NOON)


async def test_events_are_applied_once_and_marked_meanwhile():
    marks = Marks()
    made = live(marks)
    events = reported(*read("/r/a.py", "1"), STEP)
    assert [await made.take(events), await made.take(events)] == [3, 0]
    assert marks.marked[:3] == ["s1/p/1", "s1/p/2", "s1/p/3"]
    assert made.in_sight() == ("a.py",)
    assert (made.files_of("1"), made.files_of("nobody")) == (("a.py",), ())


async def test_an_event_that_took_the_sidecar_down_twice_is_passed_over():
    made = live(suspects={"s1/p/2": MOST_CRASHES, "s1/p/3": MOST_CRASHES - 1})
    assert await made.take(reported(recorded("one"), recorded("two"), recorded("three"))) == 2
    assert [each.content for each in made.records] == ["one", "three"]


async def test_an_event_that_is_not_understood_does_not_stop_the_others(monkeypatch, capsys):
    understand = Scratchpad.apply

    def stumble(pad, each):
        if each.sequence == 2:
            raise KeyError("contents of the event")
        return understand(pad, each)

    monkeypatch.setattr(Scratchpad, "apply", stumble)
    made = live()
    assert await made.take(reported(recorded("one"), recorded("two"), recorded("three"))) == 2
    said = "".join(capsys.readouterr())
    assert "s1/p/2" in said
    assert "contents of the event" not in said


@pytest.mark.parametrize("state", [SessionState.PENDING, SessionState.CLOSED])
async def test_a_session_that_ended_takes_nothing_in(state):
    made = live()
    made.require_open()
    made.record = dataclasses.replace(made.record, state=state)
    with pytest.raises(SessionClosed, match="start a new one"):
        made.require_open()


async def test_commits_do_not_keep_decisions_waiting():
    made = live()
    order = []

    async def slow():
        await made.run(quick)
        order.append("committed")

    async def quick():
        order.append("decided")

    await made.commit(slow)
    await made.settled()
    assert order == ["decided", "committed"]


def test_an_event_has_a_name_in_one_word():
    assert event_name("s", "p", 7) == "s/p/7"
    assert event(7, STEP).sequence == 7
