"""What the sessions of a group found, put together."""

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.sessions.merging import (
    MOST_CONFLICTS,
    Member,
    conflicts,
    merge,
    with_conflicts,
)
from tests.unit.sidecar.promotion.sample import candidate

# 18 words, so that one more or less is 0.944, and two are 0.888 to 0.895.
WORDS = "the cart keeps prices in whole cents and adds tax only once when an order is finally paid"
PAGE = "web: https://example.org"


def member(id_, *candidates, changed=None, role=""):
    return Member(session_id=id_, role=role, candidates=candidates, changed=changed or {})


def test_entries_that_are_alike_are_one_and_carry_all_who_found_it():
    one, other = candidate(WORDS), candidate(WORDS.replace("finally ", ""))
    shares = merge([member("a", one), member("b", other), member("c", candidate("Else."))])
    (kept,) = shares["a"].candidates
    assert kept.content == WORDS
    assert kept.also_found_by == ("b",)
    assert shares["b"].candidates == ()
    assert shares["b"].absorbed == ((other, "a", one.key),)
    assert [each.also_found_by for each in shares["c"].candidates] == [()]


def test_entries_a_little_less_alike_stay_two_and_confirm_each_other():
    words = [f"word{chr(97 + number)}" for number in range(14)]
    one = candidate(" ".join(words[:13]))
    other = candidate(" ".join(words[1:14]))
    assert 12 / 14 > 0.85  # and below 0.88
    shares = merge([member("a", one), member("b", other)])
    assert [each.also_found_by for each in shares["a"].candidates] == [("b",)]
    assert [each.also_found_by for each in shares["b"].candidates] == [("a",)]


def test_one_agent_that_says_it_twice_is_no_quorum():
    one, other = candidate(WORDS), candidate(WORDS.replace("finally ", ""))
    shares = merge([member("a", one, other), member("b")])
    (kept,) = shares["a"].candidates
    assert kept.also_found_by == ()
    assert shares["a"].absorbed == ((other, "a", one.key),)


def test_the_same_words_of_another_type_are_another_entry():
    shares = merge(
        [
            member("a", candidate(WORDS)),
            member("b", candidate(WORDS, type_=MemoryType.DECISION)),
        ]
    )
    assert all(not each.also_found_by for share in shares.values() for each in share.candidates)
    assert all(share.candidates for share in shares.values())


def test_the_worst_of_those_who_found_it_counts():
    clean, contaminated = candidate(WORDS), candidate(WORDS, contaminated_by=PAGE)
    for members in ((clean, contaminated), (contaminated, clean)):
        shares = merge([member("a", members[0]), member("b", members[1])])
        (kept,) = shares["a"].candidates
        assert kept.contaminated_by == PAGE


def test_files_that_several_changed_are_conflicts():
    coder = member("a" * 32, changed={"src/cart.py": 4, "own.py": 1}, role="coder")
    fixer = member("b" * 32, changed={"src/cart.py": 7}, role="fixer")
    (found,) = conflicts([coder, fixer])
    assert found.kind is SignalKind.PARALLEL_CONFLICT
    assert found.files == ("src/cart.py",)
    assert found.step == 7
    assert found.details == {
        "file": "src/cart.py",
        "sessions": ("a" * 32, "b" * 32),
        "roles": ("coder", "fixer"),
        "steps": (4, 7),
    }
    assert "coder and fixer" in found.content
    again = conflicts([fixer, coder])[0]
    assert again.key == found.key


def test_a_conflict_is_taught_by_one_that_may_teach():
    one = member("a", changed={"cart.py": 1})
    other = member("b", candidate("x", contaminated_by=PAGE), changed={"cart.py": 2})
    told = with_conflicts([one, other], {"b"})
    assert [len(each.candidates) for each in told] == [0, 2]
    assert told[1].candidates[0].signal is SignalKind.PARALLEL_CONFLICT
    # The contaminated one may have been told to touch it.
    assert told[1].candidates[0].contaminated_by == PAGE
    assert [len(each.candidates) for each in with_conflicts([one, other], set())] == [0, 1]


def test_conflicts_are_few_and_in_the_order_of_their_paths():
    changed = {f"f{number:03d}.py": number for number in reversed(range(100))}
    found = conflicts([member("a", changed=changed), member("b", changed=changed)])
    assert [each.files[0] for each in found] == [f"f{n:03d}.py" for n in range(MOST_CONFLICTS)]


def test_nobody_makes_nothing():
    assert merge([]) == {}
    assert conflicts([member("a", changed={"x": 1})]) == []
