"""When findings may become memories."""

import dataclasses

import pytest

from seamark.events import SessionOutcome
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.session import SessionOrigin, SessionType
from seamark_sidecar.promotion.gates import (
    END_BY_SILENCE,
    GATES,
    PASSED,
    SURVIVING,
    Opens,
    Passage,
    passage,
    passing,
    standing,
)

from .sample import candidate, session


def test_every_type_of_session_has_a_row():
    assert set(GATES) == set(SessionType)


def test_every_way_to_open_has_its_words():
    assert set(PASSED) == set(Opens)


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_a_gate_that_opens_lets_something_through(gate):
    assert (gate.opens is Opens.NEVER) == (gate.most == 0) == (not gate.signals)


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
@pytest.mark.parametrize("outcome", SessionOutcome)
@pytest.mark.parametrize("validated", [None, True, False])
def test_only_success_passes_and_only_as_the_gate_says(gate, outcome, validated):
    stand = passage(gate, outcome, validated)
    if gate.opens is Opens.NEVER or validated is False or outcome is not SessionOutcome.SUCCESS:
        assert stand is Passage.SHUT
    elif gate.opens is Opens.AT_END or validated:
        assert stand is Passage.OPEN
    else:
        assert stand is Passage.WAITING


def test_what_silence_ends_does_not_wait_for_a_verdict():
    assert all(GATES[type_].opens is Opens.AT_END for type_ in END_BY_SILENCE)


def ended(outcome=SessionOutcome.SUCCESS, validated=None, type_=SessionType.BUILD, **facts):
    return dataclasses.replace(session(type_=type_), outcome=outcome, validated=validated, **facts)


GOTCHA = candidate("Prices are in cents.")
DEAD_END = candidate("Caching by name leads nowhere.", type_=MemoryType.DEAD_END)
STATE = candidate("Two of three are done.", type_=MemoryType.WORK_STATE)
ALL = (GOTCHA, DEAD_END, STATE)


def test_every_outcome_says_what_survives_it():
    assert set(SURVIVING) == set(SessionOutcome)


def test_an_open_gate_lets_all_through():
    assert passing(ended(validated=True), ALL) == (list(ALL), [])


@pytest.mark.parametrize(
    "record",
    [
        ended(SessionOutcome.FAILURE),
        ended(SessionOutcome.PARTIAL),
        ended(validated=False),
        ended(SessionOutcome.FAILURE, validated=True),
    ],
)
def test_a_failure_leaves_its_dead_ends_alone(record):
    assert passing(record, ALL) == ([DEAD_END], [GOTCHA, STATE])


def test_a_cancelled_session_also_leaves_where_it_stood():
    assert passing(ended(SessionOutcome.CANCELLED), ALL) == ([DEAD_END, STATE], [GOTCHA])


def test_what_teaches_nothing_teaches_no_dead_end_either():
    assert passing(ended(type_=SessionType.CHANGELOG), ALL) == ([], list(ALL))


def test_nothing_of_a_session_passes_that_nobody_vouched_for():
    record = ended(validated=True, origin=SessionOrigin.REPLAY)
    assert standing(record) is Passage.SHUT
    assert passing(record, ALL) == ([], list(ALL))
    vouched = dataclasses.replace(record, vouched=True)
    assert passing(vouched, ALL) == (list(ALL), [])
