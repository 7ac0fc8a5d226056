"""What is sent for a recording."""

from seamark.events import StepCompleted, UserSaid
from seamark_sidecar.recordings.recording import BEGINNING, Recording, Turn

from .said import told


def turn(step, text="x", seconds=None):
    return Turn(step=step, body=UserSaid(text=text), seconds=seconds)


def took(step, read=0, written=0):
    return Turn(step=step, body=StepCompleted(input_tokens=read, output_tokens=written))


def recording(*turns, **facts):
    return Recording(session_id="s", turns=turns, **facts)


def test_a_step_completes_at_every_change_of_the_recorded_step():
    sent = told(recording(turn(0, "a"), turn(3, "b"), turn(3, "c"), turn(4, "d")))
    assert sent == [
        (0, "user", "a"),
        (0, "step", 0, 0),
        (3, "user", "b"),
        (3, "user", "c"),
        (3, "step", 0, 0),
        (4, "user", "d"),
        (4, "step", 0, 0),
    ]


def test_what_a_step_took_is_sent_once_at_its_end():
    sent = told(recording(took(1, 500, 10), turn(1, "a"), took(1, 700, 30)))
    assert sent == [(1, "user", "a"), (1, "step", 700, 30)]


def test_the_sidecars_steps_are_told_in_the_recordings_numbers():
    assert recording(turn(0), turn(7), turn(7), turn(9), turn(2)).steps() == (0, 7, 9, 2)


def test_a_step_in_which_nothing_happened_is_a_step():
    assert recording(turn(0), took(1), took(2), turn(2)).steps() == (0, 1, 2)


def test_times_are_those_of_the_recording_and_never_go_back():
    given = recording(turn(0), turn(1, seconds=2e9), turn(2, seconds=1e9), turn(3, seconds=3e9))
    assert [each.seconds for each in given.events()] == [2e9] * 6 + [3e9] * 2


def test_without_times_events_are_a_second_apart_and_the_same_each_time():
    given = recording(turn(0), turn(1))
    seconds = [each.seconds for each in given.events()]
    assert seconds == [BEGINNING + 1, BEGINNING + 2, BEGINNING + 3, BEGINNING + 4]
    assert seconds == [each.seconds for each in given.events()]


def test_without_times_a_known_start_is_where_it_begins():
    assert next(recording(turn(0), started=1e9).events()).seconds == 1e9 + 1


def test_nothing_is_sent_for_nothing():
    assert told(recording()) == []
    assert recording().steps() == ()
