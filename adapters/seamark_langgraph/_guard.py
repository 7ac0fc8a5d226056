"""Keeps our own faults out of somebody else's agent."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp

log = logging.getLogger("seamark")


class Faults:
    """Counts what went wrong on our side, and says each kind once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each kind of fault came up."""
        with self._lock:
            return dict(self._counts)

    @contextmanager
    def guarded(self, doing: str) -> Iterator[None]:
        """Ends the block at its first fault and goes on behind it; around awaits as well.

        Only our own code belongs inside: what the app raises is the app's to see.
        """
        try:
            yield
        except GraphBubbleUp:
            # Control flow of the framework, not a failure.
            raise
        except Exception as fault:  # noqa: BLE001 - the agent must not fail for its memory
            self._note(doing, fault)

    def _note(self, doing: str, fault: Exception) -> None:
        kind = f"{doing}: {type(fault).__name__}"
        with self._lock:
            self._counts[kind] += 1
            is_first = self._counts[kind] == 1
        if is_first:
            log.warning("could not %s; the agent goes on without it", doing, exc_info=fault)
