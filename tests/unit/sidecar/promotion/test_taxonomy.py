"""What each kind of finding is worth."""

import pytest

from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.taxonomy import (
    HIGHEST_CONFIDENCE,
    TAUGHT_CONFIDENCE,
    WORTH,
    confidence_after,
    confidence_of,
)


def test_every_signal_has_a_row():
    assert set(WORTH) == set(SignalKind)


@pytest.mark.parametrize("worth", WORTH.values(), ids=WORTH)
def test_a_row_makes_sense(worth):
    assert 0 < worth.score <= 1
    assert 1 <= worth.sessions <= 4
    # What a person typed is believed more than what was observed.
    assert 0 < worth.confidence < TAUGHT_CONFIDENCE <= HIGHEST_CONFIDENCE < 1


@pytest.mark.parametrize("signal", SignalKind)
def test_confidence_grows_with_sessions_and_stays_below_the_highest(signal):
    needed = WORTH[signal].sessions
    grown = [confidence_of(signal, needed + more) for more in range(50)]
    assert grown[0] == WORTH[signal].confidence
    assert grown == sorted(grown)
    assert grown[1] == confidence_after(grown[0]) > grown[0]
    assert grown[-1] <= HIGHEST_CONFIDENCE
