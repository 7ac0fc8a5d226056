"""What observing costs."""

import random

from seamark_sidecar.observer.cost import Cost


def test_nothing_was_seen_and_nothing_cost():
    assert Cost().microseconds(0.5) == 0.0


def test_a_share_is_right_within_a_quarter():
    chance = random.Random(3)
    taken = sorted(int(chance.lognormvariate(9.5, 1.2)) for _ in range(5_000))
    cost = Cost()
    for each in taken:
        cost.note(each)
    for share in (0.5, 0.9, 0.99):
        exact = max(1.0, taken[int(share * len(taken)) - 1] / 1_000)
        assert exact * 0.99 <= cost.microseconds(share) <= exact * 1.3


def test_an_absurd_time_is_the_longest():
    cost = Cost()
    cost.note(10**18)
    cost.note(-5)
    assert cost.microseconds(1.0) > 60_000_000
