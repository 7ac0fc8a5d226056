"""Texts of like length go together, within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from seamark_sidecar.models.batches import batches

lengths = st.lists(st.integers(1, 256), max_size=200)


@given(lengths, st.integers(1, 2048))
def test_every_text_is_in_one_batch_and_no_batch_exceeds_the_budget(lengths, budget):
    groups = list(batches(lengths, budget))
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    for group in groups:
        padded = len(group) * max(lengths[position] for position in group)
        assert padded <= budget or len(group) == 1


@given(lengths, st.integers(1, 2048))
def test_no_text_is_longer_than_one_of_an_earlier_batch(lengths, budget):
    flat = [lengths[position] for group in batches(lengths, budget) for position in group]
    assert flat == sorted(lengths, reverse=True)


def test_short_texts_are_not_padded_to_a_long_one():
    assert list(batches([5, 256, 5, 5], 256)) == [[1], [0, 2, 3]]
