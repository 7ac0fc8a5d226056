"""The sidecar with a bug that takes the process down, as a fault of native code would."""

import os
import resource
import sys

from seamark.events import MemoryRecorded
from seamark_sidecar.api import intake
from seamark_sidecar.cli import main
from seamark_sidecar.model import secrets
from seamark_sidecar.observer import scratchpad

REDACTION = "poison for the redaction"
OBSERVER = "poison for the observer"
STUMBLE = "stumble over this"

real_is_usable = scratchpad._is_usable


def redact(text):
    if REDACTION in text:
        os.abort()
    if STUMBLE in text:
        raise ValueError(f"cannot read {text}")
    return secrets.redact(text)


def is_usable(record: MemoryRecorded) -> bool:
    if OBSERVER in record.content:
        os.abort()
    return real_is_usable(record)


if __name__ == "__main__":
    # A test needs no core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    setattr(intake, "redact", redact)  # noqa: B010 - a name that it only imports
    scratchpad._is_usable = is_usable
    sys.argv = ["seamark", "up"]
    main()
