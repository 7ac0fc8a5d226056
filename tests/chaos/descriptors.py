"""What a process has open."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

RELEASED_WITHIN = 5.0  # seconds
_POLL = 0.05


def open_descriptors(pid: int) -> list[str]:
    """What each descriptor of the process leads to."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except OSError:  # Closed meanwhile, such as the one that listed them.
            continue
    return sorted(found)


def once_released(look: Callable[[], list[str]], most: int) -> list[str]:
    """What is open once there is no more than that; what still is when that takes too long."""
    limit = time.monotonic() + RELEASED_WITHIN
    while len(found := look()) > most and time.monotonic() < limit:
        time.sleep(_POLL)
    return found
