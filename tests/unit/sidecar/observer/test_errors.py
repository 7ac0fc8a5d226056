"""What went wrong, and which failures are the same one."""

import time

import pytest

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.results.errors import error_of, failure_in, failure_of
from seamark_sidecar.observer.results.fingerprints import fingerprint

FINE = "2 passed\nexit code 0"

PYTEST = """\
=================================== FAILURES ===================================
______________________________ test_total_of_cart ______________________________

    def test_total_of_cart():
>       assert total(Cart()) == 4
E       AssertionError: assert 3 == 4

tests/test_cart.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total_of_cart - AssertionError: assert 3 == 4
============================== 1 failed in 0.12s ===============================
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/shop/run.py", line 3, in <module>
    main()
  File "/srv/shop/cart/tax.py", line 40, in rate
    return RATES[country]
  File "/usr/lib/python3.11/collections/__init__.py", line 1010, in __getitem__
    raise KeyError(key)
KeyError: 'CH'
"""
GO = """\
=== RUN   TestTotal
    cart_test.go:31: cart has 2 lines
    cart_test.go:42: got 3, want 4
--- FAIL: TestTotal (0.00s)
FAIL
FAIL	example.com/shop/cart	0.221s
"""
LINT = """\
[lint] $ golangci-lint run ./...
cart/total.go:122:1: File is not properly formatted (gofmt)
	total int
^
1 issues:
* gofmt: 1
[lint] ERROR task failed
"""


def error(result, outcome=Outcome.OK):
    return error_of(ToolReturned(call_id="c", outcome=outcome, result=result))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("line 12: bad", "line 9999: bad"),
        ("object at 0x7f3a99", "object at 0x10DEAD"),
        ("no such file: /tmp/pytest-1/run/a.py", "no such file: /home/u/x/y/a.py"),
        (r"no such file: C:\Users\me\shop\a.py", "no such file: /home/u/a.py"),
        ("no such file: /a.py", "no such file: /a.py"),
        ("Timeout after 3.5s", "timeout after 12.25s"),
        ("took 12ms too long", "took 2m30s too long"),
        ("needs pip 23.1.2", "needs pip 24.0.1rc2"),
        ("commit 3f2a9bc is gone", "commit 99ffe01aa is gone"),
        (
            "run 123e4567-e89b-12d3-a456-426614174000 lost",
            "run 9f0e4567-e89b-12d3-a456-426614174fff lost",
        ),
        ("at 2026-01-05T15:02:06.978Z: no", "at 2027-11-30T01:22:33Z: no"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 10.0.0.7:80"),
        ("address in use: localhost:3000", "address in use: localhost:8123"),
        ("port 3000 is taken", "port 8080 is taken"),
        ("lost tmpab12cd_x/file", "lost tmp99ffzzq1/file"),
        ("GET https://a.example/x?y=1 failed", "GET https://b.example/ failed"),
        ("invalid literal for int(): 'abc'", "invalid literal for int(): 'x y'"),
        ("\x1b[31mbad\x1b[0m", "bad"),
    ],
)  # fmt: skip
def test_a_fingerprint_ignores_what_changes_from_run_to_run(one, other):
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("KeyError: 'a'", "ValueError: 'a'"),
        ("No module named 'yaml'", "No module named 'requests'"),
        ("'Cart' object has no attribute 'total'", "'Cart' object has no attribute 'sum'"),
        ("'Cart' object has no attribute 'total'", "'User' object has no attribute 'total'"),
        ("no such file: /tmp/a.py", "no such file: /tmp/b.py"),
        ("bad import in src/cart/tax.py", "bad import in src/user/tax.py"),
        ("undefined: total", "undefined: rate"),
    ],
)
def test_a_fingerprint_tells_different_errors_apart(one, other):
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ("noise\nE   ImportError: no cart\nmore\nexit code 1", "ImportError: no cart"),
        ("Traceback\n  File x\nValueError: nope\nexit code 2", "ValueError: nope"),
        ("KeyError: 'a'\n\nDuring it:\n\nTypeError: b is odd\nexit code 1", "TypeError: b is odd"),
        ("  x()\npkg.errs.NotUnified: no way\nexit code 1", "pkg.errs.NotUnified: no way"),
        ("x\n    assert a is b\nAssertionError\nexit code 1", "AssertionError: assert a is b"),
        ("FAILED t.py::test_a - ValueError: not now\nexit code 1", "ValueError: not now"),
        ("fatal: not a git repository\nexit code 128", "not a git repository"),
        ("bash: line 1: pytest: command not found\nexit code 127", "pytest: command not found"),
        ("cat: b.txt: No such file or directory\nexit code 1", "b.txt: No such file or directory"),
        ("a.ts(3,5): error TS2304: Cannot find 'x'.\nexit code 2", "TS2304: Cannot find 'x'."),
        ("# shop\ncart/a.go:29:12: undefined: errs\nexit code 1", "undefined: errs"),
        ("error[E0425]: no value `x`\nexit code 101", "error[E0425]: no value `x`"),
        ("npm ERR! missing script: test\nexit code 1", "missing script: test"),
        ("Exit code: 1\nmake: *** [all] Fehler", "make: *** [all] Fehler"),
        ("[Command failed with exit code 3]", ""),
        ("oops\nProcess exited with status -9.", "oops"),
    ],
)  # fmt: skip
def test_the_line_that_says_what_went_wrong(result, line):
    assert error(result) == line


@pytest.mark.parametrize(
    ("output", "said", "place"),
    [
        (PYTEST, "AssertionError: assert 3 == 4", "tests/test_cart.py::test_total_of_cart"),
        (TRACEBACK, "KeyError: 'CH'", "tax.py:rate"),
        (GO, "got 3, want 4", "TestTotal"),
        (LINT, "File is not properly formatted (gofmt)", "cart/total.go"),
    ],
)
def test_a_failure_is_told_by_its_error_and_its_place(output, said, place):
    failure = failure_in(output)
    assert failure.is_named
    assert (failure.error, failure.place) == (said, place)


def test_the_same_message_in_another_test_is_another_failure():
    other = PYTEST.replace("test_total_of_cart", "test_total_of_order")
    assert failure_in(PYTEST).fingerprint != failure_in(other).fingerprint


def test_the_same_failure_on_other_lines_is_the_same():
    later = TRACEBACK.replace("line 40", "line 77").replace("/srv/shop", "/home/me/shop")
    assert failure_in(TRACEBACK).fingerprint == failure_in(later).fingerprint


def test_a_linter_complains_of_the_same_in_every_file():
    other = LINT.replace("cart/total.go:122", "user/name.go:9")
    assert failure_in(LINT).fingerprint == failure_in(other).fingerprint


@pytest.mark.parametrize(
    "output",
    [
        "The user doesn't want to proceed with this tool use.",
        "Permission to use Bash with command ls has been denied.",
        "[Request interrupted by user for tool use]",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
    ],
)
def test_a_call_that_was_refused_did_nothing(output):
    failure = failure_of(ToolReturned(call_id="c", outcome=Outcome.ERROR, result=output))
    assert failure is not None
    assert not failure.was_run
    assert not failure.is_named


@pytest.mark.parametrize(
    "output",
    ["", "1 issues:\n* gofmt: 1", "make: *** [test] Error 1 exit status 2", "a.c\nb.c", "FAIL"],
)
def test_output_that_names_no_cause_names_none(output):
    assert not failure_in(output).is_named


def test_a_warning_is_no_error_unless_it_is_raised():
    printed = "a.py:3: DeprecationWarning: old\n  import x\nno\nexit code 1"
    raised = 'Traceback\n  File "a.py", line 3, in f\n    x()\nDeprecationWarning: old\nexit code 1'
    assert "old" not in error(printed)
    assert error(raised) == "DeprecationWarning: old"


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


@pytest.mark.parametrize(
    "result",
    [
        "E" + " " * 65_000,
        "E  \n" * 16_000,
        "a" * 65_000,
        "Error" * 13_000 + "x",
        "/a" * 32_000,
        "a." * 32_000 + "Error",
        "exit " * 13_000,
        "exit code: " + "1" * 65_000,
        "\n" * 65_000,
        "error: error: " * 4_600,
        "a: a: a: a: " * 5_400,
        "f.py:1: " * 8_000,
        '  File "x", line 1, in y\n' * 2_600,
        "'\"`" * 20_000,
        "1.1." * 16_000,
        "tmp_tmp_" * 8_000,
        "--- FAIL: a\n" * 5_400,
        "_" * 65_000,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_output_takes_no_longer_than_other_output(result):
    start = time.process_time()
    error(result, Outcome.ERROR)
    fingerprint(result)
    assert time.process_time() - start < 0.2
