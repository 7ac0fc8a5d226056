"""Whether there is room to learn, and why not."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import structlog

from seamark_sidecar.model.errors import SidecarError, StorageFull

log = structlog.get_logger("seamark.limits")

PAUSE = 2.0  # seconds between two looks, and two attempts to write after one failed
_MB = 1 << 20


class File(Protocol):
    """A database whose writes can find no room."""

    @property
    def fault(self) -> str: ...
    @property
    def used(self) -> int: ...
    async def probe(self) -> None: ...


def free_space(directory: Path) -> int:
    """Bytes that this user may still write."""
    return shutil.disk_usage(directory).free


class Room:
    """Refuses new events in time, so that what is stored already can always be kept sound."""

    def __init__(
        self,
        data_dir: Path,
        record: File,
        journal: File,
        *,
        least_free: int,
        journal_size: int,
        free: Callable[[Path], int] = free_space,
    ) -> None:
        self._data_dir = data_dir
        self._files: Sequence[File] = (record, journal)
        self._journal = journal
        self._least_free = least_free
        self._journal_size = journal_size
        self._free = free
        self._told = ""

    @property
    def is_scarce(self) -> bool:
        """Whether the disk has less than must stay free."""
        return bool(self._too_little_free())

    @property
    def reason(self) -> str:
        """Why nothing is learnt; empty while all is well."""
        faults = (file.fault for file in self._files)
        return self._refusal() or next(filter(None, faults), "")

    def require(self) -> None:
        """Raises StorageFull when there is no room for more events.

        A fault of a file is no reason to refuse: whether it is over, only a write can tell.
        """
        if why := self._refusal():
            self._tell(why)
            raise StorageFull(why)

    async def run_forever(self) -> None:
        """Says when learning stops, and writes again and again until it can go on."""
        while True:
            await self._try_again()
            self._tell(self.reason)
            await asyncio.sleep(PAUSE)

    def _tell(self, reason: str) -> None:
        if reason and not self._told:
            log.error("learning_stopped", reason=reason)
        elif self._told and not reason:
            log.info("learning_resumed")
        self._told = reason

    async def _try_again(self) -> None:
        for file in self._files:
            if file.fault:
                try:
                    await file.probe()
                except SidecarError as error:
                    log.debug("still_no_room", error=type(error).__name__)

    def _refusal(self) -> str:
        return self._too_little_free() or self._too_much_journal()

    def _too_little_free(self) -> str:
        try:
            free = self._free(self._data_dir)
        except OSError:  # A write will tell more.
            return ""
        if free >= self._least_free:
            return ""
        return (
            f"only {free / _MB:,.0f} MB are free on the disk of {self._data_dir}, and "
            f"{self._least_free / _MB:,.0f} MB are to stay free (SEAMARK_MIN_FREE_MB); "
            "nothing new is learnt until there is more"
        )

    def _too_much_journal(self) -> str:
        if self._journal.used <= self._journal_size:
            return ""
        return (
            f"the journal holds more than its {self._journal_size / _MB:,.0f} MB "
            "(SEAMARK_JOURNAL_MB), all of sessions that are in use; nothing new is learnt until "
            "one of them ends"
        )
