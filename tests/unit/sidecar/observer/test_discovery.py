"""The few passages that say how a project is."""

import pytest

from seamark.events import Outcome, UserSaid
from seamark_sidecar.observer.signals.discovery import MOST_NOTES, MOST_STATEMENTS, Discovery
from seamark_sidecar.observer.signals.said import Said
from seamark_sidecar.observer.text.notes import LONGEST_NOTE
from seamark_sidecar.observer.text.passages import words_of
from seamark_sidecar.observer.text.talk import closed, is_talk, standing_alone, tidy

from .sight import STEP, ran, read, reported, said, watched


def found(*bodies):
    kept = [each for each in watched(*bodies).signals() if each.kind == "discovery"]
    return sorted(kept, key=lambda each: -each.surprise)


FACT = "`Cart.total` silently ignores coupons unless `settings.TAX_MODE` is set in conf/tax.toml."


def test_a_statement_about_the_project_is_kept_with_its_evidence():
    (signal,) = found(*read("src/cart.py", "1"), STEP, said(FACT))
    assert signal.content == FACT
    assert signal.files == ("conf/tax.toml", "src/cart.py")
    assert signal.details["steps"] == (1,)
    assert "Cart.total" in signal.details["symbols"]


def test_plans_questions_and_own_deeds_are_not():
    assert not found(
        *read("src/cart.py", "1"),
        said("Let me look at `Cart.total` now. Does `Cart.total` round? I'll check `Cart` next."),
    )


def test_what_names_nothing_and_has_nothing_in_sight_is_not():
    assert not found(said("It must never be changed without the other one, because it breaks."))


def test_statements_about_one_thing_become_one_note_in_their_order():
    first = "`Cart.total` must be called before `Cart.freeze`, otherwise coupons are lost."
    second = "`Cart.freeze` drops coupons silently when `Cart.total` was never called."
    (signal,) = found(said(first), STEP, said("Reading on now."), STEP, said(second))
    assert signal.content == f"{first} {second}"
    assert signal.details["steps"] == (0, 2)


def test_things_apart_become_notes_apart():
    notes = found(
        said("`Cart.total` silently ignores coupons unless rounding happened."),
        STEP,
        said("The `deploy_hook` requires Python headers, which the image lacks."),
    )
    assert len(notes) == 2


def test_after_a_failure_the_same_words_are_worth_more():
    calm = said("The `deploy_hook` requires headers, which the image lacks.")
    hot = said("The `build_step` requires headers, which the image lacks.")
    failed = ran("make", "error: no headers at all here", Outcome.ERROR)
    bodies = (calm, *[STEP] * 9, *failed, hot)
    first = max(found(*bodies), key=lambda each: each.surprise)
    assert "build_step" in first.content


def test_what_a_person_states_counts_and_what_they_ask_for_does_not():
    stated = "Only `make fees` writes `fees.lock`; nothing else ever does."
    asked = "Add a fee to `fees.json`. The tests have to pass: `python -m pytest -q`."
    (signal,) = found(*read("a.py", "1"), UserSaid(text=f"{asked} {stated}"))
    assert signal.content == stated


@pytest.mark.parametrize(
    "talk",
    [
        "Now verify that `Cart.total` only fails because `settings.TAX` is not set.",
        "I think I should revert `Cart.total` because it silently ignores `coupons`.",
        "If I change `Cart.total` as above, then `coupons` are silently ignored.",
        "Perhaps `Cart.total` silently ignores `coupons` unless the default is set.",
        "This looks correct for `Cart.total`, because it never ignores `coupons`.",
        "An earlier note says that `Cart.total` silently ignores `coupons` unless set.",
        "According to memory, `Cart.total` silently ignores `coupons` unless set.",
        "The user wants `Cart.total` to never silently ignore `coupons`, only taxes.",
        "Does `Cart.total` only fail because `coupons` are not set?",
    ],
)
def test_self_talk_is_no_discovery(talk):
    assert not found(*read("src/cart.py", "1"), said(talk))


def test_a_dull_session_has_none():
    assert not found(*read("src/cart.py", "1"), said("The `Cart` class has a `total` method here."))


def test_what_another_signal_says_is_not_said_again():
    text = (
        "I was wrong about tax.py: it silently rounds in cents, because `round_tax` is not called."
    )
    kinds = [each.kind for each in watched(*read("src/tax.py", "1"), said(text)).signals()]
    assert "self_correction" in kinds
    assert "discovery" not in kinds


def test_what_leans_on_the_sentence_before_it_comes_with_it():
    text = (
        "`Cart.total` reads `settings.TAX_MODE`. "
        "It silently ignores `coupons` unless that is set, because the default is missing."
    )
    (signal,) = found(*read("src/cart.py", "1"), said(text))
    assert signal.content == text


def test_files_of_the_agent_and_from_outside_are_left_out_where_there_are_others():
    text = (
        "`/usr/lib/python3.10/os.py` fails unless `reproduce_issue.py` and `src/a.py` are not set."
    )
    (signal,) = found(said(text))
    assert signal.files == ("src/a.py",)


def test_hostile_text_takes_no_time_and_raises_nothing():
    for piece in ("now, so, but ", "wait, ", "(1) ", "the pr a b ", "`", "|", "\u2705 ", "\ud800"):
        for talk in (piece * 40, piece * 40 + "`x_y` fails unless it is not set", piece * 3_000):
            text = tidy(talk)
            is_talk(text, words_of(text))
            closed(standing_alone(text))
            found(said(talk))


def test_notes_are_short_and_few():
    many = [
        body
        for n in range(400)
        for body in (said(f"`part_{n}` fails unless `other_{n}` was set, because of {n}."), STEP)
    ]
    notes = found(*many)
    assert 0 < len(notes) <= MOST_NOTES
    assert all(len(note.content) <= LONGEST_NOTE for note in notes)


def test_a_session_without_end_holds_only_so_much():
    detector = Said()
    discovery = next(each for each in detector._listeners if isinstance(each, Discovery))
    pad = watched()
    for event in reported(*[said(f"`n{n}` must be set, else it fails. ") for n in range(3000)]):
        for moment in pad._moments(event.body, 0.0):
            detector.see(moment)
        for moment in pad._moments(STEP, 0.0):
            detector.see(moment)
    assert len(discovery._statements) <= MOST_STATEMENTS
    before = discovery.size()
    discovery.shrink()
    assert discovery.size() < before


def test_the_same_events_give_the_same_notes():
    bodies = (*read("a.py", "1"), said(FACT), STEP, said(FACT.replace("Cart", "Shop")))
    assert found(*bodies) == found(*bodies)


def test_asking_in_between_changes_nothing():
    bodies = [
        body
        for n in range(60)
        for body in (
            said(" ".join(f"`p{n}_{k}` fails unless `q{k}` was set." for k in range(12))),
            *ran("pytest", f"E   ValueError: p{n} must be set before q", Outcome.ERROR),
            STEP,
        )
    ]
    asked = watched()
    for event in reported(*bodies):
        asked.apply(event)
        asked.signals()
    assert asked.signals() == watched(*bodies, root="/r").signals()
