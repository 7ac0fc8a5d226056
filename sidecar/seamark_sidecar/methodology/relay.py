"""What one role hands on to the next, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seamark_sidecar.methodology.plugin import Relay
from seamark_sidecar.model.memory import Memory

MOST_TOLD = 12
LONGEST_TOLD = 300


def chosen(relays: Iterable[Relay], memories: Sequence[Memory], to_role: str) -> list[Memory]:
    """The memories that some role hands on to this one, in their order."""
    leading_here = [each for each in relays if each.to_role == to_role]
    return [
        memory
        for memory in memories
        if any(not each.types or memory.type in each.types for each in leading_here)
    ]


def told(memories: Sequence[Memory], opening: str) -> str:
    """The memories as a short list below an opening line; empty when there are none."""
    if not memories:
        return ""
    lines = [_line(memory) for memory in memories[:MOST_TOLD]]
    left = len(memories) - MOST_TOLD
    return "\n".join((opening, *lines, *([f"- and {left} more"] if left > 0 else [])))


def _line(memory: Memory) -> str:
    where = f" ({', '.join(memory.files[:2])})" if memory.files else ""
    return f"- {memory.type}: {' '.join(memory.content.split())[:LONGEST_TOLD]}{where}"
