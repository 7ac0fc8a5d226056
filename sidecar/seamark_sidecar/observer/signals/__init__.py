"""One module for each family of signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.moment import Detector, Moment
from seamark_sidecar.observer.signals.backtrack import Backtrack
from seamark_sidecar.observer.signals.co_access import CoAccess
from seamark_sidecar.observer.signals.config_touch import ConfigTouch
from seamark_sidecar.observer.signals.context_token_spike import ContextTokenSpike
from seamark_sidecar.observer.signals.error_retry import ErrorRetry
from seamark_sidecar.observer.signals.external_reference import ExternalReference
from seamark_sidecar.observer.signals.file_access import FileAccessed
from seamark_sidecar.observer.signals.glob_ignore import GlobIgnore
from seamark_sidecar.observer.signals.import_chase import ImportChase
from seamark_sidecar.observer.signals.read_abandon import ReadAbandon
from seamark_sidecar.observer.signals.recorded import Recorded
from seamark_sidecar.observer.signals.repeated_grep import RepeatedGrep
from seamark_sidecar.observer.signals.said import Said
from seamark_sidecar.observer.signals.sequence import Recurring
from seamark_sidecar.observer.signals.step_overrun import StepOverrun
from seamark_sidecar.observer.signals.test_order import OrderOfTests
from seamark_sidecar.observer.signals.time_anomaly import TimeAnomaly

DETECTORS: Sequence[Callable[[], Detector]] = (
    Recorded,
    Said,
    ErrorRetry,
    RepeatedGrep,
    ConfigTouch,
    Backtrack,
    CoAccess,
    ReadAbandon,
    OrderOfTests,
    Recurring,
    FileAccessed,
    StepOverrun,
    GlobIgnore,
    ContextTokenSpike,
    ExternalReference,
    ImportChase,
    TimeAnomaly,
)

# When a session holds more than its share, these let go first, in this order, and then the others
# but for those that are never asked to.
SHRINK_FIRST: Sequence[Callable[[], Detector]] = (TimeAnomaly, FileAccessed, Recurring, CoAccess)
NEVER_SHRINK: Sequence[Callable[[], Detector]] = (Recorded,)

MOST_BYTES = 40 * 1024 * 1024  # of all of a session's detectors together
_LOOK_EVERY = 1024  # events


class Detectors:
    """All detectors of one session."""

    def __init__(self) -> None:
        self._all = tuple(make() for make in DETECTORS)
        self._seen = 0

    def see(self, moment: Moment) -> None:
        """Shows the moment to each."""
        for detector in self._all:
            detector.see(moment)
        self._seen += 1
        if self._seen % _LOOK_EVERY == 0:
            self._shrink()

    def signals(self) -> Iterator[Signal]:
        """What they found so far."""
        for detector in self._all:
            yield from detector.signals()

    def size(self) -> int:
        """About how many bytes they hold."""
        return sum(detector.size() for detector in self._all)

    def _shrink(self) -> None:
        for detector in _in_turn(self._all):
            if self.size() <= MOST_BYTES:
                return
            detector.shrink()


def _in_turn(detectors: Sequence[Detector]) -> list[Detector]:
    def turn(detector: Detector) -> int:
        kind = type(detector)
        return SHRINK_FIRST.index(kind) if kind in SHRINK_FIRST else len(SHRINK_FIRST)

    return sorted((each for each in detectors if type(each) not in NEVER_SHRINK), key=turn)
