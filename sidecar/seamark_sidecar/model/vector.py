"""A text as numbers that can be compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """An embedding, with what made it; those of different models are never compared."""

    model: str
    dimensions: int
    pooling: str
    # Of the text it stands for, so that a changed one is noticed.
    text_hash: str
    # float16, little-endian.
    values: bytes
