"""A sidecar that does not answer costs the agent as few deadlines as possible."""

import threading

from seamark.breaker import FIRST_PAUSE, LONGEST_PAUSE, LONGEST_STEP, Breaker


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    breaker.timed_out(step=1, now=now)
    breaker.timed_out(step=2, now=now)
    assert breaker.is_open
    return breaker


def test_while_all_is_well_every_call_is_made():
    breaker = Breaker()
    assert all(breaker.allows(step, now=step / 100) for step in range(100))
    assert not breaker.is_open


def test_one_timeout_skips_the_rest_of_the_step():
    breaker = Breaker()
    assert breaker.allows(step=3, now=0.0)
    breaker.timed_out(step=3, now=0.05)
    assert not breaker.allows(step=3, now=0.06)
    assert not breaker.allows(step=3, now=20.0)
    assert breaker.allows(step=4, now=0.06)


def test_an_app_that_counts_no_steps_is_not_cut_off_for_ever():
    breaker = Breaker()
    breaker.timed_out(step=0, now=0.0)
    assert not breaker.allows(step=0, now=LONGEST_STEP - 0.01)
    assert breaker.allows(step=0, now=LONGEST_STEP)


def test_a_timeout_between_two_answers_does_not_add_up():
    breaker = Breaker()
    for step in range(10):
        breaker.timed_out(step, now=step)
        breaker.succeeded()
    assert not breaker.is_open
    assert breaker.allows(step=10, now=10.0)


def test_two_timeouts_in_a_row_open_it_until_a_probe_succeeds():
    breaker = opened()
    assert not breaker.allows(step=3, now=FIRST_PAUSE - 0.01)
    assert breaker.allows(step=3, now=FIRST_PAUSE)
    assert not breaker.allows(step=3, now=FIRST_PAUSE), "one probe at a time"
    breaker.succeeded()
    assert not breaker.is_open
    assert breaker.allows(step=3, now=FIRST_PAUSE)
    assert breaker.allows(step=3, now=FIRST_PAUSE)


def test_the_pauses_double_up_to_the_longest():
    breaker = opened()
    now, pauses = 0.0, []
    for step in range(3, 12):
        began = now
        while not breaker.allows(step, now):
            now += FIRST_PAUSE / 8
        pauses.append(now - began)
        breaker.timed_out(step, now)
    assert pauses[:5] == [FIRST_PAUSE, 0.5, 1.0, 2.0, 4.0]
    assert set(pauses[5:]) == {LONGEST_PAUSE}


def test_a_probe_that_fails_at_once_is_followed_by_another():
    breaker = opened()
    for _ in range(3):
        assert breaker.allows(step=3, now=1.0)
        breaker.failed()
    assert breaker.is_open


def test_calls_that_began_before_it_opened_do_not_lengthen_the_pause():
    breaker = opened()
    for _ in range(8):
        breaker.timed_out(step=2, now=0.01)
    assert breaker.allows(step=3, now=FIRST_PAUSE)


def test_of_many_threads_one_makes_the_probe():
    for _ in range(50):
        breaker = opened()
        together = threading.Barrier(8)
        allowed: list[bool] = []

        def ask(breaker=breaker, together=together, allowed=allowed):
            together.wait()
            allowed.append(breaker.allows(step=3, now=10.0))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(allowed) == [False] * 7 + [True]
