"""How surprising what just happened was."""

from seamark.events import Outcome, UserSaid
from seamark_sidecar.observer.behaviour.surprise import LASTS, LONGEST_REMARK, Cause, Surprise
from seamark_sidecar.observer.scratchpad import Scratchpad

from .sight import STEP, called, edit, ran, read, reported, returned


def after(*bodies):
    """The surprise at the end, with the step."""
    pad, surprise = Scratchpad(root="/r"), Surprise()
    for event in reported(*bodies):
        for moment in pad._moments(event.body, 0.0):
            surprise.see(moment)
    return surprise, pad.step


FAILED = ran("pytest", "E   TypeError: text", Outcome.ERROR)


def test_nothing_surprises_at_first():
    surprise, step = after(*read("a.py", "1"))
    assert surprise.at(step) == 0


def test_a_failure_surprises_for_a_few_steps():
    surprise, step = after(*FAILED)
    assert surprise.at(step) > 0
    assert surprise.at(step + LASTS) > 0
    assert surprise.at(step + LASTS + 1) == 0


def test_a_person_who_speaks_up_surprises_but_the_task_and_pasted_text_do_not():
    assert after(UserSaid(text="Do it."))[0].at(0) == 0
    surprise, step = after(STEP, UserSaid(text="No."))
    assert surprise.lately(Cause.PERSON, step)
    assert after(STEP, UserSaid(text="x" * (LONGEST_REMARK + 1)))[0].at(1) == 0


def test_going_back_to_a_file_after_a_failure_surprises_more():
    once, step = after(*edit("a.py", "1"), STEP, *FAILED)
    again, _ = after(*edit("a.py", "1"), STEP, *FAILED, *edit("a.py", "2"))
    assert again.at(step) > once.at(step)
    assert again.at(step) < 1


def test_only_a_change_of_what_was_there_counts_as_an_edit():
    assert not after(*read("a.py", "1"))[0].has_edited
    assert after(*edit("a.py", "1"))[0].has_edited


def test_a_search_that_finds_nothing_surprises():
    surprise, step = after(
        called("1", "grep", '{"pattern": "no_such_name"}'), returned("1", "No matches found")
    )
    assert surprise.lately(Cause.FAILED_SEARCH, step)
