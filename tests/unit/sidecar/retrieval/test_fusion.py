"""Several rankings made into one."""

import math
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_sidecar.retrieval.fusion import Arm, reciprocal_rank, standard_scores

NAMES = st.sampled_from([f"m{number}" for number in range(12)])
SCORES = st.floats(-1e3, 1e3).map(lambda score: round(score, 3))
RANKINGS = st.dictionaries(NAMES, SCORES, max_size=8).map(
    lambda scores: sorted(scores.items(), key=lambda item: -item[1])
)
WEIGHTS = st.floats(0.05, 1.0)
ARMS = st.lists(
    st.builds(Arm, ranking=RANKINGS, weight=WEIGHTS, absent=st.none() | st.just(-2e3)), max_size=4
)
FUSIONS = pytest.mark.parametrize("fused", [reciprocal_rank, standard_scores])


def names(found):
    return [name for name, _ in found]


def test_reciprocal_ranks_are_the_textbook_ones():
    found = reciprocal_rank(
        [
            Arm(ranking=[("a", 9.0), ("b", 1.0)], weight=0.7),
            Arm(ranking=[("b", 0.2)], weight=0.3),
        ]
    )
    assert dict(found) == pytest.approx({"b": 0.7 / 62 + 0.3 / 61, "a": 0.7 / 61})
    assert names(found) == ["b", "a"]


def test_standard_scores_are_those_of_the_formula_written_down_plainly():
    dense = {"a": 0.9, "b": 0.5, "c": 0.4}
    words = {"d": 12.0, "b": 3.0}
    found = standard_scores(
        [
            Arm(ranking=list(dense.items()), weight=0.6),
            Arm(ranking=list(words.items()), weight=0.2, absent=0.0),
        ]
    )
    dense["d"] = 0.4
    words |= {"a": 0.0, "c": 0.0}

    def standard(scores, name):
        return (scores[name] - fmean(scores.values())) / pstdev(scores.values())

    expected = {name: 0.75 * standard(dense, name) + 0.25 * standard(words, name) for name in dense}
    assert dict(found) == pytest.approx(expected)


def test_the_only_memory_that_holds_a_rare_word_comes_first():
    dense = [(f"m{rank:02}", 0.5 - rank / 100) for rank in range(50)]
    found = standard_scores(
        [
            Arm(ranking=dense, weight=0.5),
            Arm(ranking=[("m37", 7.3)], weight=0.5, absent=0.0),
        ]
    )
    assert found[0][0] == "m37"


def test_an_arm_that_likes_all_equally_changes_nothing():
    dense = [("a", 0.9), ("b", 0.8), ("c", 0.1)]
    alike = [(name, 0.1 + 0.2) for name in "cba"]
    found = standard_scores([Arm(ranking=dense, weight=0.5), Arm(ranking=alike, weight=0.5)])
    assert names(found) == ["a", "b", "c"]


def test_the_weight_of_an_empty_arm_goes_to_the_others():
    dense = [("a", 0.9), ("b", 0.8), ("c", 0.1)]
    alone = standard_scores([Arm(ranking=dense, weight=1.0)])
    beside = standard_scores([Arm(ranking=dense, weight=0.3), Arm(ranking=[], weight=0.7)])
    assert dict(beside) == pytest.approx(dict(alone))


@FUSIONS
def test_nothing_found_fuses_to_nothing(fused):
    assert fused([]) == []
    assert fused([Arm(ranking=[], weight=1.0)]) == []


@FUSIONS
@given(arms=ARMS)
def test_every_name_comes_once_best_first_and_equal_ones_by_name(fused, arms):
    found = fused(arms)
    assert sorted(names(found)) == sorted({name for arm in arms for name, _ in arm.ranking})
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))
    assert all(math.isfinite(score) for _, score in found)


@FUSIONS
@given(arms=ARMS)
def test_the_order_of_the_arms_does_not_matter(fused, arms):
    assert dict(fused(arms)) == pytest.approx(dict(fused(arms[::-1])), abs=1e-9)


@given(ranking=RANKINGS, factor=st.floats(0.5, 100.0), shift=st.floats(-100.0, 100.0))
def test_the_units_of_a_score_do_not_matter(ranking, factor, shift):
    moved = [(name, score * factor + shift) for name, score in ranking]
    plain = dict(standard_scores([Arm(ranking=ranking, weight=1.0)]))
    assert dict(standard_scores([Arm(ranking=moved, weight=1.0)])) == pytest.approx(plain, abs=1e-6)
