"""Texts as sparse vectors."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_sidecar.retrieval import sparse
from seamark_sidecar.retrieval.words import words

# Halves of characters too: a text may come from anywhere.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


def product(query, document):
    weights = dict(zip(*document, strict=True))
    return sum(value * weights.get(index, 0.0) for index, value in zip(*query, strict=True))


def test_the_product_is_bm25_with_a_fixed_average_length():
    text = "the cart keeps prices in cents, so cents are added"
    terms = words(text)
    expected = 0.0
    for word in words("cents prices"):
        count = terms.count(word)
        length = len(terms) / sparse.AVERAGE_LENGTH
        expected += count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length))
    found = product(sparse.query("cents prices unknown"), sparse.document(text))
    assert found == pytest.approx(expected)


def test_a_word_said_twice_in_a_query_counts_once():
    assert sparse.query("retry retry") == sparse.query("retry")


def test_identifiers_meet_their_parts():
    document = sparse.document("call readTokens in src/cart.py first")
    for query in ("read", "token", "readTokens", "cart.py", "src/cart.py"):
        assert product(sparse.query(query), document) > 0, query


def test_a_text_without_words_is_an_empty_vector():
    assert sparse.document(" .,! ") == sparse.query("the of") == ([], [])


@given(ANY_TEXT)
def test_every_index_comes_once_and_fits_the_engine(text):
    for indices, values in (sparse.document(text), sparse.query(text)):
        assert len(indices) == len(set(indices)) == len(values)
        assert all(0 <= index < 2**32 for index in indices)
        assert all(0 < value < 2.2 + 1e-9 and math.isfinite(value) for value in values)


@given(ANY_TEXT.filter(words))
def test_a_text_is_found_by_itself(text):
    assert product(sparse.query(text), sparse.document(text)) > 0
