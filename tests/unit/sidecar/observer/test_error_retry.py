"""The same error again, and what ended it."""

import time

import pytest

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.errors import error_of, fingerprint
from seamark_sidecar.observer.signals.error_retry import MOST_ERRORS

from .sight import STEP, edit, ran, read, watched

BOOM = "E   AssertionError: assert 3 == 4\nexit code 1"
FINE = "2 passed\nexit code 0"


def found(*bodies):
    return [each for each in watched(*bodies).candidates() if each.signal == "error_retry"]


def error(result, outcome=Outcome.OK):
    return error_of(ToolReturned(call_id="c", outcome=outcome, result=result))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("line 12: bad", "line 9999: bad"),
        ("object at 0x7f3a99", "object at 0x10DEAD"),
        ("no such file: /tmp/pytest-1/run/a.py", "no such file: /home/u/x/y/a.py"),
        ("no such file: /a.py", "no such file: /a.py"),
        ("Timeout after 3.5s", "timeout after 12.25s"),
    ],
)
def test_a_fingerprint_ignores_what_changes_from_run_to_run(one, other):
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("no such file: /tmp/a.py", "no such file: /tmp/b.py"),
        ("bad import in src/cart/tax.py", "bad import in src/user/tax.py"),
    ],
)
def test_a_fingerprint_tells_different_errors_apart(one, other):
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ("noise\nE   ImportError: no cart\nmore\nexit code 1", "ImportError: no cart"),
        ("Traceback\n  File x\nValueError: nope\nexit code 2", "ValueError: nope"),
        ("fatal: not a git repository\nexit code 128", "not a git repository"),
        ("Exit code: 1\nmake: *** [all] Fehler", "make: *** [all] Fehler"),
        ("[Command failed with exit code 3]", ""),
        ("oops\nProcess exited with status -9.", "oops"),
    ],
)
def test_the_line_that_says_what_went_wrong(result, line):
    assert error(result) == line


@pytest.mark.parametrize(
    "result",
    [
        FINE,
        "",
        "exit code 0",
        "the docs say: exit code 1 means failure\nall good",
        "#!/bin/sh\ntest -f x || exit 1\necho done",
        "exit code 1 is what the docs promise for this and for other things\nfine",
        "exit code " + "9" * 5_000,
    ],
)
def test_output_that_only_talks_of_failure_is_a_success(result):
    assert error(result) is None


def test_a_failure_without_output_is_no_success_and_teaches_nothing():
    assert error("", Outcome.ERROR) == ""
    silent = ran("grep x", "", Outcome.ERROR)
    assert found(*silent, *silent, *ran("grep x", "exit code 1"), *ran("grep x", "")) == []


def test_one_failure_teaches_nothing():
    assert found(*ran("pytest", BOOM)) == []


def test_the_same_error_twice_is_a_finding():
    (candidate,) = found(*read("src/tax.py", "r"), *ran("pytest", BOOM), *ran("pytest -x", BOOM))
    assert candidate.content == "`pytest` failed 2 times with `AssertionError: assert 3 == 4`."
    assert candidate.type == "error_pattern"
    assert candidate.files == ("src/tax.py",)


def test_what_ended_it_is_kept():
    (candidate,) = found(
        *ran("pytest", BOOM),
        STEP,
        *edit("a.py", "e1"),
        *ran("pytest", BOOM),
        *edit("b.py", "e2"),
        *ran("pytest", FINE),
    )
    assert candidate.content.endswith("it passed after the agent edited b.py.")
    assert candidate.files == ("a.py", "b.py")


def test_looking_around_before_the_proof_does_not_hide_the_edit():
    (candidate,) = found(
        *ran("pytest", BOOM),
        *ran("pytest", BOOM),
        *edit("a.py", "e1"),
        *ran("ls", "a.py\nexit code 0"),
        *ran("pytest", FINE),
    )
    assert candidate.content.endswith("it passed after the agent edited a.py.")


def test_a_command_can_end_it_too():
    (candidate,) = found(
        *ran("pytest", BOOM),
        *ran("pytest", BOOM),
        *ran("make install", "exit code 0"),
        *ran("pytest", FINE),
    )
    assert candidate.content.endswith("it passed after the agent ran `make install`.")


def test_the_end_is_seen_whichever_of_the_failing_commands_passes():
    (candidate,) = found(
        *ran("pytest", BOOM),
        *ran("pytest tests/a", BOOM),
        *edit("a.py", "e1"),
        *ran("pytest tests/a", FINE),
    )
    assert candidate.content.endswith("it passed after the agent edited a.py.")


def test_an_edit_after_a_pass_without_a_reason_gets_no_credit():
    (candidate,) = found(
        *ran("pytest", BOOM),
        *ran("pytest", BOOM),
        *ran("pytest", FINE),
        *edit("a.py", "e1"),
        *ran("pytest", FINE),
    )
    assert "passed" not in candidate.content


def test_an_error_that_comes_back_is_not_over():
    (candidate,) = found(
        *ran("pytest", BOOM), *edit("a.py", "e1"), *ran("pytest", FINE), *ran("pytest", BOOM)
    )
    assert candidate.content == "`pytest` failed 2 times with `AssertionError: assert 3 == 4`."


def test_the_key_is_the_same_in_another_session():
    (one,) = found(*ran("pytest", BOOM), *ran("pytest", BOOM))
    later = BOOM.replace("3", "77")
    (other,) = found(*ran("make test", later), *edit("x.py", "e"), *ran("make test", later))
    assert one.key == other.key


def test_known_errors_go_on_counting_when_no_new_ones_fit():
    letters = [f"Error: {'x' * number}" for number in range(1, MOST_ERRORS + 50)]
    many = [body for text in letters for body in ran("make", text, Outcome.ERROR)]
    again = ran("make", "Error: x", Outcome.ERROR)
    (candidate,) = found(*many, *again)
    assert "failed 2 times" in candidate.content


@pytest.mark.parametrize(
    "result",
    [
        "E" + " " * 65_000,
        "E  \n" * 16_000,
        "a" * 65_000,
        "Error" * 13_000 + "x",
        "/a" * 32_000,
        "exit " * 13_000,
        "exit code: " + "1" * 65_000,
        "\n" * 65_000,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_output_takes_no_longer_than_other_output(result):
    start = time.process_time()
    error(result, Outcome.ERROR)
    assert time.process_time() - start < 0.5
