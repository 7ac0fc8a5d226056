"""How many tests passed and failed, from what a test runner printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# Runners say it at the end.
LONGEST_READ = 12_000

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_N = r"([0-9]{1,9})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """How a run of tests ended; counts are -1 where the output does not say."""

    passed: int = -1
    failed: int = -1


def read_tests(output: str) -> Tests | None:
    """The counts; None when the output holds none that we know."""
    if len(output) > LONGEST_READ:
        output = output[-LONGEST_READ:]
    if "\x1b" in output:
        output = _COLOUR.sub("", output)
    for reader in _READERS:
        tests = reader(output)
        if tests is not None:
            return tests
    return None


# `== 3 failed, 5 passed in 0.12s ==`, `5 passed in 0.1s`, `tests finished: 5 passed, in 0.1 s`
_PYTEST = re.compile(
    r"^[= ]{0,100}(?:tests finished: )?((?:[0-9]{1,9} [a-z]{4,12},? ){1,8})in [0-9.]{1,12} ?s", re.M
)
_COUNT = re.compile(_N + r" ([a-z]{4,12})")
_NO_TESTS = re.compile(r"^[= ]{0,100}(?:no tests ran|[0-9]{1,9} deselected) in ", re.M)
_PASSED = frozenset({"passed", "xfailed", "xpassed", "subtests"})
_FAILED = frozenset({"failed", "error", "errors", "exceptions"})


def _pytest(output: str) -> Tests | None:
    found = _PYTEST.findall(output)
    if not found:
        return Tests(passed=0, failed=0) if _NO_TESTS.search(output) else None
    passed = failed = 0
    for count, word in _COUNT.findall(found[-1]):
        passed += int(count) if word in _PASSED else 0
        failed += int(count) if word in _FAILED else 0
    return Tests(passed=passed, failed=failed)


_UNITTEST = re.compile(r"^Ran " + _N + r" tests? in [0-9.]{1,12}s", re.M)
_UNITTEST_FAILED = re.compile(r"^FAILED \(([^)\n]{1,200})\)", re.M)
_UNITTEST_OK = re.compile(r"^OK(?: \(([^)\n]{1,200})\))?\s*$", re.M)
_KEYED = re.compile(r"([a-z ]{4,24})=" + _N)


def _unittest(output: str) -> Tests | None:
    ran = _UNITTEST.findall(output)
    if not ran:
        return None
    total = int(ran[-1])
    failed = _UNITTEST_FAILED.search(output)
    ended = failed or _UNITTEST_OK.search(output)
    counts = {key.strip(): int(count) for key, count in _KEYED.findall((ended and ended[1]) or "")}
    if not ended:
        return Tests(passed=-1, failed=-1)
    wrong = counts.get("failures", 0) + counts.get("errors", 0) if failed else 0
    wrong += counts.get("unexpected successes", 0)
    return Tests(passed=max(total - wrong - counts.get("skipped", 0), 0), failed=wrong)


# `Tests:  1 failed, 12 passed, 13 total` of jest, ` Tests  1 failed | 12 passed (13)` of vitest
_JEST = re.compile(r"^\s{0,12}Tests:? {1,12}((?:[0-9]{1,9} [a-z]{4,10}[,| ]{0,4}){1,6})", re.M)


def _jest(output: str) -> Tests | None:
    found = _JEST.findall(output)
    if not found:
        return None
    counts = {word: int(count) for count, word in _COUNT.findall(found[-1])}
    return Tests(passed=counts.get("passed", 0), failed=counts.get("failed", 0))


_PASSING = re.compile(r"^\s{0,12}[✔✓]?\s{0,2}" + _N + r" passing\b", re.M)
_FAILING = re.compile(r"^\s{0,12}[✖✗×]?\s{0,2}" + _N + r" failing\b", re.M)


def _mocha(output: str) -> Tests | None:
    return _pair(_PASSING.findall(output), _FAILING.findall(output))


# `# pass 12`, `ℹ fail 1` of node; ` 12 pass` of bun.
_TAP_PASS = re.compile(r"^(?:[#ℹ] pass +" + _N + r"|\s{0,4}" + _N + r" pass)\s*$", re.M)
_TAP_FAIL = re.compile(r"^(?:[#ℹ] fail +" + _N + r"|\s{0,4}" + _N + r" fail)\s*$", re.M)


def _tap(output: str) -> Tests | None:
    return _pair(
        ["".join(each) for each in _TAP_PASS.findall(output)],
        ["".join(each) for each in _TAP_FAIL.findall(output)],
    )


def _pair(passed: list[str], failed: list[str]) -> Tests | None:
    if not passed and not failed:
        return None
    return Tests(passed=int(passed[-1]) if passed else 0, failed=int(failed[-1]) if failed else 0)


_CARGO = re.compile(r"^test result: \w{2,8}\. " + _N + " passed; " + _N + " failed", re.M)
_NEXTEST = re.compile(
    r"\btests? run: " + _N + r" passed(?: \([^)\n]{0,60}\))?(?:, " + _N + " failed)?"
)


def _cargo(output: str) -> Tests | None:
    found = _CARGO.findall(output)
    if found:
        return Tests(
            passed=sum(int(each) for each, _ in found), failed=sum(int(each) for _, each in found)
        )
    run = _NEXTEST.search(output)
    return Tests(passed=int(run[1]), failed=int(run[2] or 0)) if run else None


_GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): ", re.M)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)(?:\t| {2})[ \t]{0,8}[\w./~@-]{1,300}(?:[ \t]|$)", re.M)
_GO_NONE = re.compile(r"^(?:ok|\?)[ \t]{1,8}[\w./~@-]{1,300}[ \t].{0,40}\[no test", re.M)


def _go(output: str) -> Tests | None:
    """Single tests where the output lists them (`-v`), packages where it does not."""
    tests, packages = _GO_TEST.findall(output), _GO_PACKAGE.findall(output)
    if "PASS" in tests:
        return Tests(passed=tests.count("PASS"), failed=tests.count("FAIL"))
    if not packages and not tests:
        return Tests(passed=0, failed=0) if _GO_NONE.search(output) else None
    failed = tests.count("FAIL") or packages.count("FAIL")
    return Tests(passed=packages.count("ok"), failed=failed)


_MAVEN = re.compile(
    r"\bTests run: " + _N + ", Failures: " + _N + ", Errors: " + _N + "(?:, Skipped: " + _N + ")?"
)
_GRADLE = re.compile(r"\b" + _N + " tests? completed, " + _N + " failed")
_GRADLE_OK = re.compile(r"^> Task :\S{0,200}[tT]est\S{0,80}(?: [A-Z-]{2,20})?$", re.M)


def _java(output: str) -> Tests | None:
    run = _MAVEN.findall(output)
    if run:
        total, failures, errors, skipped = (int(each or 0) for each in run[-1])
        return Tests(passed=max(total - failures - errors - skipped, 0), failed=failures + errors)
    completed = _GRADLE.search(output)
    if completed:
        return Tests(passed=int(completed[1]) - int(completed[2]), failed=int(completed[2]))
    if "BUILD SUCCESSFUL" in output and _GRADLE_OK.search(output):
        return Tests(passed=-1, failed=0)
    return None


# rspec, minitest, exunit, swift and phpunit
_EXAMPLES = re.compile(
    r"\b" + _N + r" (?:examples?|runs?|tests?|doctests?)(?:, " + _N + r" (?:assertions|tests?))?"
    r", (?:with )?" + _N + r" failures?(?:, " + _N + " errors?)?"
)  # fmt: skip
_EXECUTED = re.compile(r"\bExecuted " + _N + r" tests?, with " + _N + r" failures?")
_PHPUNIT_OK = re.compile(r"^OK \(" + _N + r" tests?, ", re.M)
_PHPUNIT = re.compile(
    r"^Tests: " + _N + r", Assertions: [0-9]{1,9}((?:, [A-Z][a-zA-Z ]{3,20}: [0-9]{1,9}){0,6})",
    re.M,
)
_PHPUNIT_WRONG = re.compile(r"(?:Failures|Errors): " + _N)


def _examples(output: str) -> Tests | None:
    executed = _EXECUTED.findall(output)
    if executed:
        total, failed = (int(each) for each in executed[-1])
        return Tests(passed=max(total - failed, 0), failed=failed)
    found = _EXAMPLES.findall(output)
    if found:
        total, _, failures, errors = (int(each or 0) for each in found[-1])
        return Tests(passed=max(total - failures - errors, 0), failed=failures + errors)
    good = _PHPUNIT_OK.search(output)
    if good:
        return Tests(passed=int(good[1]), failed=0)
    bad = _PHPUNIT.search(output)
    if bad:
        wrong = sum(int(each) for each in _PHPUNIT_WRONG.findall(bad[2]))
        return Tests(passed=max(int(bad[1]) - wrong, 0), failed=wrong)
    return None


_CTEST = re.compile(r"\btests passed, " + _N + " tests failed out of " + _N)
_DOTNET = re.compile(r"\bFailed: {1,12}" + _N + r", Passed: {1,12}" + _N)
_PIPED = re.compile(r"\b" + _N + r" [Pp]assed \| " + _N + r" [Ff]ailed")
_TAP_LINE = re.compile(r"^(ok|not ok) [0-9]{1,9}\b", re.M)


def _others(output: str) -> Tests | None:
    ctest = _CTEST.search(output)
    if ctest:
        return Tests(passed=max(int(ctest[2]) - int(ctest[1]), 0), failed=int(ctest[1]))
    dotnet = _DOTNET.findall(output)
    if dotnet:
        return Tests(
            passed=sum(int(each) for _, each in dotnet), failed=sum(int(each) for each, _ in dotnet)
        )
    piped = _PIPED.search(output)
    if piped:
        return Tests(passed=int(piped[1]), failed=int(piped[2]))
    lines = _TAP_LINE.findall(output)
    if lines:
        return Tests(passed=lines.count("ok"), failed=lines.count("not ok"))
    return None


_READERS: tuple[Callable[[str], Tests | None], ...] = (
    _pytest, _unittest, _jest, _cargo, _java, _go, _mocha, _examples, _others, _tap,
)  # fmt: skip
