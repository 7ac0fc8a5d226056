"""The program that runs another one on a leash: it ends with us, and writes no huge file."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def leashed(command: list[str], *, largest_file: int) -> list[str]:
    """The command line that runs a command on the leash of this process."""
    module = [sys.executable, "-I", "-m", __name__]
    return [*module, str(os.getpid()), str(largest_file), *command]


def main() -> NoReturn:
    parent, largest_file, *command = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    allowed = int(largest_file)
    if most != resource.RLIM_INFINITY:
        allowed = min(allowed, most)
    resource.setrlimit(resource.RLIMIT_FSIZE, (allowed, allowed))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):  # It died before that.
        os._exit(1)
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
