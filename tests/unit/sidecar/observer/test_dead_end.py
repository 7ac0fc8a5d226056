"""When an approach is given up."""

import itertools

import pytest

from seamark.events import Outcome, UserSaid
from seamark_sidecar.observer.signals.dead_end import LEAST_STEPS, abandons, divergence

from .sight import STEP, edit, ran, read, said, watched

FAILED = ran("pytest", "E   TypeError: text", Outcome.ERROR)
TRIED = (*edit("src/tax.py", "1"), *[STEP] * 5, *FAILED)


def found(*bodies):
    return [each for each in watched(*bodies).signals() if each.kind == "dead_end"]


GIVES_UP = "The caching approach won't work because `Tax` is frozen. Let me subclass it instead."


def test_giving_up_what_was_tried_is_a_dead_end():
    (signal,) = found(*TRIED, said(GIVES_UP))
    assert signal.type == "dead_end"
    assert signal.details["form"] == "said"
    assert signal.details["why"] == "`Tax` is frozen. Let me subclass it instead"
    assert signal.details["alternative"] == "Let me subclass it instead."


def test_without_anything_tried_there_is_nothing_to_give_up():
    assert found(said(GIVES_UP)) == []


def test_turning_to_something_else_counts_after_a_failure():
    turn = said("I see `Tax` there. Let me try a different approach.")
    assert found(*TRIED, turn)
    assert found(*edit("src/tax.py", "1"), *[STEP] * 9, turn) == []


@pytest.mark.parametrize(
    "text",
    [
        "If this approach does not work, I stop.",
        "Do you want a different approach?",
        "Maybe the caching approach won't work.",
        "Let me try a different approach to find these files.",
    ],
)
def test_what_might_be_given_up_and_how_to_search_is_none(text):
    assert not abandons(text, has_failed=True)


def test_how_to_edit_a_file_is_no_approach():
    text = "Tabs in `tax.py` again. Let me try a different approach. I'll use `sed` for it."
    assert found(*TRIED, said(text)) == []


def test_a_person_gives_up_nothing_of_the_agent_s():
    assert found(*TRIED, UserSaid(text=GIVES_UP)) == []


def session(after):
    """Long work on one file, undone, and then what comes after."""
    work = itertools.chain(
        *[(*read(f"src/m{n % 4}.py", f"r{n}"), STEP) for n in range(LEAST_STEPS + 2)]
    )
    return (
        *edit("src/tax.py", "1"),
        STEP,
        *work,
        *ran("git checkout -- src/tax.py", ""),
        STEP,
        *itertools.chain(*[(*each, STEP) for each in after]),
        *[STEP] * 25,
    )


def test_long_work_that_is_undone_and_left_is_a_dead_end():
    (signal,) = found(*session([edit("lib/fee.py", "a"), read("lib/rate.py", "b")]))
    assert signal.details["form"] == "seen"
    assert signal.files[0] == "src/tax.py"
    assert signal.details["divergence"] == 1.0


def test_what_is_done_again_was_not_given_up():
    assert found(*session([edit("src/tax.py", "a"), edit("lib/fee.py", "b")])) == []


def test_going_on_with_the_same_files_is_no_dead_end():
    assert found(*session([read(f"src/m{n}.py", f"x{n}") for n in range(4)])) == []


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [("", "ab", 0.0), ("ab", "ab", 0.0), ("ab", "bc", 0.5), ("ab", "c", 1)],
)
def test_divergence_is_the_share_that_is_new(before, after, share):
    assert divergence(tuple(before), tuple(after)) == share
