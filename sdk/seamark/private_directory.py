"""A directory that is this user's alone, and files in it that nobody else put there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import TracebackType

from seamark.errors import LaunchFailed

_HOW = "set SEAMARK_DATA_DIR to a directory of your own"


class PrivateDirectory:
    """Held open as a context manager, so that nothing is put in its place meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    def __enter__(self) -> PrivateDirectory:
        """Makes the directory if need be; raises LaunchFailed when it is not ours alone."""
        try:
            self._descriptor = _opened(self.path)
        except OSError as error:
            raise LaunchFailed(
                f"the data directory {self.path} cannot be used ({error.strerror}); {_HOW}"
            ) from error
        try:
            _make_private(self.path, self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def open(self, name: str, flags: int) -> int:
        """A descriptor of a regular file of ours.

        Raises:
            FileNotFoundError: there is none, and the flags do not say to create it.
            LaunchFailed: it is something else, or cannot be used.
        """
        # Without O_NONBLOCK a pipe of that name would hold us here for ever.
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(name, flags, 0o600, dir_fd=self._descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LaunchFailed(
                f"{self.path / name} cannot be used ({error.strerror}); move it away, or {_HOW}"
            ) from error
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            return descriptor
        os.close(descriptor)
        raise LaunchFailed(f"{self.path / name} is not a regular file of yours; move it away")

    def rename(self, name: str, new_name: str) -> None:
        """Puts a file in the place of another."""
        os.replace(name, new_name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)


def _opened(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) and found.st_uid != os.geteuid():
            raise LaunchFailed(
                f"the data directory {path} is a link that another user made; {_HOW}"
            ) from None
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _make_private(path: Path, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise LaunchFailed(f"the data directory {path} belongs to another user; {_HOW}")
    if found.st_mode & 0o022:
        # Not tightened in silence: what is in it may already be somebody else's.
        raise LaunchFailed(
            f"other users can write to the data directory {path}; make sure that what is in it "
            f"is yours, then run: chmod 700 {path}"
        )
    if found.st_mode & 0o077:
        os.fchmod(descriptor, found.st_mode & 0o700)
