"""Files on which an agent dwells far longer than it usually does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark.events import ToolCalled, ToolReturned
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, read_files
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

# Times the session's median.
ANOMALY = 5.0
LEAST_SECONDS = 20.0
LEAST_SAMPLES = 8
# A person has gone for lunch.
MOST_SECONDS = 900.0
# Steps around the dwell in which an error or a second edit of the file belongs to it.
NEAR_STEPS = 3
EDIT_STEPS = 20
MOST_FILES = 64
MOST_SIGNALS = 10
# Seconds per power of two, from a quarter of a second.
_BUCKETS = 16


@dataclass(slots=True)
class _Dwell:
    seconds: float
    step: int
    reads: int
    is_after_error: bool = False
    is_reedited: bool = False


class TimeAnomaly:
    """Times what passes between reading a file and the next call.

    Time alone is noise: a slow network, a rate limit, a person who is asked. It proposes nothing.
    """

    def __init__(self) -> None:
        self._histogram = [0] * _BUCKETS
        self._samples = 0
        self._open: tuple[str, float] | None = None
        self._dwells: dict[str, _Dwell] = {}
        self._reads: dict[str, int] = {}
        self._edited: dict[str, int] = {}
        self._failed_step = -NEAR_STEPS - 1

    def see(self, moment: Moment) -> None:
        if isinstance(moment.body, ToolCalled):
            if self._open is not None:
                self._dwelt(*self._open, moment)
                self._open = None
        elif isinstance(moment.body, ToolReturned) and moment.result is not None:
            self._returned(moment)

    def signals(self) -> Iterable[Signal]:
        usual = self._median()
        long = [
            (path, dwell)
            for path, dwell in self._dwells.items()
            if self._samples >= LEAST_SAMPLES and dwell.seconds > ANOMALY * usual
        ]
        long.sort(key=lambda item: item[1].step)
        return [_signal(path, dwell, usual) for path, dwell in long[:MOST_SIGNALS]]

    def size(self) -> int:
        return 150 * (len(self._dwells) + len(self._reads) + len(self._edited)) + 500

    def shrink(self) -> None:
        halve(self._dwells)
        halve(self._reads)
        halve(self._edited)

    def _returned(self, moment: Moment) -> None:
        if moment.result is not None and moment.result.failure is not None:
            self._failed_step = moment.step
            for dwell in self._dwells.values():
                dwell.is_after_error |= moment.step - dwell.step <= NEAR_STEPS
        for path in changed_files(moment):
            dwelt = self._dwells.get(path)
            last = self._edited.pop(path, None)
            if dwelt is not None and last is not None and last <= dwelt.step:
                dwelt.is_reedited |= moment.step - last <= EDIT_STEPS
            make_room(self._edited, MOST_FILES)
            self._edited[path] = moment.step
        read = read_files(moment)
        if read:
            path = read[-1]
            make_room(self._reads, MOST_FILES)
            self._reads[path] = self._reads.get(path, 0) + 1
            self._open = (path, moment.time)

    def _dwelt(self, path: str, since: float, moment: Moment) -> None:
        seconds = moment.time - since
        if not 0.0 < seconds <= MOST_SECONDS:
            return
        self._histogram[_bucket(seconds)] += 1
        self._samples += 1
        known = self._dwells.get(path)
        if seconds >= LEAST_SECONDS and (known is None or seconds > known.seconds):
            self._dwells.pop(path, None)
            make_room(self._dwells, MOST_FILES)
            self._dwells[path] = _Dwell(
                seconds,
                moment.step,
                self._reads.get(path, 1),
                moment.step - self._failed_step <= NEAR_STEPS,
            )

    def _median(self) -> float:
        """The middle of the bucket in which it lies: near enough, and no list to keep."""
        passed = 0
        for number, count in enumerate(self._histogram):
            passed += count
            if 2 * passed >= self._samples:
                return 0.25 * 1.5 * 2.0**number
        return 0.0


def _bucket(seconds: float) -> int:
    number = 0
    while seconds >= 0.5 and number < _BUCKETS - 1:
        seconds /= 2
        number += 1
    return number


def _signal(path: str, dwell: _Dwell, usual: float) -> Signal:
    return Signal(
        kind=SignalKind.TIME_ANOMALY,
        step=dwell.step,
        confidence=0.5 if dwell.is_after_error or dwell.is_reedited else 0.2,
        key=finding_key("time_anomaly", path),
        files=(path,),
        details={
            "dwell_ms": round(1000 * dwell.seconds),
            "median_ms": round(1000 * usual),
            "read_count": dwell.reads,
            "correlates_with_error": dwell.is_after_error,
            "correlates_with_backtrack": dwell.is_reedited,
        },
    )
