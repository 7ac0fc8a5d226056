"""Gives back what is not needed: log, free pages, old backups."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import structlog

from seamark_sidecar.limits.backups import remove_needless
from seamark_sidecar.limits.log_file import LogFile
from seamark_sidecar.limits.room import Room
from seamark_sidecar.model.errors import SidecarError

log = structlog.get_logger("seamark.limits")

PAUSE = 5.0  # seconds
FIRST_CLEANING = 60.0  # seconds after the start, when nobody waits for it any more
DAY = 86_400.0
WHEN_SCARCE = 60.0


class File(Protocol):
    """A database that has free pages."""

    async def give_back(self) -> int: ...


class Housekeeper:
    """Looks every few seconds; cleans once a day, and when space runs out."""

    def __init__(
        self,
        data_dir: Path,
        files: Sequence[File],
        log_file: LogFile,
        room: Room,
        now: Callable[[], datetime],
        *,
        journal_age: timedelta,
    ) -> None:
        self._data_dir = data_dir
        self._files = files
        self._log_file = log_file
        self._room = room
        self._now = now
        self._journal_age = journal_age

    async def run_forever(self) -> None:
        """Keeps house until it is cancelled."""
        due = time.monotonic() + FIRST_CLEANING
        cleaned = float("-inf")
        while True:
            try:
                await self._rotate()
                elapsed = time.monotonic()
                if elapsed >= due or (self._room.is_scarce and elapsed > cleaned + WHEN_SCARCE):
                    due, cleaned = elapsed + DAY, elapsed
                    await self.clean()
            except SidecarError as error:
                log.warning("housekeeping_failed", reason=str(error))
            except Exception:
                log.exception("housekeeping_failed")
            await asyncio.sleep(PAUSE)

    async def clean(self) -> None:
        """Returns free pages to the disk and removes backups that nobody needs."""
        removed = await asyncio.to_thread(
            remove_needless, self._data_dir, now=self._now(), journal_age=self._journal_age
        )
        given = 0
        for file in self._files:
            given += await file.give_back()
        if removed or given:
            log.info("cleaned", removed=removed, given_back=given)

    async def _rotate(self) -> None:
        if await asyncio.to_thread(self._log_file.rotate):
            log.info("log_rotated")
