"""Agents of one group, by the SDK and through a real sidecar."""

import pytest

from seamark.events import MemoryRecorded
from seamark.injections import SessionState

WORDS = "the cart keeps prices in whole cents and adds tax only once when an order is finally paid"


@pytest.fixture
def client(shared):
    made = shared.client()
    yield made
    made.close(timeout=1.0)


def test_they_see_and_confirm_what_they_found(shared, client, project):
    def start(role):
        return client.start_session(
            project_name=project,
            role=role,
            group="build 7",
            methodology="tdd",
            phase="green",
            work_unit="cart/total",
        )

    coder, tester = start("coder"), start("tester")
    coder.record(MemoryRecorded(type="gotcha", content=WORDS))
    (hit,) = tester.search("prices in cents").hits
    assert (hit.unvalidated, hit.finder, hit.content) == (True, "coder", WORDS)
    assert "not yet validated" in tester.search("prices in cents").text
    tester.record(MemoryRecorded(type="gotcha", content=WORDS.replace("finally ", "")))

    waiting = coder.complete(validated=True)
    assert waiting.state is SessionState.PENDING
    ended = tester.complete(validated=True)
    assert ended.state is SessionState.CLOSED
    (memory,) = shared.memories(project)
    assert memory.content == WORDS
    assert len(coder.complete(validated=True).learnt) == 1


def test_a_resumed_session_is_still_of_its_group(shared, client, project):
    first = client.start_session(project_name=project, group="g", role="coder")
    second = client.start_session(project_name=project, group="g", role="tester")
    resumed = client.resume_session(first.ticket)
    resumed.record(MemoryRecorded(type="gotcha", content=WORDS))
    assert [hit.finder for hit in second.search("prices in cents").hits] == ["coder"]
    for session in (resumed, second):
        session.complete(validated=True)


def test_a_subagent_has_what_its_parent_had(shared, client, project):
    parent = client.start_session(project_name=project)
    child = client.start_session(project_name=project, parent_session=parent.id, group="\ud800 x")
    child.record(MemoryRecorded(type="gotcha", content=WORDS))
    assert child.complete(validated=True).state is SessionState.CLOSED
    assert len(shared.memories(project)) == 1
