"""The socket a sidecar listens on, and whether it may be trusted."""

from __future__ import annotations

import os
import stat
from functools import lru_cache

from seamark.errors import SidecarUnavailable
from seamark.settings import socket_path


# Looked at before every call: pathlib would take most of the time.
@lru_cache(maxsize=16)
def _places(address: str) -> tuple[str, str]:
    path = socket_path(address)
    return str(path), str(path.parent)


def check(address: str) -> None:
    """Raises SidecarUnavailable unless the socket and its directory are this user's alone."""
    path, parent = _places(address)
    try:
        directory = os.lstat(parent)
        socket = os.lstat(path)
    except FileNotFoundError:
        raise SidecarUnavailable(
            f"no sidecar listens at {path}; start it: seamark up", absent=True
        ) from None
    except (OSError, ValueError) as error:
        raise SidecarUnavailable(f"the socket {path} cannot be looked at: {error}") from error
    user = os.geteuid()
    if not stat.S_ISDIR(directory.st_mode) or directory.st_uid != user:
        raise SidecarUnavailable(f"{parent} is not this user's own directory; not using it")
    if stat.S_IMODE(directory.st_mode) & 0o077:
        raise SidecarUnavailable(
            f"{parent} is open to other users; make it private: chmod 700 {parent}"
        )
    if not stat.S_ISSOCK(socket.st_mode) or socket.st_uid != user:
        raise SidecarUnavailable(f"{path} is not a socket of this user; not using it")
    if stat.S_IMODE(socket.st_mode) & 0o077:
        raise SidecarUnavailable(f"the socket {path} is open to other users; not using it")
