"""Files that are touched together."""

from seamark_sidecar.observer.signals.co_access import MOST_PAIRS, MOST_SIGNALS, CoAccess

from .doing import asked, edit, read, shown, write


def found(*moments):
    return shown(CoAccess(), *moments)


def test_two_files_within_five_steps_are_a_pair():
    (signal,) = found(read("a.py", step=1, time=10.0), read("b.py", step=6, time=12.0))
    assert set(signal.files) == {"a.py", "b.py"}
    assert signal.details["step_delta"] == 5
    assert signal.details["time_delta_ms"] == 2000
    assert signal.content == ""


def test_further_apart_they_are_none():
    assert found(read("a.py", step=1), read("b.py", step=7)) == []


def test_one_always_before_the_other_gives_a_direction():
    (signal,) = found(
        read("z.py", step=1), read("b.py", step=2), read("z.py", step=20), read("b.py", step=21)
    )
    assert signal.details["directional"]
    assert signal.files == ("z.py", "b.py")
    assert (signal.details["first"], signal.details["then"]) == ("z.py", "b.py")


def test_in_any_order_there_is_no_direction():
    (signal,) = found(
        read("a.py", step=1), read("b.py", step=2), read("a.py", step=3), read("b.py", step=4)
    )
    assert not signal.details["directional"]
    assert signal.details["count"] == 3


def test_files_changed_together_depend_on_each_other():
    (signal,) = found(edit("a.py", 1), edit("b.py", 3))
    assert signal.type == "causal_dependency"
    assert signal.details["changed_together"] == 1
    assert "changed together" in signal.content


def test_files_read_together_again_and_again_are_to_be_fetched_together():
    steps = [read(path, step=step) for step, path in enumerate(["a.py", "b.py"] * 3)]
    (signal,) = found(*steps)
    assert signal.type == "prefetch_pattern"


def test_the_kind_of_task_is_kept():
    (signal,) = found(asked("Refactor the cart"), read("a.py", step=1), read("b.py", step=2))
    assert signal.details["task_types"] == ("refactor",)


def test_an_agents_own_scripts_belong_to_nothing():
    assert found(write("reproduce.py", 1), read("a.py", step=2)) == []


def test_a_sweep_over_many_files_says_nothing():
    assert found(read(*(f"f{number}.py" for number in range(20)), step=1)) == []


def test_the_key_does_not_depend_on_the_order():
    (one,) = found(read("a.py", step=1), read("b.py", step=2))
    (other,) = found(read("b.py", step=1), read("a.py", step=2))
    assert one.key == other.key


def test_the_heaviest_pairs_are_kept():
    detector = CoAccess()
    for number in range(MOST_PAIRS):
        detector.see(edit("a.py", 2 * number))
        detector.see(edit("b.py", 2 * number))
        detector.see(read(f"f{number}.py", step=2 * number))
    signals = shown(detector)
    assert len(signals) == MOST_SIGNALS
    assert set(signals[0].files) == {"a.py", "b.py"}
    assert detector.size() < 500 * MOST_PAIRS + 20_000
