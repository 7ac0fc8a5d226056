"""Keeps the sidecar's own log small while it runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

LARGEST = 8 * 1024 * 1024
_CHUNK = 1 << 20


class LogFile:
    """The file that a standard stream writes to, when that is the log of the data directory."""

    def __init__(self, path: Path, stream: int = 2, *, largest: int = LARGEST) -> None:
        self._path = path
        self._stream = stream
        self._largest = largest

    def rotate(self) -> bool:
        """Moves what is in it to `.1` once it is too large; False when nothing was to be done.

        The stream stays the same open file, because workers write to it too: its content is
        copied, then cut off. A line that comes in between is lost.
        """
        if not self._is_ours() or os.fstat(self._stream).st_size <= self._largest:
            return False
        # A log that can be kept nowhere is still cut: its size comes first.
        with contextlib.suppress(OSError):
            self._copy()
        os.ftruncate(self._stream, 0)
        return True

    def _is_ours(self) -> bool:
        try:
            found, ours = os.fstat(self._stream), self._path.lstat()
            # Without it the next line would leave a hole as large as what was cut off.
            appends = fcntl.fcntl(self._stream, fcntl.F_GETFL) & os.O_APPEND
        except OSError:
            return False
        return bool(appends) and (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def _copy(self) -> None:
        old = self._path.with_name(self._path.name + ".1")
        # First, for a disk that has no room for both.
        old.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            self._path.open("rb") as source,
            os.fdopen(os.open(old, flags, 0o600), "wb") as target,
        ):
            while part := source.read(_CHUNK):
                target.write(part)
