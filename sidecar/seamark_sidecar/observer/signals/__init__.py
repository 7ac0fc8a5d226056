"""One module for each family of signals."""

from collections.abc import Callable, Sequence

from seamark_sidecar.observer.moment import Detector
from seamark_sidecar.observer.signals.error_retry import ErrorRetry
from seamark_sidecar.observer.signals.recorded import Recorded
from seamark_sidecar.observer.signals.self_correction import SelfCorrection

DETECTORS: Sequence[Callable[[], Detector]] = (Recorded, SelfCorrection, ErrorRetry)
