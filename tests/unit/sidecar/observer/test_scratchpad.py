"""What is known of a session, as a function of its events."""

import random

import pytest

from seamark.events import Outcome, UserSaid
from seamark_sidecar.observer import call_log, scratchpad
from seamark_sidecar.observer.scratchpad import Scratchpad

from .sight import (
    STEP,
    called,
    changed,
    edit,
    event,
    ran,
    read,
    recorded,
    reported,
    returned,
    said,
    watched,
)


def test_an_event_counts_once_however_often_it_comes():
    pad = Scratchpad()
    first = event(1, recorded())
    assert [pad.apply(first), pad.apply(first)] == [True, False]
    assert (pad.event_count, len(pad.candidates())) == (1, 1)


def test_the_same_number_of_another_producer_is_another_event():
    pad = Scratchpad()
    assert pad.apply(event(1, STEP, "p"))
    assert pad.apply(event(1, STEP, "q"))
    assert (pad.event_count, pad.step) == (2, 2)


def test_a_gap_is_noticed_and_closes_when_the_late_one_comes():
    pad = Scratchpad()
    for number in (1, 2, 5):
        pad.apply(event(number, STEP))
    assert pad.missing_count == 2
    pad.apply(event(4, STEP))
    pad.apply(event(3, STEP))
    assert pad.missing_count == 0


def test_reads_and_edits_are_told_apart():
    pad = watched(*read("a.py", "1"), *read("a.py", "2"), *edit("a.py", "3"), changed("/r/b.py"))
    assert {path: (each.reads, each.edits) for path, each in pad.files.items()} == {
        "a.py": (2, 1),
        "b.py": (0, 1),
    }


def test_a_call_that_failed_touches_nothing():
    pad = watched(called("1"), returned("1", outcome=Outcome.ERROR))
    assert pad.files == {}


def test_a_resumed_call_counts_once():
    pad = watched(called("1"), called("1"), returned("1"), called("1"), returned("1"))
    assert pad.files["a.py"].reads == 1


def test_a_result_that_overtakes_its_call_still_counts():
    pad = watched(returned("1"), called("1"))
    assert pad.files["a.py"].reads == 1


def test_a_result_without_a_call_is_nothing():
    pad = watched(returned("nobody called"))
    assert (pad.event_count, pad.files) == (1, {})


def test_a_file_stays_in_sight_for_some_steps():
    pad = watched(*read("old.py", "1"), *[STEP] * scratchpad.IN_SIGHT_STEPS, *read("new.py", "2"))
    assert pad.in_sight() == ("new.py", "old.py")
    pad.apply(event(99, STEP))
    assert pad.in_sight() == ("new.py",)


def test_a_session_that_never_completes_a_step_sees_the_latest_files_only():
    many = [body for number in range(300) for body in read(f"{number}.py", f"c{number}")]
    pad = watched(*many)
    assert len(pad.in_sight()) == scratchpad.MOST_IN_SIGHT
    assert pad.in_sight()[0] == "299.py"


def test_a_record_without_files_is_about_the_file_touched_last():
    pad = watched(*read("a.py", "1"), recorded())
    assert pad.records[0].files == ("a.py",)


def test_a_record_keeps_only_files_of_the_project():
    pad = watched(recorded(files=("/r/a.py", "/etc/passwd", "../x", "b.py")))
    assert pad.records[0].files == ("a.py", "b.py")


@pytest.mark.parametrize("record", [recorded(content=" \n "), recorded(type_="nonsense")])
def test_a_record_that_cannot_become_a_memory_is_not_kept(record):
    pad = watched(record)
    assert (pad.records, pad.candidates()) == ([], [])


def test_an_event_of_an_unknown_kind_is_counted_and_not_interpreted():
    pad = watched(None)
    assert (pad.event_count, pad.candidates()) == (1, [])


def test_what_a_session_may_pile_up_is_bounded():
    notes = [recorded(content=f"note {number}") for number in range(500)]
    strangers = [returned(f"r{number}") for number in range(500)]
    late = [called(f"r{number}") for number in range(500)]
    pad = watched(*notes, *strangers, *late)
    assert len(pad.records) == scratchpad.MOST_RECORDS
    assert pad.files["a.py"].reads == call_log.MOST_EARLY


SESSION = [
    UserSaid(text="please"),
    *read("a.py", "1"),
    STEP,
    *ran("pytest", "E   AssertionError: boom\nexit code 1"),
    *ran("pytest", "E   AssertionError: boom\nexit code 1"),
    said("I was wrong about a.py: it is generated from b.py."),
    STEP,
    *edit("b.py", "2"),
    *ran("pytest", "exit code 0"),
    recorded(),
    None,
]


def state(pad):
    return (
        pad.step,
        pad.files,
        pad.records,
        pad.candidates(),
        pad.event_count,
        pad.missing_count,
        pad.in_sight(),
    )


def test_replay_restores_the_same_state():
    live = watched(*SESSION)
    replayed = Scratchpad(root="/r")
    for each in reported(*SESSION):
        replayed.apply(each)
    assert state(replayed) == state(live)
    assert {each.signal for each in live.candidates()} >= {"recorded", "self_correction"}


@pytest.mark.parametrize("seed", range(5))
def test_duplicates_anywhere_change_nothing(seed):
    chance = random.Random(seed)
    pad = Scratchpad(root="/r")
    seen = []
    for each in reported(*SESSION):
        seen.append(each)
        pad.apply(each)
        pad.apply(chance.choice(seen))
    assert state(pad) == state(watched(*SESSION))
