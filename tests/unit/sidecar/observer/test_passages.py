"""What was said, however it was cut into pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.events import TextKind, UserSaid
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.passages import (
    LONGEST_UTTERANCE,
    MOST_SENTENCES,
    Speaker,
    Speech,
    files_about,
    sentences,
)

from .sight import STEP, called, said, watched


def heard(*bodies):
    """What a listener hears of these, with what is left at the end."""
    speech = Speech()
    found = [
        each
        for body in bodies
        for each in speech.take(Moment(step=0, time=0.0, body=body), surprise=0.0)
    ]
    rest = speech.rest()
    return found if rest is None else [*found, rest]


TEXT = (
    "I was wrong about the cache. It is flushed in `conf/redis.yml`.\n\n- First, it’s read.\n"
    "```python\nx = 1\n```\nAha! `Cart` is a list, not a mapping. Whenever you change tax.py, "
    "cart.py must change too."
)


@given(st.lists(st.integers(0, len(TEXT)), max_size=12))
def test_pieces_of_a_stream_are_heard_like_the_whole(cuts):
    places = [0, *sorted(cuts), len(TEXT)]
    pieces = [said(TEXT[start:end]) for start, end in itertools.pairwise(places)]
    assert heard(*pieces, STEP) == heard(said(TEXT), STEP)


@given(st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_pieces_of_a_stream_give_the_same_signals(cuts):
    places = [0, *sorted(cuts), len(TEXT)]
    pieces = [said(TEXT[start:end]) for start, end in itertools.pairwise(places)]
    assert watched(*pieces, STEP).signals() == watched(said(TEXT), STEP).signals()


def test_what_is_not_finished_is_heard_and_nothing_is_lost_by_asking():
    pad = watched(said("I was wrong about the "))
    assert [each.kind for each in pad.signals()] == ["self_correction"]
    whole = watched(said("I was wrong about the "), said("cache in redis.yml."))
    whole.signals()
    (found,) = [each for each in whole.signals() if each.kind == "self_correction"]
    assert found.content == "I was wrong about the cache in redis.yml."


@pytest.mark.parametrize("end", [STEP, called("1"), said("x", TextKind.ANSWER)])
def test_an_utterance_ends_with_the_step_a_call_or_another_kind(end):
    speech = Speech()
    first = Moment(step=3, time=0.0, body=said("One. "))
    assert speech.take(first, surprise=0.5) == ()
    (done,) = speech.take(Moment(step=4, time=0.0, body=end), surprise=0.0)
    assert (done.step, done.surprise, done.speaker) == (3, 0.5, Speaker.THOUGHT)


def test_a_person_is_heard_at_once():
    thought, person = heard(said("Hm."), UserSaid(text="No."))
    assert (thought.speaker, person.speaker) == (Speaker.THOUGHT, Speaker.PERSON)


def test_quoted_code_and_marks_of_lists_are_left_out():
    assert sentences("- One.\n```go\nx := 1\n```\n2. Two.\n## Three") == ("One.", "Two.", "Three")


def test_a_mere_call_belongs_to_what_it_is_said_of():
    assert sentences("Aha! The cart is a list of names. It is sorted.") == (
        "Aha! The cart is a list of names.",
        "It is sorted.",
    )


def test_an_utterance_without_end_is_cut():
    (utterance,) = heard(*[said("A word. " * 1000)] * 10)
    assert len(utterance.sentences) <= MOST_SENTENCES
    assert sum(map(len, utterance.sentences)) <= LONGEST_UTTERANCE


def test_a_passage_is_about_the_files_it_names_or_else_the_last_one():
    sight = ("src/tax.py", "src/cart.py")
    assert files_about("It is in cart.py.", sight) == ("src/cart.py",)
    assert files_about("It is in docs/x.md.", sight) == ("docs/x.md",)
    assert files_about("It is os.Args of io.Copy, e.g. here.", sight) == ("src/tax.py",)
