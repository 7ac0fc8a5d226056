"""What a session used, taught and holds back, in words."""

from seamark.injections import Citation, SessionState
from seamark_sidecar.model.candidate import Fate, Verdict
from seamark_sidecar.sessions import summary
from tests.unit.sidecar.promotion.sample import candidate

USED = (Citation(memory_id="m_1", label="gotcha: x", reason="about a.py"),)


def verdict(fate, memory_id="", content="Prices are in cents."):
    return Verdict(
        candidate=candidate(content),
        fate=fate,
        reason="found in 1 of 2 sessions",
        release="one more",
        memory_id=memory_id,
    )


def test_a_waiting_session_says_what_would_release_it():
    told = summary.waiting(USED, 2)
    assert told.state is SessionState.PENDING
    assert told.line == (
        "used 1 memory; 2 findings held back until the work is validated: "
        "complete(validated=True) releases"
    )


def test_a_closed_session_says_all_of_it():
    told = summary.closed(
        USED,
        [
            verdict(Fate.PROMOTED, "m_2"),
            verdict(Fate.REINFORCED, "m_3"),
            verdict(Fate.HELD),
            verdict(Fate.DISCARDED),
        ],
        "the work was not validated",
    )
    assert told.state is SessionState.CLOSED
    assert [each.memory_id for each in told.learnt] == ["m_2", "m_3"]
    assert [each.release for each in told.held_back] == ["one more"]
    assert told.line == (
        "used 1 memory, learnt 2, held back 1 (found in 1 of 2 sessions, released by one more), "
        "discarded 1 (the work was not validated)"
    )


def test_a_memory_found_twice_is_learnt_once():
    told = summary.closed((), [verdict(Fate.PROMOTED, "m_2"), verdict(Fate.REINFORCED, "m_2")], "")
    assert len(told.learnt) == 1
    assert told.line == "used 0 memories, learnt 1"


def test_only_a_few_of_many_are_named():
    told = summary.closed((), [verdict(Fate.HELD)] * 7, "")
    assert len(told.held_back) == 7
    assert told.line.count("released by") == summary.MOST_NAMED
    assert "and 4 more" in told.line
