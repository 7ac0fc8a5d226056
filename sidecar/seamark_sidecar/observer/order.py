"""The one order of a session's events, whatever order they came in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from seamark.events import Event

# When, by whom, and which of theirs.
Place = tuple[float, str, int]
_FIRST: Place = (0.0, "", 0)


class Arrivals:
    """Which events are in, how many are missing, and whether each came in its place.

    What came without a gap is a number for each producer, so that a long session takes no room.
    """

    def __init__(self) -> None:
        self.count = 0
        # An event came after one that it stands before.
        self.disordered = False
        self._contiguous: dict[str, int] = {}
        self._beyond: dict[str, set[int]] = {}
        self._latest: dict[str, int] = {}
        self._times: dict[str, float] = {}
        self._last = _FIRST

    def note(self, event: Event) -> bool:
        """Takes note of an event; False when it was in before."""
        producer, sequence = event.producer_id, event.sequence
        contiguous = self._contiguous.get(producer, 0)
        beyond = self._beyond.get(producer)
        if sequence <= contiguous or (beyond is not None and sequence in beyond):
            return False
        if sequence == contiguous + 1:
            self._contiguous[producer] = _advanced(sequence, beyond)
        else:
            self._beyond.setdefault(producer, set()).add(sequence)
        self.count += 1
        self._note_place(event)
        return True

    @property
    def missing(self) -> int:
        """Events that must exist, because later ones of their producer came, and did not come."""
        return sum(self._latest.values()) - self.count

    def _note_place(self, event: Event) -> None:
        producer, sequence = event.producer_id, event.sequence
        if sequence < self._latest.get(producer, 0):
            self.disordered = True
            return
        self._latest[producer] = sequence
        # A clock that is set back does not change the order of one producer's events.
        time = max(event.time.timestamp(), self._times.get(producer, 0.0))
        self._times[producer] = time
        place = (time, producer, sequence)
        if place < self._last:
            self.disordered = True
        else:
            self._last = place


def _advanced(sequence: int, beyond: set[int] | None) -> int:
    while beyond and sequence + 1 in beyond:
        sequence += 1
        beyond.remove(sequence)
    return sequence


def in_order(events: Iterable[Event]) -> list[Event]:
    """The events by time, with those of each producer in their own order."""
    placed: list[tuple[Place, Event]] = []
    own = sorted(events, key=lambda event: (event.producer_id, event.sequence))
    for producer, reported in groupby(own, key=lambda event: event.producer_id):
        time = 0.0
        for event in reported:
            time = max(time, event.time.timestamp())
            placed.append(((time, producer, event.sequence), event))
    return [event for _, event in sorted(placed, key=lambda each: each[0])]
