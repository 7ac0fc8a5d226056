"""The terms under which a text is found."""

import time

import pytest

from seamark_sidecar.retrieval.words import LONGEST_TOKEN, words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("readTokens", ["read", "token", "readtokens"]),
        ("read_tokens", ["read", "token", "read_tokens"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("parseHTTPResponse", ["pars", "http", "respons", "parsehttpresponse"]),
        ("src/cart.py", ["src", "cart", "py", "src/cart.py"]),
        ("x86_64", ["x", "86", "64", "x86_64"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("__init__", ["init"]),
        ("error-404", ["error", "404", "error-404"]),
        ("größe", ["größ"]),
        ("Цены", ["цены"]),
        ("价格", ["价格"]),
        ("the and of", []),
        ("", []),
        ("...///___", []),
    ],
)
def test_the_terms_of_a_text(text, terms):
    assert words(text) == terms


@pytest.mark.parametrize(
    "family",
    [
        "parse parses parsed parsing",
        "test tests tested testing",
        "cache caches cached caching",
        "setting settings",
        "query queries",
        "fix fixes",
        "batch batches",
        "class classes",
        "retry retries",
    ],
)
def test_forms_of_a_word_share_their_term(family):
    terms = {term for form in family.split() for term in words(form)}
    assert len(terms) == 1


@pytest.mark.parametrize("word", ["class", "bus", "string", "red", "is_ok", "need"])
def test_short_words_are_left_as_they_are(word):
    assert word in words(word)


def test_a_long_path_is_found_by_its_parts():
    path = "/".join(f"folder{chr(97 + number)}" for number in range(20)) + "/cart.py"
    assert len(path) > LONGEST_TOKEN
    assert {"cart", "py", "foldera"} <= set(words(path))
    assert path not in words(path)


@pytest.mark.parametrize(
    "text", ["a" * 65_000, "aB" * 32_000, "a_" * 32_000, "_" * 65_000, "é1" * 32_000]
)
def test_hostile_text_takes_no_longer_than_other_text(text):
    start = time.process_time()
    words(text)
    assert time.process_time() - start < 0.5
