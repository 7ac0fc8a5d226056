"""The protocol between the sidecar and its workers: length-prefixed frames on a socket pair.

A frame is a header (length of what follows, request id) and a MessagePack value. A request is
`[method, arguments, deadline]`, the deadline in seconds of the machine's monotonic clock; an
answer is `[true, value]` or `[false, message]`.
"""

from __future__ import annotations

import struct
from typing import Any

import msgpack

HEADER = struct.Struct("<IQ")
LARGEST_FRAME = 64 * 1024 * 1024


class BadFrame(Exception):
    """The other side sent something that is no frame."""


def pack(request_id: int, message: Any) -> bytes:
    """A frame, ready to be sent."""
    body: bytes = msgpack.packb(message, use_bin_type=True)
    if len(body) > LARGEST_FRAME:
        raise BadFrame(f"a frame of {len(body)} bytes is larger than {LARGEST_FRAME}")
    return HEADER.pack(len(body), request_id) + body


def header(raw: bytes) -> tuple[int, int]:
    """Length and request id of the frame that begins so."""
    length, request_id = HEADER.unpack(raw)
    if length > LARGEST_FRAME:
        raise BadFrame(f"a frame of {length} bytes is larger than {LARGEST_FRAME}")
    return length, request_id


def request(body: bytes) -> tuple[str, dict[str, Any], float]:
    """What the sidecar asks."""
    match _value(body):
        case [str(method), dict(arguments), int() | float() as deadline]:
            return method, arguments, float(deadline)
    raise BadFrame("this is not a request")


def answer(body: bytes) -> tuple[bool, Any]:
    """What the worker answers."""
    match _value(body):
        case [bool(ok), value]:
            return ok, value
    raise BadFrame("this is not an answer")


def _value(body: bytes) -> Any:
    try:
        return msgpack.unpackb(body, raw=False, strict_map_key=False)
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise BadFrame(f"a frame cannot be read: {error}") from error
