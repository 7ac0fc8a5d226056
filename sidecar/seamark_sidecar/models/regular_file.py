"""Opens files that others put there: no links, no pipes, nothing but a regular file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path | str, *, beneath: int | None = None) -> BinaryIO:
    """A file to read; raises OSError, also when something else is in its place.

    Args:
        path: Its last part is never followed when it is a link.
        beneath: The descriptor of the directory that a relative path starts from.
    """
    # Without O_NONBLOCK a pipe of that name would hold us here for ever.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, dir_fd=beneath)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")
