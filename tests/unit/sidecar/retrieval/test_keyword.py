"""BM25 over the words of texts, against the formula written down plainly."""

import math

from hypothesis import given
from hypothesis import strategies as st

from seamark_sidecar.retrieval.keyword import KeywordIndex
from seamark_sidecar.retrieval.words import words

K1, B = 1.2, 0.75
WORDS = ["cart", "tax", "price", "cents", "readTokens", "src/cart.py", "the"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
CHANGES = st.lists(st.tuples(st.sampled_from("abcdef"), st.one_of(st.none(), TEXTS)), max_size=25)


def brute_force(texts, query):
    documents = {name: words(text) for name, text in texts.items()}
    average = sum(map(len, documents.values())) / len(documents) if documents else 0
    scores: dict[str, float] = {}
    for word in set(words(query)):
        holding = [name for name, terms in documents.items() if word in terms]
        idf = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for name in holding:
            count = documents[name].count(word)
            length = len(documents[name])
            share = count * (K1 + 1) / (count + K1 * (1 - B + B * length / average))
            scores[name] = scores.get(name, 0.0) + idf * share
    return scores


@given(changes=CHANGES, query=TEXTS)
def test_scores_are_those_of_the_formula_whatever_came_and_went_before(changes, query):
    index = KeywordIndex()
    texts: dict[str, str] = {}
    for name, text in changes:
        if text is None:
            index.remove(name)
            texts.pop(name, None)
        else:
            index.put(name, text)
            texts[name] = text
    found = index.search(query)
    expected = brute_force(texts, query)
    assert len(index) == len(texts)
    assert {name for name, _ in found} == set(expected)
    assert all(math.isclose(score, expected[name]) for name, score in found)
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))


def test_a_rare_word_weighs_more_than_a_common_one():
    index = KeywordIndex()
    for number in range(9):
        index.put(f"common{number}", "cart total")
    index.put("rare", "cart vat")
    assert index.search("vat cart")[0][0] == "rare"


def test_nothing_is_found_in_an_empty_index():
    assert KeywordIndex().search("anything") == []
