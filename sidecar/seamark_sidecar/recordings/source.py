"""The text of a recorded file, within bounds."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from pathlib import Path

from seamark_sidecar.recordings.recording import Unreadable

# A longer session is not watched again in one piece, and what unpacks to more is no session.
LARGEST = 64 * 1024 * 1024  # bytes
_GZIP = b"\x1f\x8b"


def read_text(path: Path, largest: int = LARGEST) -> str:
    """The text of the file, unpacked if it is gzip; raises Unreadable."""
    try:
        # A named pipe would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("it is not a file")
            packed = stream.peek(len(_GZIP)).startswith(_GZIP)
            if packed:
                with gzip.open(stream) as unpacked:
                    raw = unpacked.read(largest + 1)
            else:
                raw = stream.read(largest + 1)
    except EOFError:
        raise Unreadable("it is cut off: its compressed data has no end") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable(f"it cannot be unpacked ({error})") from None
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    if len(raw) > largest:
        raise Unreadable(f"it holds more than {largest // 1_048_576} MB; split it")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is no text: byte {error.start + 1} is not UTF-8") from None


def stem(path: Path) -> str:
    """The file's name without what says its form."""
    name = path.name
    for ending in (".gz", ".jsonl", ".json", ".traj"):
        name = name.removesuffix(ending)
    return name or path.name
