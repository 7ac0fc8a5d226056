"""The sidecar with a clock that can be set while it runs.

A file of eight bytes, named by the environment, holds the seconds by which it is ahead. What is
moved is the clock by which the sidecar decides what is old, silent or overdue; moving the machine's
own clock would take more rights than a test has, and everybody else with it.
"""

import mmap
import os
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

VARIABLE = "SEAMARK_CHAOS_CLOCK"
SECONDS = struct.Struct("<d")


def set_clock(path: Path, ahead: float) -> None:
    """Moves the clock of whoever runs with this file."""
    if not path.exists():
        path.write_bytes(SECONDS.pack(ahead))
        return
    with path.open("r+b") as file:
        file.write(SECONDS.pack(ahead))


def main() -> None:
    from seamark_sidecar import app
    from seamark_sidecar.cli import main as command_line

    with Path(os.environ[VARIABLE]).open("rb") as file:
        ahead = mmap.mmap(file.fileno(), SECONDS.size, access=mmap.ACCESS_READ)

    def now() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=SECONDS.unpack(ahead[:])[0])

    app._now = now
    command_line()


if __name__ == "__main__":
    main()
