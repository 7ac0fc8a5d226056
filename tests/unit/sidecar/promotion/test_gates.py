"""When findings may become memories."""

import pytest

from seamark.events import SessionOutcome
from seamark_sidecar.model.session import SessionType
from seamark_sidecar.promotion.gates import END_BY_SILENCE, GATES, PASSED, Opens, Passage, passage


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
