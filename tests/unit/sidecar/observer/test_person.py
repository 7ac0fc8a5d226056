"""What a person tells the agent."""

import pytest

from seamark.events import UserSaid

from .sight import STEP, read, said, watched


def found(kind, *bodies):
    return [each for each in watched(*bodies).signals() if each.kind == kind]


def corrected(text):
    return found("user_correction", *read("src/cart.py", "1"), STEP, UserSaid(text=text))


@pytest.mark.parametrize(
    "text", ["/remember Prices are in cents.", "/remember: Prices are in cents."]
)
def test_what_is_to_be_remembered_is_a_candidate(text):
    (signal,) = found("remember", UserSaid(text=text))
    assert signal.content == "Prices are in cents."
    # Nothing on the wire tells a person's typing from a program's.
    assert signal.source == "agent_explicit"


@pytest.mark.parametrize("text", ["/remember", "/remembering x", "Please /remember it"])
def test_nothing_else_is_remembered(text):
    assert found("remember", UserSaid(text=text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "no, use the tax table",
        "Don't touch the lock file.",
        "That's not what I meant.",
        "It still fails on main.",
        "Use pnpm instead of npm.",
        "You forgot the tests.",
    ],
)
def test_a_correction_is_kept_for_review(text):
    (signal,) = corrected(text)
    assert signal.content == text
    assert signal.needs_review
    assert signal.files == ("src/cart.py",)


@pytest.mark.parametrize(
    "text",
    [
        "Now add a test.",
        "No problem, go on.",
        "Thanks!",
        "[Request interrupted by user]",
        "This session is being continued from a previous one. Do not stop.",
        "No. " + "x" * 2000,
    ],
)
def test_more_work_politeness_and_pasted_text_are_none(text):
    assert corrected(text) == []


def test_the_first_words_of_a_session_correct_nobody():
    assert found("user_correction", UserSaid(text="Don't use npm.")) == []


def test_the_agent_s_words_are_not_a_person_s():
    assert found("remember", said("/remember Prices are in cents.")) == []


@pytest.mark.parametrize(
    ("text", "type_"),
    [("You must never do that.", "requirement"), ("You should always ask.", "preference")],
)
def test_its_type_follows_its_words(text, type_):
    (signal,) = corrected("No. " + text)
    assert signal.type == type_
