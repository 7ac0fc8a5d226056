"""What the result of a call says."""

import json
import time

import pytest

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.calls.tools import understand
from seamark_sidecar.observer.results.result import read_result
from seamark_sidecar.observer.results.test_output import Tests as Counts
from seamark_sidecar.observer.results.test_output import read_tests

ROOT = "/home/dev/shop"


def result(command, output, outcome=Outcome.OK, tool="bash", **arguments):
    given = json.dumps(arguments or {"command": command})
    use = understand("c1", tool, given, ROOT)
    return read_result(use, ToolReturned(call_id="c1", outcome=outcome, result=output), ROOT)


OUTPUTS = [
    ("===== 2 failed, 3 passed, 1 skipped, 1 error in 0.12s =====", 3, 3),
    ("5 passed in 1.2s", 5, 0),
    ("== 1 passed, 2 warnings in 61.00s (0:01:01) ==", 1, 0),
    ("=== no tests ran in 0.01s ===", 0, 0),
    ("tests finished: 7 passed, 1 failed, in 0.5 seconds", 7, 1),
    ("Ran 12 tests in 0.3s\n\nOK", 12, 0),
    ("Ran 12 tests in 0.3s\n\nFAILED (failures=1, errors=2, skipped=3)", 6, 3),
    ("Ran 2 tests in 0.3s\n\nOK (skipped=1)", 1, 0),
    ("Tests:       1 failed, 12 passed, 13 total", 12, 1),
    (" Test Files  1 passed (1)\n      Tests  2 failed | 12 passed (14)", 12, 2),
    ("  12 passing (1s)\n  1 failing", 12, 1),
    ("# tests 13\n# pass 12\n# fail 1", 12, 1),
    (" 12 pass\n 1 fail\n", 12, 1),
    ("ok  \texample.org/a\t0.1s\nFAIL\texample.org/b\t0.2s\nFAIL", 1, 1),
    ("=== RUN TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x\n--- FAIL: TestB", 1, 1),
    ("ok  \texample.org/a\t(cached)", 1, 0),
    ("test result: ok. 3 passed; 0 failed;\ntest result: FAILED. 1 passed; 2 failed;", 4, 2),
    ("     Summary [0.1s] 12 tests run: 11 passed, 1 failed, 0 skipped", 11, 1),
    ("Tests run: 12, Failures: 1, Errors: 1, Skipped: 2", 8, 2),
    ("12 tests completed, 1 failed", 11, 1),
    ("> Task :app:test\n\nBUILD SUCCESSFUL in 3s", -1, 0),
    ("12 examples, 1 failure, 2 pending", 11, 1),
    ("12 runs, 30 assertions, 1 failures, 2 errors, 0 skips", 9, 3),
    ("OK (12 tests, 30 assertions)", 12, 0),
    ("Tests: 12, Assertions: 30, Failures: 1, Errors: 1.", 10, 2),
    ("95% tests passed, 1 tests failed out of 20", 19, 1),
    ("Passed!  - Failed:     0, Passed:    12, Skipped: 0", 12, 0),
    ("ok | 12 passed | 1 failed (3s)", 12, 1),
    ("TAP version 13\nok 1 a\nnot ok 2 b", 1, 1),
    ("\x1b[32m5 passed\x1b[0m\x1b[32m in 1.2s\x1b[0m", 5, 0),
]  # fmt: skip


@pytest.mark.parametrize(("output", "passed", "failed"), OUTPUTS)
def test_counts_of_known_runners_are_read(output, passed, failed):
    counts = Counts(passed=passed, failed=failed)
    assert read_tests(f"some output before\n{output}\n") == counts


@pytest.mark.parametrize("output", ["", "all passed!", "Segmentation fault", "3 passengers"])
def test_output_that_says_no_counts_has_none(output):
    assert read_tests(output) is None


def test_only_a_run_of_tests_has_counts():
    assert result("pytest", "5 passed in 1s").tests == Counts(passed=5, failed=0)
    assert result("cat log.txt", "5 passed in 1s").tests is None
    assert result("echo x > a.py && pytest a.py", "5 passed in 1s").tests is not None


def test_a_search_says_which_files_it_found():
    found = result("grep -rn x src", "src/a.py:3:x\nsrc/b.py:9:x\nsrc/a.py:7:y\n")
    assert (found.found, found.match_count) == (("src/a.py", "src/b.py"), 3)


def test_a_search_in_one_file_found_that_file():
    found = result("grep -n x src/a.py", "3:x\n9:x\n")
    assert (found.found, found.match_count) == (("src/a.py",), 2)


def test_a_search_below_a_directory_counts_from_there():
    assert result("cd src && grep -rl x .", "./a.py\n./b/c.py\n").found == (
        "src/a.py",
        "src/b/c.py",
    )


def test_a_search_for_files_says_which_it_found():
    found = result("find src -name '*.py'", "src/a.py\nsrc/b.py\n")
    assert (found.found, found.match_count) == (("src/a.py", "src/b.py"), 2)
    assert result("ls src", "a.py\nb.py\n").found == ("src/a.py", "src/b.py")


def test_the_answer_of_a_search_tool_is_read():
    found = result("", f"Found 2 files\n{ROOT}/a.py\n{ROOT}/b.py", tool="Grep", pattern="x")
    assert (found.found, found.match_count) == (("a.py", "b.py"), 2)
    assert result("", "No files found", tool="Glob", pattern="x").match_count == 0


@pytest.mark.parametrize("output", ["", "\n", "exit code 1", "Exit code: 1\n"])
def test_a_search_that_finds_nothing_has_not_failed(output):
    found = result("grep -rn x src", output, Outcome.ERROR)
    assert (found.failed, found.match_count) == (False, 0)


def test_a_search_that_could_not_be_made_has_failed():
    assert result(
        "grep x nowhere", "grep: nowhere: No such file or directory", Outcome.ERROR
    ).failed


CHANGED = ("src/a.py", "b.py")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git diff", "diff --git a/src/a.py b/src/a.py\n+x\ndiff --git a/b.py b/b.py\n"),
        (
            "git diff --stat",
            " src/a.py | 3 ++-\n b.py     | 1 +\n 2 files changed, 4 insertions(+)",
        ),
        ("git diff --name-only", "src/a.py\nb.py\n"),
        ("git diff --name-status", "M\tsrc/a.py\nA\tb.py\n"),
        ("git status --short", " M src/a.py\n?? b.py\n"),
        (
            "git status",
            "On branch main\nChanges not staged for commit:\n\tmodified:   src/a.py\n\n"
            "Untracked files:\n\tb.py\n",
        ),
    ],
)
def test_a_look_at_the_working_tree_says_what_changed(command, output):
    assert result(command, output).changed == CHANGED


def test_a_look_at_the_history_changes_nothing():
    assert result("git show HEAD", "diff --git a/a.py b/a.py\n").changed == ()


def test_a_call_that_failed_says_so():
    assert result("python x.py", "ValueError: x", Outcome.ERROR).failed
    assert not result("python x.py", "ValueError: x").failed


@pytest.mark.parametrize("command", ["pytest", "grep -rn x .", "find .", "git status", "git diff"])
@pytest.mark.parametrize(
    "piece",
    ["1 passed ", "= ", "a:", "1:", " M x\n", "diff --git a/", "\t", "-rw-r--r-- ", "ok 1\n"],
)
def test_nothing_holds_it_up(command, piece):
    start = time.process_time()
    result(command, piece * 100_000)
    assert time.process_time() - start < 2
