"""The order of a session's events, whatever order they came in."""

from datetime import timedelta
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from seamark.events import Event
from seamark_sidecar.observer.order import Arrivals, in_order

from .sight import NOON


def event(sequence, producer="p", second=0):
    time = NOON + timedelta(seconds=second)
    return Event(producer_id=producer, sequence=sequence, time=time, body=None)


def arrived(*events):
    arrivals = Arrivals()
    for each in events:
        arrivals.note(each)
    return arrivals


def test_an_event_is_new_once():
    arrivals = Arrivals()
    assert [arrivals.note(event(number)) for number in (1, 3, 3, 2, 1, 2, 3, 4)] == [
        True, True, False, True, False, False, False, True,
    ]  # fmt: skip
    assert (arrivals.count, arrivals.missing) == (4, 0)


def test_what_did_not_come_is_counted():
    assert arrived(event(2), event(5), event(1, "q")).missing == 3


def test_a_long_session_takes_no_room():
    arrivals = arrived(*map(event, range(1, 10_000)))
    assert arrivals._beyond == {}
    late = arrived(*map(event, range(9_999, 0, -1)))
    assert (late._beyond, late._contiguous) == ({"p": set()}, {"p": 9_999})


def test_one_producer_in_order_is_in_order_even_when_its_clock_is_set_back():
    assert not arrived(event(1, second=9), event(2, second=3), event(3, second=10)).disordered


def test_an_event_that_comes_after_a_later_one_is_noticed():
    assert arrived(event(2), event(1)).disordered
    assert arrived(event(1, "p", 5), event(1, "q", 3)).disordered
    assert not arrived(event(1, "p", 3), event(1, "q", 5)).disordered


def test_a_duplicate_disturbs_nothing():
    assert not arrived(event(1, second=1), event(2, second=2), event(1, second=1)).disordered


def test_the_order_is_the_same_whatever_order_they_came_in():
    events = [
        event(1, "p", 1), event(2, "p", 6), event(3, "p", 2), event(1, "q", 1), event(2, "q", 5),
    ]  # fmt: skip
    orders = [in_order(each) for each in permutations(events)]
    assert all(order == orders[0] for order in orders)
    assert [(each.producer_id, each.sequence) for each in orders[0]] == [
        ("p", 1), ("q", 1), ("q", 2), ("p", 2), ("p", 3),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 20)), max_size=30))
def test_what_came_in_its_order_is_left_as_it_came(reports):
    sequences = {"p": 0, "q": 0}
    events = []
    for producer, second in reports:
        sequences[producer] += 1
        events.append(event(sequences[producer], producer, second))
    ordered = in_order(events)
    assert not arrived(*ordered).disordered
    if not arrived(*events).disordered:
        assert ordered == events
