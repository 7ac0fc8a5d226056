"""Who holds the data directory, once that is certain."""

from __future__ import annotations

import time
from collections.abc import Callable

from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.lock import Holder, read_holder
from seamark_sidecar.settings import Settings

_SIGNED_WITHIN = 2.0  # seconds
_POLL = 0.05


def find_holder(settings: Settings) -> Holder | None:
    """The sidecar that runs; None when none does."""
    found: Holder | None = None

    def is_certain() -> bool:
        nonlocal found
        found = read_holder(settings.data_dir)
        # A sidecar that is just starting or stopping holds the lock without its name.
        return found is None or found.pid != 0

    if not within(_SIGNED_WITHIN, is_certain):
        raise CommandFailed(
            "ALREADY_RUNNING",
            f"another sidecar is just starting or stopping on {settings.data_dir}; "
            "try again in a moment",
        )
    return found


def within(seconds: float, happened: Callable[[], bool]) -> bool:
    """Waits until it happened; False when that took too long."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(_POLL)
    return True
