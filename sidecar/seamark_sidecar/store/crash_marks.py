"""Marks that outlive a crash and say what was being worked on when it came."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seamark_sidecar.store.sqlite_faults import storage_fault

SLOTS = 64
SLOT_SIZE = 1024  # bytes: the longest ids and a number fit


class CrashMarks:
    """A small mapped file: a mark costs less than a microsecond and survives kill -9."""

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _reserve(handle)
                self._map = mmap.mmap(handle, SLOTS * SLOT_SIZE)
            finally:
                os.close(handle)
        except OSError as error:
            raise storage_fault(error, path) or error from error
        self._free = list(range(SLOTS))

    def take_left(self) -> list[str]:
        """The names that the last process left behind; each is returned once."""
        names = []
        for slot in range(SLOTS):
            raw = self._map[slot * SLOT_SIZE : (slot + 1) * SLOT_SIZE].rstrip(b"\0")
            if raw:
                names.append(raw.decode("utf-8", "replace"))
                self._wipe(slot)
        return names

    @contextmanager
    def at_work_on(self, name: str) -> Iterator[None]:
        """Leaves the name behind if the process dies inside."""
        if not self._free:
            yield
            return
        slot = self._free.pop()
        raw = name.encode("utf-8", "replace")[:SLOT_SIZE]
        self._map[slot * SLOT_SIZE : slot * SLOT_SIZE + len(raw)] = raw
        try:
            yield
        finally:
            self._wipe(slot)
            self._free.append(slot)

    def close(self) -> None:
        """Lets go of the file."""
        self._map.close()

    def _wipe(self, slot: int) -> None:
        self._map[slot * SLOT_SIZE : (slot + 1) * SLOT_SIZE] = b"\0" * SLOT_SIZE


def _reserve(handle: int) -> None:
    """Gives every page its place on the disk: a mark that finds none would end the process."""
    size = SLOTS * SLOT_SIZE
    while (missing := size - os.fstat(handle).st_size) > 0:
        os.pwrite(handle, b"\0" * missing, size - missing)
    os.ftruncate(handle, size)
