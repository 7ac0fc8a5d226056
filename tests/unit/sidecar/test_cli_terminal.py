"""What reaches a terminal cannot steer it, and fits it without cutting words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from seamark_sidecar.cli.layout import counted, shortened, wrapped
from seamark_sidecar.cli.terminal import plain

ACTING = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}

# Any code point, also lone surrogates, which st.text() leaves out.
anything = st.text(alphabet=st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\x7fb", "a\\x7fb"),
        ("a\rb", "a\\rb"),
        ("a\tb\nc", "a\\tb\\nc"),
        ("a\x08b", "a\\x08b"),
        ("user\u202etxt.exe", "user\\u202etxt.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("pay\u200dpal", "pay\\u200dpal"),
        ("\ufeffbom", "\\ufeffbom"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("lone\udc80", "lone\\udc80"),
        ("line\u2028separator", "line\\u2028separator"),
        ("filler\u3164", "filler\\u3164"),
    ],
)
def test_a_character_that_could_steer_or_hide_is_shown_as_an_escape(hostile, shown):
    assert plain(hostile) == shown


@given(anything)
def test_no_acting_character_survives(text):
    assert not {unicodedata.category(char) for char in plain(text)} & ACTING


@given(anything)
def test_with_newlines_kept_only_newlines_survive(text):
    kept = plain(text, newlines=True).replace("\n", "")
    assert not {unicodedata.category(char) for char in kept} & ACTING


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0xFF)))
def test_ordinary_text_stays_as_it_is(text):
    assert plain(text) == text.replace("\xad", "\\xad")


def test_windows_line_ends_count_as_line_ends():
    assert plain("one\r\ntwo", newlines=True) == "one\ntwo"


@given(anything, st.integers(min_value=1, max_value=120))
def test_wrapping_loses_no_word_and_cuts_none(text, width):
    words = plain(text, newlines=True).split()
    lines = wrapped(text, width)
    assert [word for line in lines for word in line.split()] == words
    assert all(cell_len(line) <= width or len(line.split()) == 1 for line in lines)


def test_wide_characters_count_twice():
    assert wrapped("日本 日本 日本", 9) == ["日本 日本", "日本"]


def test_a_long_path_stands_whole_on_its_own_line():
    path = "/very/long/" + "x" * 90
    assert wrapped(f"see {path} there", 40) == ["see", path, "there"]


@given(anything, st.integers(min_value=4, max_value=120))
def test_a_shortened_text_ends_after_a_whole_word(text, width):
    short = shortened(text, width)
    paragraphs = [line.split() for line in plain(text, newlines=True).split("\n")]
    first = next((words for words in paragraphs if words), [])
    words = short.removesuffix(" …").split()
    assert words == first[: len(words)]


def test_a_shortened_text_says_that_there_is_more():
    assert shortened("Prices are in cents.", 40) == "Prices are in cents."
    assert shortened("Prices are in cents everywhere.", 24) == "Prices are in cents …"
    assert shortened("\n  First.\nSecond.", 40) == "First. …"
    assert shortened(" \n ", 40) == ""


def test_counts_read_like_english():
    assert counted(1, "project") == "1 project"
    assert counted(1200, "project") == "1,200 projects"
    assert counted(0, "memory", "memories") == "0 memories"
