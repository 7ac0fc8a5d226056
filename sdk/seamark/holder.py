"""Who holds a data directory, as its lock tells."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass

from seamark.private_directory import PrivateDirectory

LOCK_NAME = "sidecar.lock"

_LONGEST_RECORD = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The sidecar that runs; nothing of what it wrote is taken on trust but its shape."""

    # 0 while it is starting or stopping.
    pid: int = 0
    address: str = ""
    version: str = ""
    # An SDK started it, no person.
    launched: bool = False


def read_holder(directory: PrivateDirectory) -> Holder | None:
    """The sidecar of a data directory; None when none runs. Raises LaunchFailed and OSError."""
    try:
        descriptor = directory.open(LOCK_NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # Closing is not enough: a child forked at this instant would keep the lock for its life.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except BlockingIOError:
        return _record(os.pread(descriptor, _LONGEST_RECORD, 0))
    else:
        return None
    finally:
        os.close(descriptor)


def _record(text: bytes) -> Holder:
    try:
        record = json.loads(text)
        pid, address, version = record["pid"], record["address"], record["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Holder()
    if type(pid) is not int or not isinstance(address, str) or not isinstance(version, str):
        return Holder()
    return Holder(
        pid=pid, address=address, version=version, launched=record.get("launched") is True
    )
