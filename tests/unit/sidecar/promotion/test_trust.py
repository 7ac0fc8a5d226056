"""What text from outside may have shaped is trusted less, and shown to nobody unasked."""

import pytest

from seamark_sidecar.model.candidate import Fate
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.taxonomy import confidence_of
from seamark_sidecar.promotion.trust import CONTAMINATED, trust

from .sample import candidate, memory, promoter, session

PAGE = "web: https://example.org"


def weighed(*candidates, existing=(), sightings=None, learnt=None, **facts):
    return promoter().weigh(
        session(),
        candidates,
        existing=existing,
        sightings=sightings or {},
        learnt=learnt or {},
        **facts,
    )


def test_a_clean_candidate_is_trusted():
    assert trust(candidate()).factor == 1.0
    assert not trust(candidate()).needs_review


def test_a_contaminated_one_is_promoted_for_review_with_less_confidence():
    (clean,) = weighed(candidate()).memories
    promotion = weighed(candidate(contaminated_by=PAGE))
    (contaminated,) = promotion.memories
    assert contaminated.confidence == pytest.approx(CONTAMINATED * clean.confidence)
    assert contaminated.needs_review
    assert contaminated.contaminated_by == PAGE
    assert not clean.needs_review
    assert PAGE in promotion.verdicts[0].reason


def test_a_contaminated_finding_does_not_speak_for_a_clean_memory():
    known = memory()
    promotion = weighed(candidate(contaminated_by=PAGE), existing=[known])
    assert promotion.memories == (known,)
    assert promotion.verdicts[0].fate is Fate.REINFORCED
    assert "does not count" in promotion.verdicts[0].reason


def test_clean_findings_do_not_wash_a_contaminated_memory():
    known = memory(contaminated_by=PAGE, needs_review=True, confidence=0.6)
    for number in range(10):
        (known,) = weighed(candidate(), existing=[known], sightings={}).memories
        known = memory(
            contaminated_by=known.contaminated_by,
            needs_review=known.needs_review,
            confidence=known.confidence,
            sessions=(f"other {number}",),
        )
    assert known.contaminated_by == PAGE
    assert known.needs_review
    assert known.confidence <= CONTAMINATED


def test_agents_of_a_group_that_found_the_same_are_enough():
    found = candidate(signal=SignalKind.READ_ABANDON, also_found_by=("s2", "s3"))
    (learnt,) = weighed(found).memories
    assert learnt.sessions == ("s1", "s2", "s3")
    assert learnt.confidence > confidence_of(SignalKind.READ_ABANDON, 3)
    assert not weighed(candidate(signal=SignalKind.READ_ABANDON)).memories


def test_they_are_not_when_they_may_have_read_the_same():
    found = candidate(signal=SignalKind.READ_ABANDON, also_found_by=("s2",), contaminated_by=PAGE)
    (verdict,) = weighed(found).verdicts
    assert verdict.fate is Fate.HELD


def test_agents_of_a_group_reinforce_what_was_known():
    (learnt,) = weighed(candidate(also_found_by=("s2",)), existing=[memory()]).memories
    assert learnt.sessions == ("s0", "s1", "s2")


def test_a_session_that_did_not_succeed_says_so():
    promotion = weighed(candidate(), passed="did not succeed")
    assert promotion.verdicts[0].reason.startswith("the session did not succeed")
