"""The directory of an index: who holds it, and what its content is good for."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from seamark_sidecar.model.errors import SidecarError

HELD_WAIT = 5.0  # seconds; whoever held it before may still be ending
_POLL = 0.05


class IndexHeld(SidecarError):
    """Another process has the index open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What is known of an index beyond its points; written when they are durable."""

    # The embedding model of its vectors, and their size; empty and 0 without one.
    model: str
    dimensions: int
    # How points are laid out.
    layout: int
    # The last change of the record that is in it.
    applied: int


class IndexDirectory:
    """A directory with two files beside it: a lock, and the Meta of what is inside."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._meta = path.with_suffix(".json")
        self._lock = path.with_suffix(".lock")
        self._descriptor = -1

    @property
    def is_sound(self) -> bool:
        """Whether there is a directory at all, and not a link to somebody else's."""
        return self.path.is_dir() and not self.path.is_symlink()

    def hold(self) -> None:
        """Keeps other processes out for as long as this one lives.

        Raises:
            IndexHeld: another process does not let go of it.
        """
        if self._descriptor >= 0:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._lock, flags, 0o600)
        give_up = time.monotonic() + HELD_WAIT
        while not _locked(descriptor):
            if time.monotonic() >= give_up:
                os.close(descriptor)
                raise held(self.path)
            time.sleep(_POLL)
        self._descriptor = descriptor

    def release(self) -> None:
        """Lets others in."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def empty(self) -> None:
        """Removes whatever is there, and makes an empty directory."""
        self._meta.unlink(missing_ok=True)
        if self.is_sound:
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)
        self.path.mkdir(mode=0o700)

    def meta(self) -> Meta | None:
        """What was written last; None when there is nothing that makes sense."""
        try:
            match json.loads(self._meta.read_bytes()):
                case {
                    "model": str(model),
                    "dimensions": int(dimensions),
                    "layout": int(layout),
                    "applied": int(applied),
                } if applied >= 0:
                    return Meta(model=model, dimensions=dimensions, layout=layout, applied=applied)
        except (OSError, ValueError, RecursionError):
            return None
        return None

    def put_meta(self, meta: Meta) -> None:
        """Replaces it as a whole."""
        fresh = self._meta.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(json.dumps(asdict(meta)).encode())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._meta)


def held(path: Path) -> IndexHeld:
    """The sentence for it."""
    return IndexHeld(
        f"another process has the index at {path} open; if it does not end by itself, "
        f"see who it is: fuser {path.with_suffix('.lock')}"
    )


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
