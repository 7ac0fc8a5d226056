"""From candidates to memories."""

import pytest

from seamark_sidecar.injection.decide import injectable
from seamark_sidecar.model.candidate import Fate
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.model.session import SessionType
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.gates import GATES
from seamark_sidecar.promotion.promoter import discard
from seamark_sidecar.promotion.taxonomy import WORTH, confidence_after

from .sample import NOON, candidate, memory, session, weigh


def fates(promotion):
    return [each.fate for each in promotion.verdicts]


@pytest.mark.parametrize("signal", [SignalKind.RECORDED, SignalKind.SELF_CORRECTION])
def test_one_session_is_enough_for_what_was_said(signal):
    promotion = weigh(candidate(signal=signal, files=("a.py",), tags=("money",)))
    (made,) = promotion.memories
    assert made.content == "Prices are in cents."
    assert (made.confidence, made.signal) == (WORTH[signal].confidence, signal)
    assert (made.files, made.tags, made.sessions) == (("a.py",), ("money",), ("s1",))
    assert (made.created, made.project_id, made.needs_review) == (NOON, "p", False)
    (verdict,) = promotion.verdicts
    assert (verdict.fate, verdict.memory_id) == (Fate.PROMOTED, made.id)
    assert "was validated" in verdict.reason


def test_one_session_is_not_enough_for_an_error():
    promotion = weigh(candidate(signal=SignalKind.ERROR_RETRY, key="e"))
    assert promotion.memories == ()
    (verdict,) = promotion.verdicts
    assert verdict.fate is Fate.HELD
    assert "1 of 2" in verdict.reason
    assert "1 more" in verdict.release
    assert promotion.sightings == ("e",)


def test_a_second_session_releases_it_and_both_are_named():
    promotion = weigh(
        candidate(signal=SignalKind.ERROR_RETRY, key="e"),
        sightings={"e": ("s0",)},
        in_session=session(),
    )
    (made,) = promotion.memories
    assert made.sessions == ("s0", "s1")
    assert made.confidence == WORTH[SignalKind.ERROR_RETRY].confidence
    assert made.source is Source.OBSERVER_INFERRED
    # Two independent sessions found it, so the system may show it unasked.
    assert injectable(made)


def test_more_sightings_than_needed_make_it_surer():
    promotion = weigh(
        candidate(signal=SignalKind.ERROR_RETRY, key="e"), sightings={"e": ("s7", "s8", "s9")}
    )
    base = WORTH[SignalKind.ERROR_RETRY].confidence
    assert promotion.memories[0].confidence == confidence_after(confidence_after(base))


def test_what_is_known_is_reinforced_instead():
    known = memory()
    promotion = weigh(candidate("prices are in CENTS"), existing=[known])
    (changed,) = promotion.memories
    assert (changed.id, changed.sessions) == (known.id, ("s0", "s1"))
    assert changed.confidence == confidence_after(known.confidence)
    assert fates(promotion) == [Fate.REINFORCED]
    assert promotion.verdicts[0].memory_id == known.id


def test_the_same_finding_in_other_words_reinforces_what_it_became():
    known = memory("`pytest` failed 2 times with `boom`.", signal=SignalKind.ERROR_RETRY)
    again = candidate(
        "`make test` failed 7 times with `boom`; it passed after the agent edited x.py.",
        SignalKind.ERROR_RETRY,
        key="e",
    )
    promotion = weigh(
        again, existing=[known], sightings={"e": ("s8", "s9")}, learnt={"e": known.id}
    )
    assert fates(promotion) == [Fate.REINFORCED]
    assert promotion.memories[0].content == known.content


def test_a_memory_that_is_gone_is_learnt_anew():
    promotion = weigh(candidate(key="k"), learnt={"k": "m_00000000dead"})
    assert fates(promotion) == [Fate.PROMOTED]


def test_the_same_words_as_another_type_are_another_memory():
    promotion = weigh(candidate(type_=MemoryType.DECISION), existing=[memory()])
    assert fates(promotion) == [Fate.PROMOTED]


def test_a_session_reinforces_a_memory_once():
    known = memory()
    promotion = weigh(candidate(key="1"), candidate(key="2"), existing=[known])
    assert fates(promotion) == [Fate.REINFORCED, Fate.REINFORCED]
    assert promotion.memories[0].sessions == ("s0", "s1")


def test_saying_it_twice_in_a_session_makes_one_memory():
    promotion = weigh(candidate(key="1"), candidate(signal=SignalKind.SELF_CORRECTION, key="2"))
    assert fates(promotion) == [Fate.PROMOTED, Fate.REINFORCED]
    (made,) = promotion.memories
    assert (made.sessions, made.confidence) == (("s1",), WORTH[SignalKind.RECORDED].confidence)
    assert "twice" in promotion.verdicts[1].reason


def test_the_cap_holds_back_the_least_worthy():
    most = GATES[SessionType.BUILD].most
    said = [candidate(f"word{n} alone", SignalKind.SELF_CORRECTION, step=n) for n in range(most)]
    recorded = candidate("something the agent asked for", step=99)
    promotion = weigh(*said, recorded)
    assert len(promotion.memories) == most
    held = [each for each in promotion.verdicts if each.fate is Fate.HELD]
    assert [each.candidate for each in held] == [said[-1]]
    assert str(most) in held[0].reason
    assert held[0].release


@pytest.mark.parametrize("type_", SessionType)
def test_a_gate_lets_through_its_signals_only(type_):
    gate = GATES[type_]
    candidates = [candidate(f"finding {signal}", signal) for signal in SignalKind]
    promotion = weigh(
        *candidates,
        in_session=session(type_=type_),
        sightings={each.key: ("s7", "s8", "s9") for each in candidates},
    )
    by_fate = {each.candidate.signal: each.fate for each in promotion.verdicts}
    kept = {signal for signal, fate in by_fate.items() if fate is not Fate.DISCARDED}
    assert kept == gate.signals
    assert len(promotion.memories) == min(gate.most, len(gate.signals))
    assert all(made.needs_review is gate.review for made in promotion.memories)
    # What the session may not teach does not count as found by it either.
    assert set(promotion.sightings) == {
        each.key for each in candidates if each.signal in gate.signals
    }


def test_a_secret_that_only_the_wording_made_is_taken_out_everywhere():
    leak = candidate("the password: hunter2x9! of the database")
    promotion = weigh(leak)
    texts = [each.content for each in promotion.memories]
    texts += [each.candidate.content for each in promotion.verdicts]
    texts += [each.candidate.content for each in discard([leak], "no")]
    assert len(texts) == 3
    assert not any("hunter2x9" in text for text in texts)


def test_discarding_gives_each_its_reason():
    verdicts = discard([candidate(), candidate("another")], "the work was not validated")
    assert {each.fate for each in verdicts} == {Fate.DISCARDED}
    assert {each.reason for each in verdicts} == {"the work was not validated"}
