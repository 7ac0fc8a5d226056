"""The right to write to a session."""

from __future__ import annotations

import hashlib
import hmac

LEAST_CLAIM = 16  # bytes


def derive(session_id: str, claim: bytes) -> bytes:
    """The capability of the client that made this claim; the same each time it asks."""
    return hmac.digest(claim, b"seamark capability of " + session_id.encode(), "sha256")


def seal(capability: bytes) -> bytes:
    """What is stored: enough to recognise the capability, not to use it."""
    return hashlib.sha256(capability).digest()


def opens(capability: bytes, sealed: bytes) -> bool:
    """Whether this is the capability that was sealed."""
    return hmac.compare_digest(seal(capability), sealed)
