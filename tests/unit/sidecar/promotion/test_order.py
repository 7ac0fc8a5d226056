"""In which order a session's candidates are weighed."""

from dataclasses import replace

from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.filters import best_first, said_already

ONE = Candidate(
    signal=SignalKind.DISCOVERY,
    source=Source.OBSERVER_INFERRED,
    type=MemoryType.GOTCHA,
    content="x",
    key="k",
)


def some(signal, surprises):
    return [replace(ONE, signal=signal, surprise=each, step=n) for n, each in enumerate(surprises)]


def test_the_worthier_kind_comes_first():
    kinds = [SignalKind.TIME_ANOMALY, SignalKind.RECORDED, SignalKind.DISCOVERY]
    ordered = best_first([replace(ONE, signal=kind) for kind in kinds])
    assert [each.signal for each in ordered] == [kinds[1], kinds[2], kinds[0]]


def test_within_a_kind_the_most_surprising_comes_first_then_the_earliest():
    ordered = best_first(some(SignalKind.DISCOVERY, [0.1, 0.9, 0.9]))
    assert [each.step for each in ordered] == [1, 2, 0]


def test_many_of_one_kind_do_not_hide_the_best_of_another():
    found = [
        *some(SignalKind.SELF_CORRECTION, [0.5] * 10),
        *some(SignalKind.DISCOVERY, [0.5] * 2),
    ]
    assert SignalKind.DISCOVERY in [each.signal for each in best_first(found)[:2]]


def test_all_stay_and_the_order_does_not_depend_on_how_they_came():
    found = [*some(SignalKind.DISCOVERY, [0.2, 0.4]), *some(SignalKind.RECORDED, [0.1])]
    assert best_first(found) == best_first(found[::-1])
    assert len(best_first(found)) == len(found)


LONG = "After editing fees.json the lock must be made anew, or the tests see old values."


def test_what_a_better_finding_says_gives_way():
    better = replace(ONE, signal=SignalKind.SELF_CORRECTION, content="I was wrong. " + LONG)
    verdict = said_already(replace(ONE, content=LONG), [better])
    assert verdict is not None
    assert "self_correction" in verdict.reason


def test_what_adds_something_stays_and_so_does_what_was_recorded():
    added = replace(ONE, content=LONG + " Rates are decimal strings, never floats, in every file.")
    assert said_already(added, [replace(ONE, content=LONG)]) is None
    recorded = replace(ONE, signal=SignalKind.RECORDED, content=LONG)
    assert said_already(recorded, [replace(ONE, content=LONG)]) is None
    assert said_already(ONE, []) is None
