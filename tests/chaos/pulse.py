"""How long this process could not run although it wanted to."""

from __future__ import annotations

import threading
import time

BEAT = 0.02  # seconds


class Pulse:
    """A thread that wants to wake up again and again, and adds up how late it does."""

    def __init__(self) -> None:
        self.late = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        before = time.monotonic()
        while not self._stop.wait(BEAT):
            now = time.monotonic()
            self.late += max(0.0, now - before - BEAT)
            before = now
