"""The same error again, and what ended it."""

import itertools

from seamark.events import Outcome
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.signals.error_retry import MOST_ERRORS, ErrorRetry

from .doing import checked, edit, read, run, shown, write

BOOM = "E   AssertionError: assert 3 == 4\nexit code 1"
FINE = "2 passed\nexit code 0"


def found(*moments):
    return shown(ErrorRetry(), *moments)


def content(*moments):
    (signal,) = found(*moments)
    return signal.content


def test_one_failure_teaches_nothing():
    assert found(run("pytest", BOOM)) == []


def test_a_failure_without_output_teaches_nothing():
    silent = run("mycheck x", "", outcome=Outcome.ERROR)
    assert found(silent, edit("a.py"), silent) == []


def test_the_same_error_after_an_attempt_is_a_finding():
    (signal,) = found(run("pytest", BOOM, 1), edit("src/tax.py", 2), run("pytest -x", BOOM, 3))
    assert signal.content == ("`pytest` failed 2 times with `AssertionError: assert 3 == 4`.")
    assert signal.type == "error_pattern"
    assert signal.files == ("src/tax.py",)
    assert signal.step == 3
    assert signal.details["steps"] == (1, 3)


def test_the_same_run_once_more_is_a_second_look():
    assert (
        found(run("pytest", BOOM), run("pytest -x | tail -5", BOOM), run("cd src && pytest", BOOM))
        == []
    )


def test_the_same_run_in_the_same_words_is_another_try():
    assert content(
        run("pytest", "E   KeyError: 7\nexit code 1"), run("pytest", "E   KeyError: 7\nexit code 1")
    ) == ("`pytest` failed 2 times with `KeyError: 7`.")


def test_the_same_error_from_another_command_is_met_twice():
    missing = "bash: pytest: command not found\nexit code 127"
    (signal,) = found(run("pytest tests/a.py", missing), run("pytest tests/b.py", missing))
    assert signal.details["count"] == 2


def test_what_a_search_or_a_look_says_is_no_error():
    gone = "grep: a.txt: No such file or directory\nexit code 2"
    for action in (Action.SEARCH_TEXT, Action.READ, Action.SEARCH_FILES):
        moments = [
            run("grep x a.txt", gone, action=action),
            edit("a.py"),
            run("grep y b", gone, action=action),
        ]
        assert found(*moments) == []


def test_what_asks_a_question_on_the_command_line_gets_an_answer():
    odd = "Traceback\nValueError: Empty label\nexit code 1"
    assert found(run("python -c 'f(1)'", odd), run("python -c 'f(2)'", odd)) == []


def test_what_ended_it_is_kept():
    (signal,) = found(
        run("pytest", BOOM, 1),
        edit("a.py", 2),
        run("pytest", BOOM, 3),
        edit("b.py", 4),
        run("pytest", FINE, 5),
    )
    assert signal.content.endswith("it passed after the agent edited `b.py`.")
    assert signal.files == ("a.py", "b.py")
    assert signal.details["resolved_how"] == "edited `b.py`"
    assert signal.details["steps_to_resolve"] == 4


def test_looking_around_before_the_proof_does_not_hide_the_edit():
    assert content(
        run("pytest", BOOM),
        edit("a.py"),
        run("pytest", BOOM),
        edit("b.py"),
        run("ls", "a.py\nexit code 0"),
        run("pytest", FINE),
    ).endswith("it passed after the agent edited `b.py`.")


def test_a_command_can_end_it_too():
    assert content(
        run("pytest a", BOOM),
        run("pytest b", BOOM),
        run("make install", "exit code 0"),
        run("ls", "exit code 0"),
        run("pytest b", FINE),
    ).endswith("it passed after the agent ran `make install`.")


def test_another_way_to_run_it_can_end_it():
    missing = "bash: pytest: command not found\nexit code 127"
    assert content(
        checked("pytest a", missing),
        checked("pytest b", missing),
        checked("python -m pytest b", FINE),
    ).endswith("it passed after the agent ran `python -m pytest b`.")


def test_a_run_that_leaves_out_what_failed_ends_nothing():
    assert "passed" not in content(
        run("pytest a", BOOM),
        edit("x.py"),
        run("pytest a", BOOM),
        run("pytest a -k 'not total'", FINE),
    )


def test_a_run_of_everything_covers_what_failed():
    (signal,) = found(
        checked("pytest tests/a", BOOM),
        edit("x.py"),
        checked("pytest tests/a", BOOM),
        edit("y.py"),
        checked("pytest", FINE),
    )
    assert signal.details["resolved"]


def test_an_edit_after_a_pass_without_a_reason_gets_no_credit():
    assert "passed" not in content(
        run("pytest a", BOOM),
        run("pytest b", BOOM),
        run("pytest a", FINE),
        edit("a.py"),
        run("pytest a", FINE),
    )


def test_an_error_that_comes_back_is_not_over():
    assert (
        content(run("pytest", BOOM), edit("a.py"), run("pytest", FINE), run("pytest", BOOM))
        == "`pytest` failed 2 times with `AssertionError: assert 3 == 4`."
    )


def test_behind_a_pipe_failed_tests_are_a_failure():
    output = "E   AssertionError: assert 3 == 4\n1 failed"
    hidden = checked("pytest | tail -5", output, passed=0, failed=1)
    (signal,) = found(hidden, edit("a.py"), hidden)
    assert signal.details["error"] == "AssertionError: assert 3 == 4"


def test_the_same_on_the_code_as_it_was_fails_anyway():
    for command, reverted in (("git stash", ()), ("git checkout a.py", ("a.py",))):
        aside = run(command, action=Action.VCS, reverted=reverted)
        (signal,) = found(edit("a.py"), run("pytest", BOOM), aside, run("pytest", BOOM))
        assert signal.details["pre_existing"]
        assert signal.content.endswith("it fails anyway.")


def test_the_same_after_the_changes_are_back_says_nothing_of_the_code_as_it_was():
    aside, back = run("git stash", action=Action.VCS), run("git stash pop", action=Action.VCS)
    (signal,) = found(run("pytest", BOOM), aside, back, edit("a.py"), run("pytest", BOOM))
    assert not signal.details["pre_existing"]


def test_what_an_agents_own_script_raises_is_what_it_was_written_for():
    odd = "FAILED reproduce.py::test_a - ValueError: 23\nE   ValueError: 23\nexit code 1"
    assert (
        found(
            write("reproduce.py"),
            run("pytest reproduce.py", odd),
            edit("a.py"),
            run("pytest reproduce.py", odd),
        )
        == []
    )


def test_what_an_agents_own_script_checks_is_about_the_project():
    check = "FAILED reproduce.py::test_a - assert 1 == 2\nE   assert 1 == 2\nexit code 1"
    moments = (run("pytest reproduce.py", check), edit("a.py"), run("pytest reproduce.py", check))
    assert len(found(write("reproduce.py"), *moments)) == 1


def test_a_change_of_the_agents_own_script_is_no_attempt():
    moments = (run("python repro.py", BOOM), write("repro.py"), run("python repro.py", BOOM))
    assert found(write("repro.py"), *moments) == []


def test_another_slip_of_the_pen_is_another_error():
    slip = '  File "a.py", line 3\n    if x\nSyntaxError: invalid syntax\nexit code 1'
    moments = (
        run("pytest", slip),
        edit("a.py"),
        run("pytest", FINE),
        edit("a.py"),
        run("pytest", slip),
    )
    assert found(*moments) == []
    assert len(found(run("pytest", slip), edit("a.py"), run("pytest", slip))) == 1


def test_the_key_is_the_same_in_another_session():
    (one,) = found(run("pytest", BOOM), edit("a.py"), run("pytest", BOOM))
    later = BOOM.replace("3", "77")
    (other,) = found(run("make test", later), edit("x.py"), run("make test", later))
    assert one.key == other.key


def test_two_different_errors_go_to_the_head_of_the_queue():
    twice = (run("pytest", BOOM), edit("a.py"), run("pytest", BOOM))
    (calm,) = found(*twice)
    (early,) = found(*twice, run("make", "error: no rule\nexit code 2"))
    assert not calm.early
    assert early.early


def test_old_errors_make_room_for_new_ones():
    detector = ErrorRetry()
    names = ["".join(each) for each in itertools.product("abcdefgh", repeat=3)]
    for name in names:
        detector.see(run("make", f"error: no rule for {name}", outcome=Outcome.ERROR))
    assert len(names) > 2 * MOST_ERRORS
    assert detector.size() < 2_000 * MOST_ERRORS
    last = run("make", f"error: no rule for {names[-1]}", outcome=Outcome.ERROR)
    (signal,) = shown(detector, edit("a.py"), last)
    assert signal.details["count"] == 2


def test_files_near_the_failure_are_kept():
    near = run("pytest", BOOM, in_sight=("src/tax.py",))
    (signal,) = found(read("src/tax.py"), near, edit("src/tax.py"), near)
    assert signal.files == ("src/tax.py",)
