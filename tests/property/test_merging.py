"""Whatever the members of a group bring, nothing is lost and nothing is made up."""

from hypothesis import given
from hypothesis import strategies as st

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.promotion.likeness import alike
from seamark_sidecar.sessions.merging import QUORUM, Member, conflicts, merge
from tests.unit.sidecar.promotion.sample import candidate

WORDS = [f"word{chr(97 + number)}" for number in range(18)]
CONTENTS = st.integers(10, 18).map(lambda length: " ".join(WORDS[:length]))
CANDIDATES = st.builds(
    lambda content, type_, page: candidate(
        content, type_=type_, key=f"{type_} {content}", contaminated_by=page
    ),
    CONTENTS,
    st.sampled_from([MemoryType.GOTCHA, MemoryType.DECISION]),
    st.sampled_from(["", "", "web"]),
)
MEMBERS = st.lists(
    st.tuples(
        st.lists(CANDIDATES, max_size=5),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)),
    ),
    max_size=4,
).map(
    lambda drawn: [
        Member(session_id=f"s{number}", candidates=found, changed=changed)
        for number, (found, changed) in enumerate(drawn)
    ]
)


@given(MEMBERS)
def test_each_entry_is_kept_or_absorbed_by_one_that_is_kept(members):
    shares = merge(members)
    assert list(shares) == [each.session_id for each in members]
    kept = {(name, each.key): each for name, share in shares.items() for each in share.candidates}
    for member in members:
        share = shares[member.session_id]
        assert len(share.candidates) + len(share.absorbed) == len(member.candidates)
        for absorbed, finder, key in share.absorbed:
            into = kept[finder, key]
            assert into.type is absorbed.type
            assert not absorbed.contaminated_by or into.contaminated_by
            if finder != member.session_id:
                assert member.session_id in into.also_found_by


@given(MEMBERS)
def test_nobody_confirms_himself(members):
    for name, share in merge(members).items():
        assert all(name not in each.also_found_by for each in share.candidates)


@given(MEMBERS)
def test_conflicts_are_the_files_of_several(members):
    found = {each.files[0] for each in conflicts(members)}
    assert found == {path for path in "abc" if sum(path in each.changed for each in members) > 1}


@given(MEMBERS)
def test_comparing_few_finds_all_that_comparing_each_would(members):
    for member in members:
        for each in merge(members)[member.session_id].candidates:
            assert set(each.also_found_by) == {
                other.session_id
                for other in members
                if other is not member
                and any(
                    entry.type is each.type and alike(entry.content, each.content, QUORUM)
                    for entry in other.candidates
                )
            }
