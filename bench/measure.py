"""Percentiles of timings, and what other processes take: CPU time, memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from bench.sidecar import clean_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a set of timings is spread, in the unit they came in."""

    count: int
    least: float
    p50: float
    p99: float
    most: float

    def scaled(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(
            count=self.count,
            least=self.least * factor,
            p50=self.p50 * factor,
            p99=self.p99 * factor,
            most=self.most * factor,
        )


def spread(values: Iterable[float]) -> Spread:
    """Least, median, 99th percentile and most; by nearest rank, so each is a value that occurred.

    Raises ValueError when there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there is nothing to take percentiles of")
    return Spread(
        count=len(ordered),
        least=ordered[0],
        p50=_at(ordered, 0.50),
        p99=_at(ordered, 0.99),
        most=ordered[-1],
    )


def _at(ordered: Sequence[float], share: float) -> float:
    # Ceiling of share * count, as a position that starts at 0.
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


class ProcessFailed(RuntimeError):
    """A measured process did not end well."""


def cpu_of(code: str, environment: Mapping[str, str] | None = None) -> float:
    """Seconds of user and system time that a fresh interpreter takes for the code."""
    process = subprocess.Popen(
        _interpreter(code), env=environment or clean_environment(), stdin=subprocess.DEVNULL
    )
    # Not `wait`: only this tells what the one process used.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ProcessFailed(f"{code!r} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def cpu_seconds(pid: int) -> dict[int, float]:
    """User and system time so far of a process and of each of its children, by process."""
    return {each.pid: _cpu(each) for each in _family(pid)}


def resident_bytes(pid: int) -> int:
    """Memory of a process and its children; pages that they share are counted for each."""
    return sum(each.memory_info().rss for each in _family(pid))


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _cpu(process: psutil.Process) -> float:
    taken = process.cpu_times()
    return taken.user + taken.system


def output_of(code: str, environment: Mapping[str, str] | None = None) -> str:
    """What a fresh interpreter prints for the code."""
    try:
        return subprocess.run(
            _interpreter(code),
            env=environment or clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    except subprocess.CalledProcessError as error:
        raise ProcessFailed(f"{code!r} ended with {error.returncode}") from error


def _interpreter(code: str) -> list[str]:
    # -P: the directory we happen to be in is no part of what is measured.
    return [sys.executable, "-P", "-c", code]
