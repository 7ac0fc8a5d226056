"""Places where a test can make the sidecar die, stall or run out of disk.

`SEAMARK_FAULTS` names them: `journal.db.before_commit=kill:0.01,memory.db.after_commit=stall`.
A fault happens with its probability, or always without one. Unset, a point costs one comparison.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "SEAMARK_FAULTS"
STALL = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a point, and how often."""

    kind: str
    probability: float


def parse(text: str) -> dict[str, Fault]:
    """The faults that the variable names."""
    faults: dict[str, Fault] = {}
    for item in filter(None, text.split(",")):
        point, _, what = item.partition("=")
        kind, _, probability = what.partition(":")
        if kind not in {"kill", "stall", "full"}:
            raise ValueError(f"{VARIABLE} names the fault {kind!r}; use kill, stall or full")
        faults[point.strip()] = Fault(kind, float(probability or 1))
    return faults


_FAULTS: Mapping[str, Fault] = parse(os.environ.get(VARIABLE, ""))


def fault_point(name: str) -> None:
    """Passes, unless a fault was asked for here."""
    if not _FAULTS:
        return
    fault = _FAULTS.get(name)
    if fault is None or random.random() >= fault.probability:
        return
    match fault.kind:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stall":
            time.sleep(STALL)
        case "full":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
