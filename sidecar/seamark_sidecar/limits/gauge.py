"""Measures what the sidecar takes of the machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import psutil

from seamark_sidecar.model.vitals import FileSize, ProcessVitals, Vitals

# Seconds for which a measurement is good: whoever asks again and again must not cost anything.
GOOD_FOR = 1.0
# What is shown, and the files that it is made of.
PARTS = (
    ("memory.db", ("memory.db", "memory.db-wal")),
    ("journal.db", ("journal.db", "journal.db-wal")),
    ("index", ("index",)),
    ("models", ("models",)),
    ("sidecar.log", ("sidecar.log", "sidecar.log.1")),
)


class Worker(Protocol):
    """A process of the sidecar's."""

    name: str
    restarts: int

    @property
    def pid(self) -> int | None: ...


class Gauge:
    """Measures in a thread, and at most once a second."""

    def __init__(self, data_dir: Path, workers: Sequence[Worker]) -> None:
        self._data_dir = data_dir
        self._workers = workers
        self._last: Vitals | None = None
        self._taken = 0.0

    async def read(self) -> Vitals:
        """How it is now, or was a moment ago."""
        if self._last is None or time.monotonic() - self._taken > GOOD_FOR:
            family = [
                ("sidecar", os.getpid(), 0),
                *((each.name, each.pid or 0, each.restarts) for each in self._workers),
            ]
            self._last = await asyncio.to_thread(self._measure, family)
            self._taken = time.monotonic()
        return self._last

    def _measure(self, family: Sequence[tuple[str, int, int]]) -> Vitals:
        return Vitals(
            processes=tuple(
                ProcessVitals(name=name, pid=pid, resident=_resident(pid), restarts=restarts)
                for name, pid, restarts in family
            ),
            files=tuple(
                FileSize(name, sum(_size(self._data_dir / part) for part in parts))
                for name, parts in PARTS
            ),
        )


def _resident(pid: int) -> int:
    """0 for a process that is just being started anew."""
    with contextlib.suppress(psutil.Error):
        if pid:
            size: int = psutil.Process(pid).memory_info().rss
            return size
    return 0


def _size(path: Path) -> int:
    """Bytes on the disk, without following links; what vanishes meanwhile does not count."""
    return sum(_occupied(each) for each in _files(path))


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            yield from (Path(folder, name) for name in names)
    else:
        yield path


def _occupied(path: Path) -> int:
    try:
        found = path.lstat()
    except OSError:
        return 0
    # Files of an index are made large in advance and have holes.
    return found.st_blocks * 512
