"""What every worker program does: answer requests until its sidecar is gone."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from seamark_sidecar.workers import frames

Method = Callable[..., Any]
CHANNEL = "--channel"
_PR_SET_PDEATHSIG = 1


def serve(channel: socket.socket, methods: Mapping[str, Method]) -> None:
    """Answers one request after the other; returns at the end of the channel."""
    while (head := _exactly(channel, frames.HEADER.size)) is not None:
        length, request_id = frames.header(head)
        body = _exactly(channel, length)
        if body is None:
            return
        method, arguments, deadline = frames.request(body)
        if time.monotonic() > deadline:
            continue  # Nobody waits for it any more.
        try:
            message: list[Any] = [True, methods[method](**arguments)]
        except Exception as error:  # noqa: BLE001 - it is the asker's to deal with
            message = [False, f"{type(error).__name__}: {error}"]
        try:
            channel.sendall(frames.pack(request_id, message))
        except (BrokenPipeError, ConnectionResetError):
            return


def channel_from(arguments: list[str]) -> socket.socket:
    """The socket that the sidecar handed down, named by `--channel FD` on the command line."""
    descriptor = int(arguments[arguments.index(CHANNEL) + 1])
    return socket.socket(fileno=descriptor)


def end_with_parent() -> None:
    """Ends this process when its sidecar dies, even in the middle of a long call.

    The end of the channel says the same, a little later, and is all there is outside Linux.
    """
    # Ctrl-C goes to the whole group; stopping the workers is the sidecar's to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent or parent == 1:  # It died before that.
        os._exit(1)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        try:
            part = channel.recv(min(size, 1 << 20))
        except ConnectionResetError:
            return None
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
