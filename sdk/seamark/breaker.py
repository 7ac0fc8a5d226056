"""Decides whether a session's next injection call is worth its deadline."""

from __future__ import annotations

import threading

FIRST_PAUSE = 0.25  # seconds
LONGEST_PAUSE = 5.0
LONGEST_STEP = 30.0  # An app that counts no steps is in the same one for ever.


class Breaker:
    """One per session, for all injection points.

    A timeout skips the rest of the step. After two in a row calls are skipped until one probe
    succeeds; the pause before each probe doubles.
    """

    __slots__ = ("_lock", "_probing", "_skip_step", "_skip_until", "_timeouts", "_wait_until")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timeouts = 0
        self._wait_until = 0.0
        self._skip_step: int | None = None
        self._skip_until = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        """True while calls are being skipped."""
        return self._timeouts >= 2

    def allows(self, step: int, now: float) -> bool:
        """Whether to make a call in this step; a True must be followed by one of the reports."""
        with self._lock:
            if self._skip_step == step and now < self._skip_until:
                return False
            if not self.is_open:
                return True
            if self._probing or now < self._wait_until:
                return False
            self._probing = True
            return True

    def succeeded(self) -> None:
        """The sidecar answered in time."""
        with self._lock:
            self._timeouts = 0
            self._skip_step = None
            self._probing = False

    def timed_out(self, step: int, now: float) -> None:
        """The deadline passed without an answer."""
        with self._lock:
            self._skip_step = step
            self._skip_until = now + LONGEST_STEP
            if self.is_open and not self._probing:
                return  # It began before the breaker opened, and says nothing new.
            self._probing = False
            self._timeouts += 1
            doublings = min(self._timeouts - 2, 10)
            if doublings >= 0:
                self._wait_until = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2**doublings)

    def failed(self) -> None:
        """The call failed at once: cheap, so nothing is to be avoided."""
        with self._lock:
            self._probing = False
