"""What observing costs, in microseconds of the processor an event."""

from __future__ import annotations

# From one microsecond (1024 ns) on, each doubling has this many buckets; up to a minute fits.
_A_DOUBLING = 4
_BUCKETS = 26 * _A_DOUBLING


class Cost:
    """A histogram, so that a session of any length takes the same room."""

    def __init__(self) -> None:
        self.count = 0
        self._buckets = [0] * _BUCKETS

    def note(self, nanoseconds: int) -> None:
        """Takes in what one event cost."""
        self.count += 1
        self._buckets[_bucket(nanoseconds)] += 1

    def microseconds(self, share: float) -> float:
        """What this share of the events did not exceed; 0 before the first."""
        wanted, seen = share * self.count, 0
        for bucket, count in enumerate(self._buckets):
            seen += count
            if count and seen >= wanted:
                return _highest(bucket)
        return 0.0


def _bucket(nanoseconds: int) -> int:
    doublings = nanoseconds.bit_length() - 11
    if doublings < 0:
        return 0
    quarter = (nanoseconds >> (doublings + 8)) & (_A_DOUBLING - 1)
    return min(doublings * _A_DOUBLING + quarter, _BUCKETS - 1)


def _highest(bucket: int) -> float:
    doublings, quarter = divmod(bucket, _A_DOUBLING)
    return float(round(1.024 * 2**doublings * (1 + (quarter + 1) / _A_DOUBLING), 2))
