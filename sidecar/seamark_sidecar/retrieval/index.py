"""What retrieval needs from a vector index, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.vector import Vector


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as it goes into the index."""

    memory: Memory
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Which memories a search may find; empty means any."""

    project_id: str
    types: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arms:
    """What each way of searching found: memory ids with scores, best first."""

    dense: tuple[tuple[str, float], ...] = ()
    keyword: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """How far the index has come."""

    # The last change that is in it for good; earlier ones need not be repeated.
    applied: int
    count: int
    # The embedding model its vectors are from; empty without one.
    model: str
    # Why there is no model although one is installed.
    fault: str = ""


class Index(Protocol):
    """A copy of the record that can be searched; may be lost at any time and built again."""

    async def state(self) -> IndexState: ...

    async def rebuild(self) -> None:
        """Empties it, whatever is wrong with it, for the model that is installed now."""

    async def apply(self, entries: Sequence[Entry]) -> None:
        """Puts entries in, or replaces them; doing it again changes nothing."""

    async def flush(self, applied: int) -> None:
        """Makes all that was applied durable, up to this change."""

    async def holds(self, entries: Sequence[Entry]) -> bool:
        """Whether these entries are in it just so, and can be found."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vector of each; none at all when no model is installed."""

    async def search(
        self, query: str, condition: Condition, *, dense: int, keyword: int, within: float
    ) -> Arms:
        """The best of each arm; no dense ones when no model is installed."""


def text_hash(text: str) -> str:
    """Recognises a text that has changed."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
