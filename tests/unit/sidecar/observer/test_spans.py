"""A passage is recognised wherever it is repeated."""

import time

from seamark_sidecar.observer.text.spans import SHINGLE, SHORT, WINDOW, fingerprints, repeats

PASSAGE = (
    "Before every release the deploy script must be run with the flag that skips the smoke tests, "
    "since the staging database is rebuilt each night and would not be there."
)
FILLER = " ".join(f"filler{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(600))


def test_a_passage_repeats_itself_whatever_its_case_and_its_signs():
    known = fingerprints(PASSAGE)
    assert repeats(PASSAGE.upper().replace(",", " --"), known)
    assert repeats("- " + PASSAGE.replace(" ", "\n"), known)


def test_the_least_span_that_is_always_found():
    words = PASSAGE.split()
    known = fingerprints(PASSAGE)
    length = SHINGLE + WINDOW - 1
    for start in range(len(words) - length + 1):
        assert repeats(" ".join(words[start : start + length]), known)


def test_seven_words_are_no_span():
    assert not fingerprints(" ".join(PASSAGE.split()[:7]))
    assert not repeats(" ".join(PASSAGE.split()[:7]), fingerprints(PASSAGE))


def test_other_words_do_not_repeat_it():
    other = "The staging database is rebuilt by hand, and releases wait for it for a long time."
    assert not repeats(other, fingerprints(PASSAGE))
    assert not repeats(FILLER, fingerprints(PASSAGE))


def test_one_phrase_does_not_make_a_long_text_a_copy():
    phrase = " ".join(PASSAGE.split()[: SHINGLE + 1])
    known = fingerprints(PASSAGE)
    assert not repeats(f"{FILLER} {phrase} {FILLER}", known)
    assert repeats(f"{FILLER} {PASSAGE} {FILLER}", known)
    assert len(FILLER.split()) > SHORT


def test_line_numbers_do_not_hide_it():
    numbered = "\n".join(f"{number:6d}\t{word}" for number, word in enumerate(PASSAGE.split(), 1))
    assert repeats(numbered, fingerprints(PASSAGE))


def test_where_words_have_no_spaces_characters_stand_for_them():
    passage = "発行前に必ず煙試験を飛ばす旗を付けて配備台本を走らせること"
    assert repeats(f"覚え書き:{passage}", fingerprints(passage))


def test_hostile_text_takes_time_by_its_length():
    for text in ("a" * 65_000, "_ " * 32_000, "word " * 13_000, "\ud800 x" * 20_000, "字" * 60_000):
        start = time.process_time()
        fingerprints(text)
        assert time.process_time() - start < 1.0


def test_nothing_has_no_fingerprints():
    assert fingerprints("") == {}
    assert not repeats("", fingerprints(PASSAGE))


def test_fingerprints_are_the_same_in_every_process():
    # Stored with a project, they are compared with those of later processes.
    assert fingerprints("one two three four five six seven eight") == {4629889346657176514: None}
