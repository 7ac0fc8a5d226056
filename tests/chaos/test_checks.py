"""A campaign is worth something only if its checks can fail: each promise, broken once."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from seamark.events import Event, UserSaid
from tests.chaos import bodies
from tests.chaos.checks import check_index, check_store
from tests.chaos.history import Told
from tests.chaos.stored import Indexed, Stored, StoredMemory, StoredVerdict

NOW = datetime(2026, 5, 1, tzinfo=UTC)
OPEN, TAUGHT, PENDING = "open-1", "taught-1", "pending-1"
LEARNT = "m_000000000001"
SENTENCE = bodies.unique("t", 2)
MEMORY = StoredMemory(LEARNT, "p_1", "gotcha", SENTENCE, (TAUGHT,), 1)


def told(*more):
    """What the agents of three sessions were told."""
    lines = [
        _begun(OPEN),
        {"what": "sending", "session": OPEN, "producer": "p", "to": 5},
        {"what": "acknowledged", "session": OPEN, "producer": "p", "to": 4},
        _begun(TAUGHT, label="t"),
        {"what": "sending", "session": TAUGHT, "producer": "p", "to": 1},
        {"what": "recording", "session": TAUGHT, "producer": "p", "sequence": 2}
        | {"content": SENTENCE},
        {"what": "recorded", "session": TAUGHT, "producer": "p", "sequence": 2}
        | {"stored": True, "dropped": False},
        {"what": "ending", "session": TAUGHT, "outcome": "success", "validated": True},
        {"what": "ended", "session": TAUGHT, "state": "closed", "learnt": [LEARNT]},
        _begun(PENDING),
        {"what": "sending", "session": PENDING, "producer": "p", "to": 2},
        {"what": "ending", "session": PENDING, "outcome": "success", "validated": None},
        {"what": "ended", "session": PENDING, "state": "pending", "learnt": []},
        *more,
    ]
    made = Told()
    for line in lines:
        made.take(line)
    return made


def _begun(session, label="a"):
    about = {"session": session, "producer": "p", "label": label}
    return {"what": "began", **about, "project": "chaos 0", "type": "build"}


def event(sequence, body=None):
    return Event(
        producer_id="p", sequence=sequence, time=NOW, body=body or bodies.body("a", sequence)
    )


def stored(**changes):
    """A store that keeps every promise."""
    kept = Stored(
        events={OPEN: [event(n) for n in range(1, 6)], PENDING: [event(1), event(2)]},
        sessions={OPEN: "open", TAUGHT: "closed", PENDING: "pending"},
        memories=[MEMORY],
        verdicts={TAUGHT: [StoredVerdict(SENTENCE, "promoted", LEARNT)]},
        last_seq=1,
    )
    return replace(kept, **changes)


def test_a_store_that_keeps_every_promise_is_not_complained_about():
    assert list(check_store([told()], stored())) == []
    # The last event was never acknowledged.
    lost = stored(events={**stored().events, OPEN: [event(n) for n in range(1, 5)]})
    assert list(check_store([told()], lost)) == []


@pytest.mark.parametrize(
    ("complaint", "changes"),
    [
        ("an acknowledged event is lost", {"events": {OPEN: [event(1), event(2), event(4)]}}),
        ("an event is there twice", {"events": {OPEN: [event(n) for n in (1, 2, 2, 3, 4)]}}),
        ("events are out of order", {"events": {OPEN: [event(n) for n in (1, 3, 2, 4)]}}),
        (
            "an event is stored that was never sent so",
            {"events": {OPEN: [*stored().events[OPEN], event(6)]}},
        ),
        (
            "an event is stored that was never sent so",
            {"events": {OPEN: [event(1, UserSaid(text="?")), *stored().events[OPEN][1:]]}},
        ),
        ("a session answered as closed is not", {"sessions": {OPEN: "open", TAUGHT: "pending"}}),
        ("a session answered as ended has not", {"sessions": {PENDING: "open"}}),
        ("a session has ended that nobody ended", {"sessions": {OPEN: "closed"}}),
        ("an acknowledged record was not weighed", {"verdicts": {}}),
        ("a memory named as learnt is not there", {"memories": []}),
        ("a promoted memory is not there", {"memories": []}),
        (
            "a memory is there more than once",
            {"memories": [MEMORY, replace(MEMORY, id="m_000000000002", seq=2)], "last_seq": 2},
        ),
        (
            "a session taught the same memory twice",
            {"memories": [replace(MEMORY, sessions=(TAUGHT, TAUGHT))]},
        ),
        ("a change has a wrong number", {"last_seq": 0}),
        ("the database is damaged", {"damage": ["memory.db: page 3"]}),
    ],
)  # fmt: skip
def test_a_broken_promise_is_found(complaint, changes):
    found = check_store([told()], stored(**changes))
    assert complaint in {each.what for each in found}


def test_an_end_that_was_delivered_later_must_have_been_carried_out():
    ending = {"what": "ending", "session": OPEN, "outcome": "success", "validated": False}
    in_doubt = told(ending)
    assert list(check_store([in_doubt], stored())) == []
    delivered = told(ending, {"what": "flushed"})
    assert {each.what for each in check_store([delivered], stored())} == {
        "the end of a session was not carried out",
        "the end of a session was lost",
    }


def test_what_was_dropped_and_counted_is_not_lost():
    dropped = {"what": "dropped", "session": OPEN, "producer": "p", "sequences": [3]}
    gap = stored(events={**stored().events, OPEN: [event(n) for n in (1, 2, 4, 5)]})
    assert list(check_store([told(dropped)], gap)) == []


@pytest.mark.parametrize(
    ("complaint", "index"),
    [
        ("a memory is missing in the index", Indexed({}, frozenset())),
        (
            "the index has another version of a memory",
            Indexed({LEARNT: 2}, frozenset({LEARNT})),
        ),
        (
            "the index has a memory that the record has not",
            Indexed({LEARNT: 1, "m_00000000000f": 2}, frozenset({LEARNT})),
        ),
        ("a memory has no vector in the index", Indexed({LEARNT: 1}, frozenset())),
        ("the index cannot be read", None),
    ],
)
def test_an_index_that_differs_is_found(complaint, index):
    (found,) = check_index(stored(), index, embedded=True)
    assert found.what == complaint


def test_an_index_that_equals_the_record_is_not_complained_about():
    same = Indexed({LEARNT: 1}, frozenset({LEARNT}))
    assert list(check_index(stored(), same, embedded=True)) == []
