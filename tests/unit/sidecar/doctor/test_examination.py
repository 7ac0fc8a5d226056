"""All checks are made, whatever one of them does."""

import threading
import time

from seamark_sidecar.doctor.examination import examine
from seamark_sidecar.doctor.finding import Finding, State, ok, warn


def test_findings_come_in_the_order_of_the_checks():
    def slowly(subject):
        time.sleep(0.05)
        return ok(f"{subject} one")

    found = examine({"one": slowly, "two": lambda subject: warn(f"{subject} two", "do")}, "the")
    assert found == [
        Finding(name="one", state=State.OK, what="the one", todo=""),
        Finding(name="two", state=State.WARN, what="the two", todo="do"),
    ]


def test_a_check_that_fails_is_a_finding():
    def broken(_):
        raise KeyError("surprise")

    broke, well = examine({"broken": broken, "well": lambda _: ok("fine")}, None)
    assert broke.state is State.FAIL
    assert "surprise" in broke.what
    assert broke.todo
    assert well.state is State.OK


def test_an_error_without_words_is_named():
    def broken(_):
        raise AssertionError

    (found,) = examine({"broken": broken}, None)
    assert "AssertionError" in found.what


def test_a_check_that_hangs_keeps_nobody():
    forever = threading.Event()

    def hangs(_):
        forever.wait(30)
        return ok("late")

    start = time.monotonic()
    hung, well = examine({"hangs": hangs, "well": lambda _: ok("fine")}, None, within=0.2)
    assert time.monotonic() - start < 5
    forever.set()
    assert hung.state is State.FAIL
    assert "in time" in hung.what
    assert well.state is State.OK
